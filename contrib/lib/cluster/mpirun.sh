# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# mpirun over the hosts: the stock one, with defaults for what the caller did
# not give. docs/cluster.md lists them.

# mpirun options (Open MPI 4.1) that take one argument.
mpirun_one_arg=" np n c N x H host hostfile machinefile default-hostfile am \
tune app bind-to map-by rank-by ppr prefix preload-files cf cartofile cpu-list \
cpu-set cpus-per-proc cpus-per-rank debugger hnp launch-agent max-restarts \
max-vm-size npernode npersocket ompi-server output-filename path personality \
report-events report-pid report-uri rf rankfile slot-list stdin timeout wdir \
wd xml-file xterm "

# Splits the caller's arguments into words[] with a role each, in roles[]:
#   OPTION   an option, its name without dashes
#   :OPTION  an argument of that option
#   +        the program, its arguments, and the colon between two programs
# and notes what they give: given[OPTION], given_mca[PARAMETER], and np, the
# number of ranks over all programs (0 when not given).
mpirun_parse() {
    local word option in_options=1
    declare -gA given=() given_mca=()
    words=() roles=() np=0
    while [[ $# -gt 0 ]]; do
        word=$1
        shift
        words+=("$word")
        if [[ $word == : ]]; then
            in_options=1
            roles+=(+)
            continue
        elif [[ $in_options -eq 0 || $word != -* ]]; then
            in_options=0
            roles+=(+)
            continue
        fi
        option=${word#-}
        option=${option#-}
        roles+=("$option")
        given[$option]=${1-}
        case $option in
        mca | gmca)
            given_mca[${1-}]=1
            mpirun_parse_argument "$@" && shift
            mpirun_parse_argument "$@" && shift
            ;;
        np | n | c)
            [[ ${1-} =~ ^[0-9]{1,6}$ ]] && np=$((np + 10#$1))
            mpirun_parse_argument "$@" && shift
            ;;
        tune | am)
            mpirun_parse_files "${1-}"
            mpirun_parse_argument "$@" && shift
            ;;
        *)
            [[ $mpirun_one_arg == *" $option "* ]] &&
                mpirun_parse_argument "$@" && shift
            ;;
        esac
    done
}

mpirun_parse_argument() {
    [[ $# -gt 0 ]] || return 1
    words+=("$1")
    roles+=(":$option")
}

# Parameters in the caller's own files count as given too.
mpirun_parse_files() {
    local file line name files
    IFS=, read -ra files <<<"$1"
    for file in "${files[@]}"; do
        [[ -r $file ]] || continue
        while read -r name; do
            given_mca[$name]=1
        done < <(sed -nE 's/^[^#]*-g?mca +([A-Za-z0-9_]+).*/\1/p;
                          s/^ *([A-Za-z0-9_]+) *=.*/\1/p' "$file")
    done
}

# An MCA parameter is the caller's when given as argument or in the environment.
mca_default() {
    local variable=OMPI_MCA_$1
    [[ -n ${given_mca[$1]-} || -n ${!variable+set} ]] ||
        defaults+=(--mca "$1" "$2")
}

any_given() {
    local option
    for option in "$@"; do
        [[ -n ${given[$option]+set} ]] && return 0
    done
    return 1
}

# mpirun fills one host before it takes the next; with only as many slots as
# an even share, the ranks spread. There is a file for each number of slots,
# so that jobs at the same time do not disturb each other.
mpirun_hostfile() {
    local slots=1 h file
    if [[ $np -gt 0 ]]; then
        slots=$(((np + hosts - 1) / hosts))
    elif [[ ${given[N]-${given[npernode]-}} =~ ^[0-9]{1,6}$ ]]; then
        slots=${given[N]-${given[npernode]}}
    fi
    file=$state/hostfile.$slots
    for ((h = 0; h < hosts; h++)); do
        echo "host$h slots=$slots"
    done >"$file.$$" && mv "$file.$$" "$file" || die "cannot write to $state"
    defaults+=(--default-hostfile "$file")
}

command_mpirun() {
    local defaults=() library='' modules settings='' by_hand='' words roles np
    load_cluster
    need_tools mpirun openmpi-bin
    [[ $# -gt 0 ]] || usage_error "mpirun: want the arguments of mpirun"
    mpirun_parse "$@"

    [[ $EUID -ne 0 && $mode == root ]] || any_given allow-run-as-root ||
        defaults+=(--allow-run-as-root)
    any_given H host hostfile machinefile default-hostfile app ||
        mpirun_hostfile
    any_given oversubscribe nooversubscribe || defaults+=(--oversubscribe)
    # All hosts have the same cores: binding would put the first rank of
    # every host on the same one.
    any_given bind-to bind-to-core bind-to-socket rf rankfile cpu-list \
        cpu-set cpus-per-proc cpus-per-rank slot-list ||
        defaults+=(--bind-to none)
    mca_default plm_rsh_agent "$state/rsh"
    [[ -n ${given_mca[oob_tcp_if_exclude]-${OMPI_MCA_oob_tcp_if_exclude-}} ]] ||
        mca_default oob_tcp_if_include mgmt0
    # Data belongs on the NICs, also with Open MPI's own TCP transport.
    [[ -n ${given_mca[btl_tcp_if_include]-${OMPI_MCA_btl_tcp_if_include-}} ]] ||
        mca_default btl_tcp_if_exclude 127.0.0.1/8,mgmt0
    mca_default mpi_yield_when_idle 1

    case ${FUSELINK-} in
    1)
        library=$(find_library) || exit
        settings=$(find_settings) || exit
        any_given tune || defaults+=(--tune "$settings")
        ;;
    '' | 0) ;;
    *) usage_error "FUSELINK='$FUSELINK': accepted: 1, 0 or unset" ;;
    esac
    gpu_modules
    if [[ -n $library$modules ]] && any_given app; then
        usage_error "mpirun --app is not supported with GPUs or FUSELINK=1;" \
            "put the programs on the command line, with ':'"
    fi
    preloads_fuselink "${words[@]}" && by_hand=yes
    [[ -z $library$modules$by_hand ]] || mpirun_add_environment

    # The descriptor stays open in mpirun and nowhere else (it closes all but
    # the standard ones in what it starts): its end is what reap waits for.
    local job pipe
    job=$(cat /proc/sys/kernel/random/uuid)
    exec {pipe}> >(exec setsid "$lib_dir/reap" "$job" >/dev/null 2>&1)
    FUSELINK_CLUSTER_JOB=$job host_exec 0 mpirun "${defaults[@]}" "${words[@]}"
}

# Rewrites words[]. mpirun counts -x for one program context only, so every
# context gets its own; of several --tune it takes the last, so ours goes into
# the caller's, behind it, since the first file that sets a parameter wins.
mpirun_add_environment() {
    local out=() i start=1
    for ((i = 0; i < ${#words[@]}; i++)); do
        if [[ $start -eq 1 ]]; then
            program_environment "$i"
            start=0
        fi
        case ${roles[i]}:${words[i]} in
        :tune:*) out+=("${words[i]}${settings:+,$settings}") ;;
        :x:LD_PRELOAD | :x:LD_PRELOAD=*)
            preload=${words[i]#LD_PRELOAD}
            preload=${preload#=}
            with_libraries "${preload:-${LD_PRELOAD-}}"
            out+=("LD_PRELOAD=$preload")
            ;;
        +::)
            out+=(:)
            start=1
            ;;
        *) out+=("${words[i]}") ;;
        esac
    done
    words=("${out[@]}")
}

# Appends to out the variables that the context starting at words[$1] lacks.
# What is in the caller's environment reaches the ranks without -x.
program_environment() {
    local i seen=' ' added variable
    for ((i = $1; i < ${#words[@]}; i++)); do
        [[ ${roles[i]}:${words[i]} == +:: ]] && break
        [[ ${roles[i]} == :x ]] && seen+="${words[i]%%=*} "
    done
    program_defaults "$seen"
    for variable in "${added[@]}"; do
        out+=(-x "$variable")
    done
}

# True if COMMAND uses fuselink without FUSELINK=1. It would take mgmt0, which has
# no limit, for the best NIC of all.
# usage: preloads_fuselink COMMAND...
preloads_fuselink() {
    [[ "${LD_PRELOAD-} $*" == *@(libuct_fuselink|fuselink_info)* ]]
}

# Sets added[] to what a command needs to use $library and $modules, or if it is
# $by_hand, but for what is in the environment or in GIVEN, a list of names with a
# space before and after each.
# usage: program_defaults GIVEN
program_defaults() {
    added=()
    if [[ -n $library$modules && $1 != *" LD_PRELOAD "* ]]; then
        with_libraries "${LD_PRELOAD-}"
        added+=("LD_PRELOAD=$preload")
    fi
    [[ -n $library$by_hand ]] || return 0
    [[ -z $library || $1 == *" UCX_TLS "* || -n ${UCX_TLS+set} ]] ||
        added+=(UCX_TLS=fuselink)
    # With RDMA NICs every host gives its own list.
    [[ $rdma_nics -gt 0 || $1 == *" UCX_FUSELINK_DEVICES "* ||
        -n ${UCX_FUSELINK_DEVICES+set} ]] ||
        added+=(UCX_FUSELINK_DEVICES=^mgmt0)
    [[ $gpus -eq 0 || $1 == *" UCX_FUSELINK_TOPOLOGY "* ||
        -n ${UCX_FUSELINK_TOPOLOGY+set} ]] ||
        added+=("UCX_FUSELINK_TOPOLOGY=$state/places")
}

# Sets preload to the caller's list with ours behind it: a sanitizer's has to
# come first.
with_libraries() {
    preload=$1
    [[ -z $modules || $1 == *libuct_cuda.so* ]] ||
        preload=${preload:+$preload:}$modules
    [[ -z $library || $1 == *libuct_fuselink.so* ]] ||
        preload=${preload:+$preload:}$library
}

# Prints the path of the component's library: FUSELINK_LIB, a build of this
# source tree, or an installed one.
find_library() {
    local name=libuct_fuselink.so.0 root=${contrib_dir%/*} dir
    if [[ -n ${FUSELINK_LIB-} ]]; then
        [[ -r $FUSELINK_LIB && -f $FUSELINK_LIB ]] ||
            die "FUSELINK_LIB='$FUSELINK_LIB': no such library"
        readlink -f -- "$FUSELINK_LIB"
        return
    fi
    for dir in "$root"/{build/,}src/uct{,/fuselink}/.libs \
        /usr/{local/,}lib{,64}/{ucx/,}. /usr/{local/,}lib/*-linux-gnu*/{ucx/,}.; do
        if [[ -r $dir/$name ]]; then
            readlink -f -- "$dir/$name"
            return
        fi
    done
    die "FUSELINK=1: $name is neither built in $root nor installed in /usr" \
        "or /usr/local; build it or set FUSELINK_LIB to its path"
}

# Prints the path of the Open MPI settings file.
find_settings() {
    local file=$contrib_dir/openmpi/fuselink.conf
    [[ -r $file ]] || die "FUSELINK=1: the settings file $file is missing"
    echo "$file"
}

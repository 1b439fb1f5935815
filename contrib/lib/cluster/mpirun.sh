# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# mpirun over the hosts: the stock one, with defaults that the caller did not
# give. docs/cluster.md lists them.

# mpirun options (Open MPI 4.1) that take one argument.
mpirun_one_arg=" np n c N x H host hostfile machinefile default-hostfile am
 tune app bind-to map-by rank-by ppr prefix preload-files cf cartofile cpu-list
 cpu-set cpus-per-proc cpus-per-rank debugger hnp launch-agent max-restarts
 max-vm-size npernode npersocket ompi-server output-filename path personality
 report-events report-pid report-uri rf rankfile slot-list stdin timeout wdir
 wd xml-file xterm "
mpirun_one_arg=${mpirun_one_arg//$'\n'/}

# Walks the caller's arguments and notes what they give:
# given[OPTION], given_mca[PARAMETER], given_env[VARIABLE], and np, the number
# of ranks over all program contexts (0 when not given).
mpirun_scan() {
    local word option in_options=1
    declare -gA given=() given_mca=() given_env=()
    np=0
    while [[ $# -gt 0 ]]; do
        word=$1
        shift
        if [[ $word == : ]]; then
            in_options=1
            continue
        fi
        [[ $in_options -eq 1 ]] || continue
        if [[ $word != -* ]]; then
            in_options=0
            continue
        fi
        option=${word#-}
        option=${option#-}
        given[$option]=${1-}
        case $option in
        mca | gmca)
            given_mca[${1-}]=1
            shift $(($# < 2 ? $# : 2))
            continue
            ;;
        x) given_env[${1%%=*}]=1 ;;
        np | n | c) [[ ${1-} =~ ^[0-9]{1,6}$ ]] && np=$((np + 10#$1)) ;;
        tune | am) mpirun_scan_files "${1-}" ;;
        esac
        [[ $mpirun_one_arg == *" $option "* && $# -gt 0 ]] && shift
    done
}

# Settings in the caller's own files count as given too.
mpirun_scan_files() {
    local file line name
    IFS=, read -ra files <<<"$1"
    for file in "${files[@]}"; do
        [[ -r $file ]] || continue
        while read -r name; do
            given_mca[$name]=1
        done < <(sed -nE 's/^[^#]*--?g?mca +([A-Za-z0-9_]+).*/\1/p;
                          s/^ *([A-Za-z0-9_]+) *=.*/\1/p' "$file")
        while read -r name; do
            given_env[$name]=1
        done < <(sed -nE 's/^[^#]*-x +([A-Za-z0-9_]+).*/\1/p' "$file")
    done
}

# An MCA parameter is the caller's when given as argument or in the environment.
mca_default() {
    local variable=OMPI_MCA_$1
    [[ -n ${given_mca[$1]-} || -n ${!variable+set} ]] || defaults+=(--mca "$1" "$2")
}

env_default() {
    [[ -n ${given_env[$1]-} || -n ${!1+set} ]] || defaults+=(-x "$1=$2")
}

any_given() {
    local option
    for option in "$@"; do
        [[ -n ${given[$option]+set} ]] && return 0
    done
    return 1
}

# mpirun fills one host before it takes the next; with only as many slots as
# an even share, the ranks spread. Written anew for each number of slots, so
# that two jobs at once do not disturb each other.
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
    local defaults=()
    load_cluster
    need_tools mpirun openmpi-bin
    mpirun_scan "$@"

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
    [[ -n ${given_mca[oob_tcp_if_exclude]-} ]] ||
        mca_default oob_tcp_if_include mgmt0
    # Data belongs on the NICs, also with Open MPI's own TCP transport.
    [[ -n ${given_mca[btl_tcp_if_include]-${OMPI_MCA_btl_tcp_if_include-}} ]] ||
        mca_default btl_tcp_if_exclude 127.0.0.1/8,mgmt0
    mca_default mpi_yield_when_idle 1
    case ${FUSELINK-} in
    1) mpirun_fuselink "$@" ;;
    '' | 0) ;;
    *) usage_error "FUSELINK='$FUSELINK': accepted: 1, 0 or unset" ;;
    esac
    host_exec 0 mpirun "${defaults[@]}" "$@"
}

mpirun_fuselink() {
    local library settings
    library=$(find_library) || exit
    settings=$(find_settings) || exit
    defaults+=(--tune "$settings")
    env_default LD_PRELOAD "$library"
    env_default UCX_TLS fuselink
    env_default UCX_FUSELINK_DEVICES ^mgmt0
}

# Prints the path of the component's library: FUSELINK_LIB, a build of this
# source tree, or the installed one.
find_library() {
    local name=libuct_fuselink.so.0 root=${contrib_dir%/*} dir
    if [[ -n ${FUSELINK_LIB-} ]]; then
        [[ -r $FUSELINK_LIB ]] || die "FUSELINK_LIB='$FUSELINK_LIB': no such library"
        readlink -f -- "$FUSELINK_LIB"
        return
    fi
    for dir in "$root"/build/src/uct{,/fuselink}/.libs \
        "$root"/src/uct{,/fuselink}/.libs \
        "$root"/{lib,lib64} "$root"/lib/*-linux-gnu* \
        "${root%/*}"/{lib,lib64} "${root%/*}"/lib/*-linux-gnu*; do
        if [[ -r $dir/$name ]]; then
            echo "$dir/$name"
            return
        fi
    done
    die "FUSELINK=1: $name is neither built in $root nor installed;" \
        "build it or set FUSELINK_LIB to its path"
}

find_settings() {
    local file
    for file in "$contrib_dir/openmpi/fuselink.conf" \
        "${contrib_dir%/*}/fuselink/fuselink.conf" \
        "${contrib_dir%/*}/share/fuselink/fuselink.conf"; do
        if [[ -r $file ]]; then
            echo "$file"
            return
        fi
    done
    die "FUSELINK=1: the Open MPI settings file fuselink.conf is missing"
}

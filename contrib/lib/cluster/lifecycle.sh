# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# up and down.

command_up() {
    local force=0 rate='' rate_list='' tcp_nics='' tcp_rate='' h arguments
    local gpu_count='' topology='' topology_text
    hosts='' nics='' rdma=0 rdma_nics=0 rdma_rates=() mtu=9000 rates=()
    queue='' drops=0
    arguments=("$@")
    while [[ $# -gt 0 ]]; do
        # --opt=value is the same as --opt value
        if [[ $1 == --*=* ]]; then
            set -- "${1%%=*}" "${1#*=}" "${@:2}"
        fi
        case $1 in
        --force)
            force=1
            shift
            continue
            ;;
        --rdma)
            rdma=1
            shift
            continue
            ;;
        --drops)
            drops=1
            shift
            continue
            ;;
        --hosts | --nics | --rate | --rates | --tcp-nics | --tcp-rate | \
            --mtu | --queue | --gpus | --topology | --name) ;;
        *)
            usage_error "up: unknown option '$1'; accepted: --hosts," \
                "--nics, --rate, --rates, --mtu, --queue, --drops, --rdma," \
                "--tcp-nics, --tcp-rate, --gpus, --topology, --name, --force"
            ;;
        esac
        [[ $# -ge 2 ]] || usage_error "up: $1 needs a value"
        case $1 in
        --hosts) hosts=$2 ;;
        --nics) nics=$2 ;;
        --rate) rate=$2 ;;
        --rates) rate_list=$2 ;;
        --tcp-nics) tcp_nics=$2 ;;
        --tcp-rate) tcp_rate=$2 ;;
        --mtu) mtu=$2 ;;
        --queue) queue=$2 ;;
        --gpus) gpu_count=$2 ;;
        --topology) topology=$2 ;;
        --name) select_cluster "$2" ;;
        esac
        shift 2
    done

    [[ $hosts =~ ^[0-9]+$ && ${#hosts} -le 3 && $((10#$hosts)) -ge 1 &&
        $((10#$hosts)) -le $MAX_HOSTS ]] ||
        usage_error "up: --hosts '$hosts': accepted: 1 to $MAX_HOSTS"
    hosts=$((10#$hosts))
    [[ $mtu =~ ^[0-9]{3,5}$ && $((10#$mtu)) -ge 576 && $((10#$mtu)) -le 9000 ]] ||
        usage_error "up: --mtu '$mtu': accepted: 576 to 9000"
    mtu=$((10#$mtu))
    parse_queue
    parse_gpus
    parse_rates
    parse_rdma

    refuse_inside up
    need_tools ip iproute2 tc iproute2 unshare util-linux nsenter util-linux \
        flock util-linux setsid util-linux hostname hostname
    if [[ $rdma -eq 1 ]] && ! in_guest; then
        guest_size
    else
        detect_mode
    fi
    make_base
    lock_cluster
    if [[ -e $state ]] || [[ -n $(cluster_pids) ]]; then
        [[ $force -eq 1 ]] ||
            die "cluster '$cluster' exists; remove it with: cluster down" \
                "--name $cluster, or replace it with: up --force"
        remove_cluster
    fi

    # From here a failure takes away what was made so far.
    trap 'status=$?; give_up; exit $status' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    if [[ $rdma -eq 1 ]] && ! in_guest; then
        guest_up "${arguments[@]}"
    else
        hosts_up
    fi
    trap - EXIT INT TERM HUP
    in_guest || echo "cluster '$cluster' is up: $(describe_cluster)" \
        "(${rdma_rates[*]}${rdma_rates[*]:+${rates[*]:+; }}${rates[*]})"
}

hosts_up() {
    local h
    mkdir -m 755 -- "$state" || die "cannot write to $base"
    # A host's view of the RDMA devices is made when it starts.
    [[ $rdma -eq 0 ]] || rdma_build
    write_identity
    node_start switch
    node_wait switch
    for ((h = 0; h < hosts; h++)); do
        node_start "host$h"
    done
    for ((h = 0; h < hosts; h++)); do
        node_wait "host$h"
    done
    net_build
    net_wait
    : >"$state/ready" || die "cannot write to $state"
}

describe_cluster() {
    local gpu_note=''
    [[ $gpus -eq 0 ]] || gpu_note=" and $gpus GPUs"
    if [[ $rdma_nics -eq 0 ]]; then
        echo "$hosts hosts x $nics NICs$gpu_note"
    elif [[ $nics -eq 0 ]]; then
        echo "$hosts hosts x $rdma_nics RDMA NICs$gpu_note"
    else
        echo "$hosts hosts x $rdma_nics RDMA and $nics TCP NICs$gpu_note"
    fi
}

give_up() {
    remove_cluster
    unlock_cluster
}

# --rate R and --nics N, or --rates R0,R1,... (then --nics may be left out).
parse_rates() {
    local i entry
    [[ -z $rate || -z $rate_list ]] ||
        usage_error "up: give --rate or --rates, not both"
    [[ -n $rate || -n $rate_list ]] ||
        usage_error "up: give --rate R or --rates R0,R1,...;" \
            "accepted: $accepted_rates"
    if [[ -n $nics || -n $rate ]]; then
        [[ $nics =~ ^[0-9]{1,3}$ && $((10#$nics)) -ge 1 &&
            $((10#$nics)) -le $MAX_NICS ]] ||
            usage_error "up: --nics '$nics': accepted: 1 to $MAX_NICS"
        nics=$((10#$nics))
    fi
    if [[ -n $rate_list ]]; then
        [[ $rate_list != *, && $rate_list != *[[:space:]]* ]] ||
            usage_error "up: --rates '$rate_list': accepted: a list R0,R1,..." \
                "of $accepted_rates"
        IFS=, read -ra rates <<<"$rate_list"
        nics=${nics:-${#rates[@]}}
        [[ ${#rates[@]} -eq $nics && $nics -le $MAX_NICS ]] ||
            usage_error "up: --rates '$rate_list': ${#rates[@]} rates for" \
                "$nics NICs; accepted: one rate for each NIC," \
                "1 to $MAX_NICS of them"
        for entry in "${rates[@]}"; do
            valid_rate "$entry" ||
                usage_error "up: --rates '$rate_list': bad rate '$entry';" \
                    "accepted: $accepted_rates"
        done
    else
        valid_rate "$rate" ||
            usage_error "up: --rate '$rate': accepted: $accepted_rates"
        for ((i = 0; i < nics; i++)); do
            rates+=("$rate")
        done
    fi
}

# Those of RDMA NICs are deep enough to lose nothing.
parse_queue() {
    [[ $rdma -eq 0 || -z $queue && $drops -eq 0 ]] ||
        usage_error "up: --queue and --drops do not go with --rdma;" \
            "accepted: TCP NICs only"
    [[ ${queue:=20ms} =~ ^[0-9]{1,4}ms$ && $((10#${queue%ms})) -ge 1 &&
        $((10#${queue%ms})) -le 1000 ]] ||
        usage_error "up: --queue '$queue': accepted: 1ms to 1000ms"
    queue=$((10#${queue%ms}))
}

# With --rdma, --nics and the rates are those of RDMA NICs, and there may be
# TCP NICs beside them: --tcp-nics N, all of --tcp-rate R.
parse_rdma() {
    local i
    if [[ $rdma -eq 0 ]]; then
        [[ -z $tcp_nics$tcp_rate ]] ||
            usage_error "up: --tcp-nics and --tcp-rate go with --rdma only;" \
                "without it --nics and --rate are TCP NICs"
        return
    fi
    rdma_nics=$nics rdma_rates=("${rates[@]}") nics=0 rates=()
    [[ $((hosts * rdma_nics)) -le $MAX_RDMA_NICS ]] ||
        usage_error "up --rdma: $hosts hosts x $rdma_nics NICs; accepted:" \
            "at most $MAX_RDMA_NICS RDMA NICs in all"
    [[ -n $tcp_nics ]] || [[ -z $tcp_rate ]] ||
        usage_error "up: --tcp-rate needs --tcp-nics"
    [[ -n $tcp_nics ]] || return 0
    [[ $tcp_nics =~ ^[0-9]{1,3}$ && $((10#$tcp_nics)) -le $MAX_NICS ]] ||
        usage_error "up: --tcp-nics '$tcp_nics': accepted: 0 to $MAX_NICS"
    nics=$((10#$tcp_nics))
    [[ $nics -eq 0 ]] || valid_rate "$tcp_rate" ||
        usage_error "up: --tcp-rate '$tcp_rate': accepted: $accepted_rates"
    for ((i = 0; i < nics; i++)); do
        rates+=("$tcp_rate")
    done
}

# Files that the nodes read when they start.
write_identity() {
    local h i id
    {
        printf 'hosts=%s\nnics=%s\nrdma_nics=%s\nmtu=%s\nmode=%s\n' \
            "$hosts" "$nics" "$rdma_nics" "$mtu" "$mode"
        printf 'queue=%s\ndrops=%s\n' "$queue" "$drops"
    } >"$state/conf"
    if [[ $gpus -gt 0 ]]; then
        printf 'gpus=%s\ncudasim=%s\n' "$gpus" "$cudasim" >>"$state/conf"
        echo "$topology_text" >"$state/topology"
        gpu_places >"$state/places"
    fi
    {
        echo "127.0.0.1 localhost"
        for ((h = 0; h < hosts; h++)); do
            echo "$(mgmt_addr "$h") host$h"
            for ((i = 0; i < nics; i++)); do
                echo "$(nic_addr "$h" "$i") host$h-nic$i"
            done
        done
    } >"$state/hosts"
    for ((h = 0; h < hosts; h++)); do
        mkdir -- "$state/host$h"
        read -r id </proc/sys/kernel/random/uuid
        echo "$id" >"$state/host$h/boot_id"
        echo "${id//-/}" >"$state/host$h/machine-id"
        for ((i = 0; i < nics; i++)); do
            echo "$h $i ${rates[i]}"
        done
        for ((i = 0; i < rdma_nics; i++)); do
            echo "$h rdma$i ${rdma_rates[i]}"
        done
    done >"$state/rates"
    # mpirun splits the agent's command at blanks, which the path of this
    # checkout may have; the state directory has none.
    ln -s "$lib_dir/rsh" "$state/rsh"
}

command_down() {
    local all=0 found
    while [[ $# -gt 0 ]]; do
        case $1 in
        --name | --name=*)
            take_name "$@"
            select_cluster "$name"
            shift "$taken"
            ;;
        --all)
            all=1
            shift
            ;;
        *) usage_error "down: unknown option '$1'; accepted: --name, --all" ;;
        esac
    done
    refuse_inside down
    [[ -d $base ]] || return 0
    if [[ $all -eq 1 ]]; then
        for found in $(cluster_names); do
            select_cluster "$found"
            lock_cluster
            remove_cluster || exit 1
            unlock_cluster
        done
    else
        lock_cluster
        remove_cluster || exit 1
        unlock_cluster
    fi
}

# Kills until nothing is left: a process may fork while it is being looked for.
remove_cluster() {
    local pids tries
    rm -f -- "$state/ready"
    for ((tries = 0; tries < 250; tries++)); do
        pids=$(cluster_pids)
        [[ -n $pids ]] || break
        # shellcheck disable=SC2086
        kill -KILL $pids 2>/dev/null
        sleep 0.02
    done
    [[ -z $pids ]] ||
        say "processes of cluster '$cluster' do not end: ${pids//$'\n'/ }"
    rm -rf --one-file-system -- "$state"
    [[ -z $pids && ! -e $state ]]
}

# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Links, addresses and rates. The switch is a namespace with one bridge for
# each rail; a NIC is one end of a veth pair whose other end is a port of the
# rail's bridge. Rail i is 10.0.i.0/24 and host h has address h+1 on it;
# management is 10.0.255.0/24. Nothing is routed.
#
# The management NICs are macvlans on one interface of the switch, not veth
# pairs: UCX prefers NICs by the speed their driver reports, and every veth
# reports 10 Gbit/s, whatever it is shaped to, so UCX would often take
# management for small messages. A macvlan reports what is below it, here a
# vxlan without a tunnel, which knows no speed; UCX assumes 100 Mbit/s then and
# takes the NICs, as it would on real nodes.

nic_addr() {
    echo "10.0.$2.$(($1 + 1))"
}

mgmt_addr() {
    echo "10.0.255.$(($1 + 1))"
}

# Prints the tc arguments that shape DEV to RATE.
#
# The bucket is one millisecond of the rate, but holds two full frames: large
# enough that a late timer loses no tokens, small enough that a stream after
# a pause gets no visible amount for free.
shape_line() {
    local dev=$1 rate=$2 bits burst limit
    # A full queue of the host's own lets TCP wait; what the switch drops is lost.
    if [[ $rate == none || ($drops -eq 1 && $dev == nic*) ]]; then
        echo "qdisc replace dev $dev root pfifo_fast"
        return
    fi
    bits=$(rate_bits "$rate")
    burst=$((bits / 8 / 1000))
    limit=$((bits / 8 * queue / 1000))
    [[ $burst -ge $(min_burst) ]] || burst=$(min_burst)
    [[ $limit -ge $((8 * mtu)) ]] || limit=$((8 * mtu))
    echo "qdisc replace dev $dev root tbf rate ${bits}bit burst $burst" \
        "limit $((limit + burst))"
}

min_burst() {
    echo $((2 * (mtu + 14) + 512))
}

# A segmentation-offload packet larger than the bucket would have to be cut
# up in the shaper; the sender makes them of the right size to begin with.
gso_line() {
    local size=65536 rate=$2 burst
    if [[ $rate != none ]]; then
        burst=$(($(rate_bits "$rate") / 8 / 1000))
        [[ $burst -ge $(min_burst) ]] || burst=$(min_burst)
        [[ $burst -ge $size ]] || size=$burst
    fi
    echo "link set dev $1 gso_max_size $size"
}

# Reads `up`'s rates: rates[i] is for NIC i of every host.
net_build() {
    local h i pid

    {
        echo "link set dev lo up"
        echo "link add name mgmt type vxlan id 1 dstport 4789 nolearning"
        echo "link set dev mgmt up"
        for ((i = 0; i < nics; i++)); do
            echo "link add name rail$i mtu $mtu type bridge" \
                "forward_delay 0 mcast_snooping 0"
            echo "link set dev rail$i up"
        done
        for ((h = 0; h < hosts; h++)); do
            pid=$(holder_pid "host$h") || die "host$h is gone"
            echo "link add link mgmt name mgmt0 netns $pid" \
                "type macvlan mode bridge"
            for ((i = 0; i < nics; i++)); do
                echo "link add name h${h}n$i mtu $mtu type veth" \
                    "peer name nic$i mtu $mtu netns $pid"
                echo "link set dev h${h}n$i master rail$i up"
            done
        done
    } | net_batch switch ip || exit 1

    for ((h = 0; h < hosts; h++)); do
        {
            echo "link set dev lo up"
            echo "addr add $(mgmt_addr "$h")/24 dev mgmt0"
            echo "link set dev mgmt0 up"
            for ((i = 0; i < nics; i++)); do
                echo "addr add $(nic_addr "$h" "$i")/24 dev nic$i"
                gso_line "nic$i" "${rates[i]}"
                echo "link set dev nic$i up"
            done
        } | net_batch "host$h" ip || exit 1
        for ((i = 0; i < nics; i++)); do
            shape_line "nic$i" "${rates[i]}"
        done | net_batch "host$h" tc || exit 1
    done

    for ((h = 0; h < hosts; h++)); do
        for ((i = 0; i < nics; i++)); do
            shape_line "h${h}n$i" "${rates[i]}"
        done
    done | net_batch switch tc || exit 1
}

# Runs lines of ip, tc or bridge in NODE; stops at the first that fails. At the end of
# a pipe this is a process of its own, so the caller has to exit with it.
net_batch() {
    local message
    message=$(node_run "$1" "$2" -batch - 2>&1) ||
        die "$2 failed in $1: ${message//$'\n'/ }"
}

# A bridge port forwards, and UCX sees a NIC, only once the carrier is up.
net_wait() {
    local h tries links
    for ((h = 0; h < hosts; h++)); do
        for ((tries = 0; tries < 250; tries++)); do
            links=$(node_run "host$h" ip -o link show up) || exit 1
            [[ $(grep -c 'LOWER_UP.* state UP ' <<<"$links") -eq \
                $((nics + 1)) ]] && break
            sleep 0.02
        done
        [[ $tries -lt 250 ]] || die "a NIC of host$h got no carrier in 5 s"
    done
}

command_nic() {
    load_cluster
    if [[ $*: == -: ]]; then
        nic_lines
        return
    fi
    nic_action "$@"
}

# For who has to know when: a line says when the command before it began and was
# done, in seconds since 1970. Beginning a process is slow in the guest and takes CPU time
# from what is measured, so one `ip` serves all links.
nic_lines() {
    local words begin
    if [[ $rdma_nics -gt 0 ]]; then
        trap '' PIPE # who finds it gone says so
        coproc rdma_ip { exec ip -oneline -batch - 2>&1; }
    fi
    while read -ra words; do
        begin=$EPOCHREALTIME
        nic_action "${words[@]}"
        echo "$begin $EPOCHREALTIME"
    done
}

nic_action() {
    local host nic action=${3-}
    [[ $# -ge 3 ]] ||
        usage_error "nic: want HOST N down, up, silent, speaking or rate R"
    host=$(host_index "$1") || exit 2
    if [[ $rdma_nics -gt 0 && $2 != nic* ]]; then
        nic=$(rdma_index "$2") || exit 2
        rdma_nic "$host" "$nic" "${@:3}"
        return
    fi
    nic=$(nic_index "$2") || exit 2
    case $action:$# in
    # The port of the switch goes down, not the NIC: the host keeps the
    # address and route and only loses the carrier, as with a pulled cable.
    down:3 | up:3)
        echo "link set dev h${host}n$nic $action" |
            net_batch switch ip || exit 1
        ;;
    # The port drops what comes, from either side. Neither end can see that.
    silent:3)
        port_state "$host" "$nic" 0
        ;;
    speaking:3)
        port_state "$host" "$nic" 3
        ;;
    rate:4)
        valid_rate "$4" ||
            usage_error "nic rate '$4': accepted: $accepted_rates"
        lock_cluster
        gso_line "nic$nic" "$4" | net_batch "host$host" ip || exit 1
        shape_line "nic$nic" "$4" | net_batch "host$host" tc || exit 1
        shape_line "h${host}n$nic" "$4" | net_batch switch tc || exit 1
        record_rate "$host" "$nic" "$4"
        ;;
    *)
        usage_error "nic: '${*:3}': accepted: down, up, silent, speaking," \
            "rate R"
        ;;
    esac
}

# usage: port_state HOST NIC 0|3, as the kernel has it: disabled, forwarding. A
# port without a carrier cannot be set to forward, and does so when it gets one.
port_state() {
    [[ $3 == 0 || $(node_run switch ip -o link show "h${1}n$2") == *LOWER_UP* ]] ||
        die "nic$2 of host$1 is down; with 'up' it speaks, too"
    echo "link set dev h${1}n$2 state $3" | net_batch switch bridge || exit 1
}

record_rate() {
    awk -v h="$1" -v n="$2" -v r="$3" \
        '$1 == h && $2 == n { $3 = r } { print }' "$state/rates" \
        >"$state/rates.new" && mv "$state/rates.new" "$state/rates"
}

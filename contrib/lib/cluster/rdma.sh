# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# RDMA NICs, in the guest: soft-RoCE devices over virtual Ethernet.
#
# The kernel's soft-RoCE works in the first network namespace only, so the
# NICs of all hosts are there, and every host sees all RDMA devices. Which are
# its own is told by the environment that a host gives its commands.
#
# NIC i of host h is the RDMA device rxe_h<h>n<i> over the interface rdma_h<h>n<i>,
# whose cable ends in port_h<h>n<i> of one bridge, the fabric. It has the
# address 10.128.i.(h+1) and its link-local one; the latter is GID 0.

RDMA_MTU=4200 # for the largest RDMA MTU, 4096, with headers
MAX_RDMA_NICS=32

rdma_addr() {
    echo "10.128.$2.$(($1 + 1))"
}

# Sets mac, and addr6, the link-local address that follows from it. (Not
# printed: a process for each would take seconds in the guest.)
rdma_identify() {
    printf -v mac '02:f1:00:00:%02x:%02x' "$1" "$2"
    printf -v addr6 'fe80::f1:ff:fe00:%x' $(($1 * 256 + $2))
}

# RoCE has no way to slow a sender down before packets are lost, and soft-RoCE
# starts again from a lost packet. So the queues hold all that can be under way.
rdma_shape_line() {
    local burst=16384 bits
    if [[ $2 == none ]]; then
        echo "qdisc replace dev $1 root pfifo_fast"
        return
    fi
    bits=$(rate_bits "$2")
    [[ $((bits / 8 / 1000)) -le $burst ]] || burst=$((bits / 8 / 1000))
    echo "qdisc replace dev $1 root tbf rate ${bits}bit burst $burst" \
        "limit 16777216"
}

rdma_shape() {
    rdma_shape_line "rdma_$1" "$2"
    rdma_shape_line "port_$1" "$2"
}

# Settings of the guest's kernel; NAME=VALUE below /proc/sys/net.
rdma_sysctl() {
    local setting
    for setting; do
        echo "${setting#*=}" >"/proc/sys/net/${setting%%=*}" ||
            die "cannot set net/${setting%%=*} in the guest"
    done
}

# Reads `up`'s rdma_rates: rdma_rates[i] is for NIC i of every host.
rdma_build() {
    local h i dev table mac addr addr6 scope setting settings=()
    for scope in all default; do
        for setting in rp_filter=0 accept_local=1 arp_ignore=1 arp_announce=2; do
            settings+=("ipv4/conf/$scope/$setting")
        done
        settings+=("ipv6/conf/$scope/accept_dad=0")
    done
    # Bursts of a whole window reach the other end of a virtual cable at once;
    # its default queue would drop them.
    rdma_sysctl "${settings[@]}" core/netdev_max_backlog=100000 \
        core/netdev_budget=3000 core/netdev_budget_usecs=20000

    {
        # All addresses are this kernel's own. For packets between two of them
        # to take the cable, the rule "local is local" comes after ours.
        echo "rule add pref 1000 lookup local"
        echo "rule del pref 0"
        echo "link add name fabric mtu $RDMA_MTU type bridge" \
            "forward_delay 0 mcast_snooping 0"
        echo "link set dev fabric up"
        for ((h = 0; h < hosts; h++)); do
            for ((i = 0; i < rdma_nics; i++)); do
                dev=h${h}n$i addr=$(rdma_addr "$h" "$i")
                rdma_identify "$h" "$i"
                table=$((200 + h * rdma_nics + i))
                echo "link add name rdma_$dev mtu $RDMA_MTU" \
                    "address $mac type veth" \
                    "peer name port_$dev mtu $RDMA_MTU"
                echo "link set dev port_$dev master fabric up"
                echo "link set dev rdma_$dev up"
                echo "addr add $addr/24 dev rdma_$dev noprefixroute"
                echo "route add 10.128.0.0/16 dev rdma_$dev src $addr" \
                    "table $table"
                echo "rule add pref $table oif rdma_$dev lookup $table"
            done
        done
        rdma_neighbours
    } | rdma_batch ip || exit 1
    for ((h = 0; h < hosts; h++)); do
        for ((i = 0; i < rdma_nics; i++)); do
            echo "link add rxe_h${h}n$i type rxe netdev rdma_h${h}n$i"
        done
    done | rdma_batch rdma || exit 1
    for ((h = 0; h < hosts; h++)); do
        for ((i = 0; i < rdma_nics; i++)); do
            rdma_shape "h${h}n$i" "${rdma_rates[i]}"
        done
    done | rdma_batch tc || exit 1
    rdma_wait
}

# Every NIC knows all others, so that no question is lost in a full queue.
rdma_neighbours() {
    local h i other port mac addr4 addr6
    for ((other = 0; other < hosts; other++)); do
        for ((port = 0; port < rdma_nics; port++)); do
            addr4=$(rdma_addr "$other" "$port")
            rdma_identify "$other" "$port"
            for ((h = 0; h < hosts; h++)); do
                for ((i = 0; i < rdma_nics; i++)); do
                    [[ $h.$i != "$other.$port" ]] || continue
                    echo "neigh replace $addr4 lladdr $mac nud permanent" \
                        "dev rdma_h${h}n$i"
                    echo "neigh replace $addr6 lladdr $mac nud permanent" \
                        "dev rdma_h${h}n$i"
                done
            done
        done
    done
}

rdma_batch() {
    local message
    message=$("$1" -b - 2>&1) ||
        die "$1 failed in the guest: ${message//$'\n'/ }"
}

rdma_wait() {
    local tries file port active
    for ((tries = 0; tries < 250; tries++)); do
        active=0
        for file in /sys/class/infiniband/rxe_h*/ports/1/state; do
            read -r port <"$file" && [[ $port == *ACTIVE ]] &&
                active=$((active + 1))
        done
        [[ $active -lt $((hosts * rdma_nics)) ]] || return 0
        sleep 0.02
    done
    die "an RDMA NIC does not become active"
}

# Prints the NAME=VALUE words that tell the commands of host INDEX which NICs
# are theirs, for COMMAND: with fuselink as its rails, else as UCX's devices
# (UCX would take one setting for a filter, and report the other as unknown).
# What the caller has set stays. A value from another host of this cluster
# (mpirun's environment comes along to all of them) is not the caller's:
# FUSELINK_CLUSTER_DEFAULTS holds what was set here.
# usage: rdma_environment INDEX COMMAND...
rdma_environment() {
    local i list='' tcp='' name value defaults='' setting=UCX_NET_DEVICES
    for i in $(rdma_chosen); do
        list+=${list:+,}rxe_h${1}n$i:1
    done
    for ((i = 0; i < nics; i++)); do
        tcp+=,nic$i
    done
    if [[ ${FUSELINK-} == 1 ||
        "${LD_PRELOAD-} ${FUSELINK_CLUSTER_DEFAULTS-} ${*:2}" == \
        *@(libuct_fuselink|UCX_FUSELINK_DEVICES=)* ]]; then
        setting=UCX_FUSELINK_DEVICES
    fi
    for value in "$setting=$list$tcp" UCX_IB_GID_INDEX=0; do
        name=${value%%=*}
        [[ -z ${!name+set} ||
            " ${FUSELINK_CLUSTER_DEFAULTS-} " == *" $name=${!name} "* ]] ||
            continue
        echo "$value"
        defaults+=${defaults:+ }$value
    done
    echo "FUSELINK_CLUSTER_DEFAULTS=$defaults"
}

# The RDMA NICs that commands get: all, or those of FUSELINK_CLUSTER_NICS.
rdma_chosen() {
    local chosen index
    if [[ -z ${FUSELINK_CLUSTER_NICS-} ]]; then
        seq 0 $((rdma_nics - 1))
        return
    fi
    IFS=, read -ra chosen <<<"$FUSELINK_CLUSTER_NICS"
    for index in "${chosen[@]}"; do
        [[ $index =~ ^[0-9]{1,2}$ && $((10#$index)) -lt $rdma_nics ]] ||
            usage_error "FUSELINK_CLUSTER_NICS='$FUSELINK_CLUSTER_NICS':" \
                "accepted: a list of 0 to $((rdma_nics - 1))"
        echo $((10#$index))
    done
}

# Prints the index of an RDMA NIC, given as 1, rdma1 or rxe_h0n1.
rdma_index() {
    local index=${1#rdma}
    index=${index#rxe_h[0-9]n}
    [[ $index =~ ^[0-9]{1,2}$ && $((10#$index)) -lt $rdma_nics ]] ||
        usage_error "NIC '$1': host has RDMA NICs 0 to $((rdma_nics - 1))" \
            "and TCP NICs nic0 to nic$((nics - 1))"
    echo $((10#$index))
}

# usage: rdma_port DEVICE WORD...: sets the link, by the process of nic_lines, if it is
# there. That one says how the link is then, or what is wrong.
rdma_port() {
    local said
    if [[ -z ${rdma_ip_PID-} ]]; then
        echo "link set dev $*" | rdma_batch ip || exit 1
        return
    fi
    printf 'link %s\n' "set dev $*" "show dev $1" >&"${rdma_ip[1]-}" &&
        read -rt 10 said <&"${rdma_ip[0]}" && [[ $said == *": $1"[:@]* ]] ||
        die "ip failed in the guest: ${said:-it says nothing}"
}

# nic HOST N for an RDMA NIC.
rdma_nic() {
    local host=$1 nic=$2 dev=h${1}n$2
    shift 2
    case $1:$# in
    down:1 | up:1)
        rdma_port "port_$dev" "$1"
        ;;
    # The port leaves the switch. Neither end can see that.
    silent:1)
        rdma_port "port_$dev" nomaster
        ;;
    speaking:1)
        rdma_port "port_$dev" master fabric
        ;;
    rate:2)
        valid_rate "$2" ||
            usage_error "nic rate '$2': accepted: $accepted_rates"
        lock_cluster
        rdma_shape "$dev" "$2" | rdma_batch tc || exit 1
        record_rate "$host" "rdma$nic" "$2"
        ;;
    *)
        usage_error "nic: '$*': accepted: down, up, silent, speaking, rate R"
        ;;
    esac
}

# Lines of `status` for host INDEX.
rdma_status() {
    local i dev port
    for ((i = 0; i < rdma_nics; i++)); do
        dev=rxe_h${1}n$i
        read -r port <"/sys/class/infiniband/$dev/ports/1/state" || port=gone
        printf '  %-9s %-12s %-9s %s\n' "$dev" "$(rdma_addr "$1" "$i")" \
            "$(awk -v h="$1" -v n="rdma$i" '$1 == h && $2 == n { print $3 }' \
                "$state/rates")" "${port#*: }"
    done
}

# "HOST DEVICE RX TX" for each RDMA NIC of host INDEX, in bytes.
rdma_read_counters() {
    local i folder rx tx
    for ((i = 0; i < rdma_nics; i++)); do
        folder=/sys/class/net/rdma_h${1}n$i/statistics
        read -r rx <"$folder/rx_bytes" && read -r tx <"$folder/tx_bytes" ||
            die "an RDMA NIC of host$1 is gone"
        echo "host$1 rxe_h${1}n$i $rx $tx"
    done
}

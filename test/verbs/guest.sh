# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# What cases on the hosts of an RDMA cluster are made of. To be sourced after
# report.sh and clusters.sh; `work` is a folder for logs and programs.
#
#     guest_up LABEL ARGUMENT...         as cluster_up; the cluster in use
#     on HOST COMMAND...                 run in host0, host1, ...
#     pair PORT PASSIVE... -- ACTIVE...  PASSIVE in host1, then ACTIVE in host0
#     moving COMMAND...                  run it, note what each NIC sent
#     only_moved MIN INDEX...            these sent MIN packets each, no other
#
# An active command finds the passive one at $passive_address. Settings (UCX_*,
# FUSELINK_CLUSTER_NICS, ...) go into the environment of the call:
#
#     UCX_TLS=rc_v,self moving pair 13337 ucx_perftest -- ucx_perftest ...

passive_address=10.0.255.2
quiet_packets=60 # neighbours, endpoints that are opened and not used
# Of each NIC, as h0n1: sent while `moving`; messages are what is no RDMA read,
# write or datagram.
declare -A sent_packets=() sent_messages=() before_packets=() before_messages=()

guest_up() {
    guest=$1
    cluster_up "$@"
}

cluster_command() {
    "$cluster_tool" --name "$(cluster_name "$guest")" "$@"
}

on() {
    cluster_command exec "$@" </dev/null
}

# pair PORT PASSIVE... -- ACTIVE...: succeeds if both do. The passive one listens
# on PORT. What they print is in $work/passive.log and on standard output.
pair() {
    local port=$1 passive=() server status
    shift
    while [[ $1 != -- ]]; do
        passive+=("$1")
        shift
    done
    shift
    (exec_in "$guest" host1 timeout 100 "${passive[@]}" \
        >"$work/passive.log" 2>&1 </dev/null) &
    server=$!
    if ! on host1 "$here/listening" "$port"; then
        kill "$server" 2>/dev/null
        wait "$server"
        cat "$work/passive.log"
        return 1
    fi
    on host0 timeout 100 "$@"
    status=$?
    ((status == 0)) || kill "$server" 2>/dev/null
    wait "$server" || status=$?
    ((status == 0)) || tail -n 20 "$work/passive.log"
    return "$status"
}

# Prints "h0n1 PACKETS MESSAGES" for every NIC; each host sees all RDMA devices.
packets() {
    # shellcheck disable=SC2016
    on host0 sh -c 'cd /sys/class/infiniband && for nic in rxe_*; do
        cd "$nic/ports/1/hw_counters" &&
            echo "${nic#rxe_} $(cat sent_pkts) $(cat rdma_sends)"
        cd /sys/class/infiniband
    done'
}

packets_before() {
    local nic count messages
    before_packets=() before_messages=()
    while read -r nic count messages; do
        before_packets[$nic]=$count before_messages[$nic]=$messages
    done < <(packets)
}

# Sets sent_packets, sent_messages: since packets_before.
packets_after() {
    local nic count messages
    sent_packets=() sent_messages=()
    while read -r nic count messages; do
        sent_packets[$nic]=$((count - ${before_packets[$nic]}))
        sent_messages[$nic]=$((messages - ${before_messages[$nic]}))
    done < <(packets)
}

# moving COMMAND...: sets sent_packets, sent_messages; the status is the command's.
moving() {
    local nic status
    packets_before
    "$@"
    status=$?
    packets_after
    for nic in $(printf '%s\n' "${!sent_packets[@]}" | sort); do
        echo "$nic sent ${sent_packets[$nic]} packets"
    done
    return "$status"
}

# only_moved MIN INDEX...: NIC INDEX of host0 and that of the others together sent
# at least MIN packets (who sends data and who asks for it is the protocol's
# choice), and all other NICs no more than quiet_packets each.
only_moved() {
    local least=$1 index nic sum
    shift
    ((${#sent_packets[@]})) || { echo "no counters were read"; return 1; }
    for index in "$@"; do
        sum=0
        for nic in "${!sent_packets[@]}"; do
            [[ $nic != *n$index ]] || sum=$((sum + ${sent_packets[$nic]}))
        done
        ((sum >= least)) || {
            echo "the NICs $index sent $sum packets, not $least"
            return 1
        }
    done
    for nic in "${!sent_packets[@]}"; do
        [[ " $* " != *" ${nic#h*n} "* ]] || continue
        ((${sent_packets[$nic]} <= quiet_packets)) || {
            echo "$nic sent ${sent_packets[$nic]} packets, and should not"
            return 1
        }
    done
}

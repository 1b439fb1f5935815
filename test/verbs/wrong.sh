# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Settings and machines that are wrong: one line names the setting or the NIC, and
# the NICs that are left carry on. To be sourced by fuselink.sh.

# without CAPABILITY...: what follows is root, as everything in the guest, but
# without these.
without() {
    local name list=
    for name; do
        list+=${list:+,}-$name
    done
    settings+=(setpriv --bounding-set "$list")
}

# A job over the NICs that are left: all but NIC 2 of host0.
goes_on() {
    moving perf 1048576 8 || return
    carried 10 0 1 3 || return
    ((sent_packets[h0n2] <= quiet_packets))
}

# RoCE finds its peers by GID. That of index 1 follows from the IPv4 address; it
# is taken from one NIC.
no_gid() {
    local status
    on host0 nsenter -t 1 -n ip address del 10.128.2.1/24 dev rdma_h0n2 || return
    warns "cannot use: rxe_h0n2:1. They have no GID of index UCX_IB_GID_INDEX=1" \
        info
    status=$?
    on host0 nsenter -t 1 -n ip address add 10.128.2.1/24 dev rdma_h0n2 \
        noprefixroute && return $status
}

# access MODE: of NIC 2 of host0.
access() {
    on host0 sh -c 'chmod "$1" /dev/$(grep -lx rxe_h0n2 \
        /sys/class/infiniband_verbs/*/ibdev | sed "s,.*verbs/,infiniband/,;
        s,/ibdev,,")' sh "$1"
}

no_access() {
    local status
    access 000 || return
    warns "rxe_h0n2:1.*/dev/infiniband" goes_on
    status=$?
    access 666 && return $status
}

without_2() {
    moving perf 1048576 60 && carried 10 0 1 3
}

# port_to NETWORK NIC...: of host1. `fabric`, or none.
port_to() {
    local nic
    local -a where=(nomaster)
    [[ $1 == none ]] || where=(master "$1")
    for nic in "${@:2}"; do
        on host0 nsenter -t 1 -n ip link set "port_h1n$nic" "${where[@]}" ||
            return
    done
}

# The port of NIC 2 of host1 is up, and in no network.
astray() {
    local status
    port_to none 2 || return
    warns "rxe_h0n2:1 connects to .*rxe_h1n2:1 .*moves no data: left out" \
        without_2
    status=$?
    port_to fabric 2 && return $status
}

# Whichever NIC the first message would go over, one that works takes it, long
# before UCX gives the datagrams up. A job in four begins with that one.
silent_ways() {
    local run output
    for run in {1..8}; do
        SECONDS=0
        output=$(perf 8 100 2>&1) && ((SECONDS < 25)) || {
            echo "run $run, $SECONDS s: $output"
            return 1
        }
        [[ $output != *"has no answer from rail"* ]] || return 0
    done
    echo "no run said that a NIC has no answer: $output"
    return 1
}

silent() {
    local status
    port_to none 0 1 2 || return
    silent_ways
    status=$?
    port_to fabric 0 1 2 && return $status
}

over rc_verbs 0,7
checks "wrong: a NIC that is not there" says "no NIC port 'rxe_h0n7:1'" info
over rc_verbs 0,1 UCX_IB_GID_INDEX=77
checks "wrong: a GID that is not there" says "UCX_IB_GID_INDEX=77" info
over rc_verbs 0,1 UCX_IB_GID_INDEX=5000
checks "wrong: a GID beyond the NIC's table" says "UCX_IB_GID_INDEX=5000" info
over rc_verbs,tcp all UCX_IB_GID_INDEX=77
checks "wrong: and TCP goes on" warns "UCX_IB_GID_INDEX=77" info

over rc_verbs own UCX_IB_GID_INDEX=1
checks "wrong: a NIC without a GID is named" no_gid
over rc_verbs own
without dac_override dac_read_search
checks "wrong: a NIC that may not be opened, the others go on" no_access

over rc_verbs own UCX_RC_TIMEOUT=0.3s UCX_RC_RETRY_COUNT=1
checks "wrong: a NIC that connects and moves nothing, the others go on" astray
over rc_verbs own
checks "wrong: three NICs of four over which nobody answers" silent

over rc_verbs
without ipc_lock
settings+=(prlimit --memlock=65536)
checks "wrong: no locked memory" says "may have 64 kB.*rxe_h0n0:1.*rxe_h0n3:1" \
    info
over rc_verbs,tcp 0,nic0
without ipc_lock
settings+=(prlimit --memlock=65536)
checks "wrong: and TCP goes on" warns "64 kB.*rxe_h0n0:1" perf 65536 8

over rc_verbs,tcp 0/nic0
checks "wrong: hosts that have no transport in common" \
    says 'no rail of this process \(rc_verbs\) reaches one of .*\(tcp\)' \
    perf 65536 8

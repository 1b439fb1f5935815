# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Sourced: what the NICs of a cluster of two hosts carry. The sourcing script has
# a function
#
#     sent HOST NIC      # bytes that this NIC of this host sent so far
#     in_cluster ...     # contrib/cluster, of this cluster; for sent_by_all alone

# on_every_nic NICS COMMAND...: the command succeeds, and each of the first NICS
# NICs of both hosts carries at least a third of an equal share: eager messages go
# by one NIC per pair of ranks.
on_every_nic() {
    local nics=$1 nic host moved total=0 least=-1
    local -A before
    shift
    for host in 0 1; do
        for ((nic = 0; nic < nics; nic++)); do
            before[$host.$nic]=$(sent "$host" "nic$nic")
        done
    done
    "$@" || return
    for host in 0 1; do
        for ((nic = 0; nic < nics; nic++)); do
            moved=$(($(sent "$host" "nic$nic") - ${before[$host.$nic]}))
            echo "host$host nic$nic sent $moved bytes"
            total=$((total + moved))
            ((least >= 0 && least <= moved)) || least=$moved
        done
    done
    ((least * 3 * nics * 2 >= total))
}

# Bytes that all NICs of host0 have sent so far.
sent_by_all() {
    in_cluster exec host0 sh -c 'cat /sys/class/net/nic*/statistics/tx_bytes' |
        awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Memory of GPUs over RDMA NICs, on hosts with emulated GPUs (test/cudasim), in a
# guest of its own. To be sourced by run, as one of the last: the guest in use ends.

# gpu_job TRANSPORTS WHAT [ARGUMENT]...: between two hosts, in pieces of 1 MB, data
# checked.
gpu_job() {
    local mpi_nics=own
    local -a mpi_options=(-x UCX_TLS=fuselink -x UCX_HANDLE_ERRORS=none "${@:3}")
    mpi "$1" 2 "$cudasim/gpu_exchange" "$2" 1000000
}

# Chunks are written into slots that the other host has lent, on every NIC; what is
# no message is a write, or the acknowledgement of one. A megabyte each way is 250
# packets.
written_to_slots() {
    local nic rest
    moving gpu_job rc_verbs p2p || return
    for nic in "${!sent_packets[@]}"; do
        rest=$((${sent_packets[$nic]} - 2 * ${sent_messages[$nic]}))
        echo "$nic: ${sent_messages[$nic]} messages, $rest packets of others"
        ((rest >= 250)) || return
    done
}

gpu_programs() {
    local what
    check "gpu: messages between GPUs are written by every NIC" written_to_slots
    for what in managed alltoallv; do
        check "gpu: MPI $what" gpu_job rc_verbs "$what"
    done
    check "gpu: MPI p2p, late by chance, one slot each way" gpu_job rc_verbs \
        p2p -x CUDASIM_JITTER=3ms -x UCX_FUSELINK_RELAY_MEMORY=64k \
        -x UCX_FUSELINK_GPU_CHUNK=32k
    check "gpu: MPI p2p over ud" gpu_job ud_verbs p2p
    check "gpu: MPI p2p, RDMA and TCP NICs" gpu_job rc_verbs,tcp p2p
    check "gpu: MPI p2p, copied by UCX" gpu_job rc_verbs p2p \
        -x UCX_FUSELINK_GPU_COPIES=n
}

cudasim=$("$top/test/cudasim/build" 2>"$work/cudasim.log")
case $? in
0)
    cluster_down "$guest"
    export FUSELINK_CUDASIM=$cudasim
    if guest_up gpus --rdma --hosts 2 --nics 4 --rate 16mbit --tcp-nics 1 \
        --tcp-rate 16mbit --gpus 2; then
        gpu_programs
    fi
    ;;
3) skip "gpu" "$(tail -n 1 "$work/cudasim.log" | sed 's/^build: //')" ;;
*) not_ok "gpu: the emulated driver builds" "$(tail -n 20 "$work/cudasim.log")" ;;
esac

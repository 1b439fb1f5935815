# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# fuselink on the hosts of the RDMA cluster. To be sourced by run. The groups:
# what the UCT and UCP programs of the other stages and MPI programs do over
# rc_verbs and over ud_verbs; hosts with NICs of both kinds; limits; settings that
# are wrong; cables.

wanted=()
. "$top/test/lib/cases.sh"
host_settings=() # the wrapper `rails` is part of settings
unset UCX_TLS

# over TRANSPORT [NIC,...] [NAME=VALUE...]: of the programs that follow. All four
# RDMA NICs, if none are named.
over() {
    settings=(UCX_FUSELINK_RAIL_TLS="$1" UCX_TLS=fuselink "${@:3}"
        "$here/rails" "${2:-0,1,2,3}")
}

# cases GROUP PROGRAM PATTERN...: those, or what the user asked for instead, if
# they are for RDMA NICs.
cases() {
    local label=$1 folder=$top/test/$2 name
    local -a cases
    shift 2
    wanted "$label" || return
    build_program "$(basename "$folder")_tests" "$folder"
    if ((${#cases_wanted[@]})); then
        set --
        for name in $all_cases; do
            matches "$name" "${cases_wanted[@]}" &&
                ! matches "$name" "${not_here[@]}" && set -- "$@" "$name"
        done
    fi
    (($#)) && run_cases "$label" "$guest" host1 "$@"
}

# Not for these hosts: within a node, other clusters, names of TCP NICs, more
# than two processes; what is true of TCP only (a connection that breaks when the
# other process goes, keys that are checked by it); the CPU that a sleeping
# process uses, which this machine multiplies. UCX's own rc_verbs sleeps through
# a message, too, with the new protocols.
not_here=('node.*' 'self.*' 'settings.*' 'bridge.*' 'many_rails.*' 'place.*'
    'devices.*' 'connect_by_ep.*' '*.by_ep' '*.connect_ep.*' 'policy.*'
    'rails.hostile.*' 'rails.killed.*' 'rails.left*' 'rails.leave.*'
    'rails.cancelled*' 'rails.events.failure' 'rails.rma.out_of_range'
    'lanes.within_node.*' 'killed.*' 'many.all_to_all.*' 'wakeup.*'
    'atomic.contended.*' 'share.*')

# carried PERCENT NIC...: each of these pairs of NICs (of host0 and of host1)
# sent at least so much of all packets.
carried() {
    local percent=$1 index nic sum total=0
    shift
    for nic in "${!sent_packets[@]}"; do
        total=$((total + ${sent_packets[$nic]}))
    done
    for index; do
        sum=$((${sent_packets[h0n$index]} + ${sent_packets[h1n$index]}))
        ((total > 0 && 100 * sum >= percent * total)) || {
            echo "the NICs $index sent $sum of $total packets"
            return 1
        }
    done
}

# mpi TRANSPORT NP PROGRAM...: on all four RDMA NICs.
mpi() {
    local tl=$1 np=$2
    shift 2
    FUSELINK=1 FUSELINK_LIB=$library timeout 150 "$cluster_tool" \
        --name "$(cluster_name "$guest")" mpirun -np "$np" --tune "$tune" \
        -x UCX_FUSELINK_RAIL_TLS="$tl" "${mpi_options[@]}" \
        "$here/rails" 0,1,2,3 "$@" </dev/null
}
mpi_options=()

mpi_on_all() {
    moving mpi "$@" && carried 15 0 1 2 3
}

# Windows of osc/ucx: the NICs write and read, few packets are messages.
mpi_native() {
    moving mpi "$@" && carried 10 0 1 2 3 || return
    local nic packets=0 messages=0
    for nic in "${!sent_packets[@]}"; do
        packets=$((packets + ${sent_packets[$nic]}))
        messages=$((messages + ${sent_messages[$nic]}))
    done
    echo "$messages messages in $packets packets"
    ((messages * 4 < packets))
}

mpi_group() {
    local tl=$1 name=$2
    wanted "$name" || return
    if [[ ! -x $work/exchange ]] &&
        ! mpicc -O2 -o "$work/exchange" "$top/test/mpi/exchange.c" -lpthread \
            >"$work/make.log" 2>&1; then
        not_ok "$name: exchange.c builds" "$(cat "$work/make.log")"
        return
    fi
    check "$name: a stream, data checked, every NIC carries its share" \
        mpi_on_all "$tl" 2 "$work/stream" --size 1048576 --window 4 --check 2 \
        --warmup 0 --time 1
    check "$name: all to all, 4 ranks" mpi "$tl" 4 "$work/exchange" alltoallv
    if [[ $tl == rc_verbs ]]; then
        check "$name: windows are native" mpi_native "$tl" 2 "$work/exchange" \
            rma
    else
        check "$name: windows" mpi "$tl" 2 "$work/exchange" rma
    fi
    mpi_options=(-x UCX_PROTO_ENABLE=y)
    check "$name: new protocols: point to point" mpi "$tl" 2 \
        "$work/exchange" p2p
    mpi_options=()
}

# says TEXT COMMAND...: fails, without a crash, and says TEXT in one line.
says() {
    local text=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "succeeded: $output"
        return 1
    fi
    echo "$output"
    [[ $(grep -cE -- "$text" <<<"$output") -eq 1 ]] || {
        echo "'$text' is not said once"
        return 1
    }
    ! grep -qE 'Segmentation|Assertion|Caught signal' <<<"$output"
}

# warns TEXT COMMAND...: as says, and the command goes on to succeed.
warns() {
    local text=$1 output
    shift
    output=$("$@" 2>&1) || { echo "$output"; return 1; }
    echo "$output"
    grep -qE -- "$text" <<<"$output"
}

# The device `rails` in host0, as a program finds it.
info() {
    (in_host "$guest" host0 ucx_info -d -t fuselink) >"$work/info.log" 2>&1 \
        </dev/null
    cat "$work/info.log"
    grep -q "Device: rails" "$work/info.log"
}

# perf SIZE COUNT: two-sided, as long as both processes are there.
perf() {
    pair 13337 env LD_PRELOAD="$library" "${settings[@]}" ucx_perftest -- \
        env LD_PRELOAD="$library" "${settings[@]}" ucx_perftest \
        "$passive_address" -t tag_bw -s "$1" -n "$2" -w 1
}

rates=16,16,16,16,0,0
over rc_verbs
cases rc.uct uct 'native.alone' 'rails.connect.first_request' 'rails.am.sizes.id28' \
    'rails.fence.overlapping' 'rails.flush.under_traffic' 'shares.finish' \
    'two_ifaces'
cases rc.ucp ucp 'tag.many.*' 'am.shapes.old' 'rma.many.*' 'atomic.every.*' \
    'stream.bytes.new'
mpi_group rc_verbs rc.mpi
over ud_verbs
cases ud.uct uct 'rails.am.sizes.id28' 'rails.fence.overlapping' \
    'rails.flush.under_traffic' 'shares.finish'
cases ud.ucp ucp 'tag.many.*' 'am.shapes.old' 'rma.many.new' 'atomic.every.old'
mpi_group ud_verbs ud.mpi

# Two NICs of each kind.
rates=16,16,0,0,16,16
over rc_verbs,tcp 0,1,nic0,nic1
cases_wanted=()
cases mixed uct 'shares.finish' 'rails.fence.overlapping'

rates=16,16,16,16,0,0
for qps in 0 1; do
    over rc_verbs 0,1,2,3 UCX_FUSELINK_MAX_QPS=$qps
    cases limits uct 'rails.flush.under_traffic' 'two_ifaces'
done

if wanted wrong; then
    over rc_verbs 0,7
    check "a NIC that is not there" says "no NIC port 'rxe_h0n7:1'" info
    over rc_verbs 0,1 UCX_IB_GID_INDEX=77
    check "a GID that is not there" says "UCX_IB_GID_INDEX=77" info
    over rc_verbs,tcp 0,nic0 UCX_FUSELINK_DEVICES=all UCX_IB_GID_INDEX=77
    settings=("${settings[@]::4}") # without `rails`, which names NICs
    check "and TCP goes on" warns "UCX_IB_GID_INDEX=77" info
fi

# A cable that is out when a job starts, and in again at the next one.
plugged() {
    moving perf 1048576 8 && carried 15 "$@"
}

if wanted plugged; then
    over rc_verbs
    check "all NICs carry data" plugged 0 1 2 3
    if cluster_command nic host0 2 down && cluster_command nic host1 2 down; then
        over rc_verbs 0,1,3
        check "a NIC without a cable is left out" plugged 0 1 3
        over rc_verbs
        check "and said to be down, if it was named" says "rxe_h0n2:1" info
    fi
    cluster_command nic host0 2 up && cluster_command nic host1 2 up
    check "plugged in, it carries data again" plugged 0 1 2 3
fi

# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# fuselink on the hosts of the RDMA cluster: what the UCT and UCP programs of the
# other stages and MPI programs do over rc_verbs and over ud_verbs; hosts with
# different NICs and with NICs of both kinds; limits; cables. To be sourced by run,
# which lists the groups.

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
    (($#)) || return
    packets_before
    run_cases "$label" "$guest" host1 "$@"
    packets_after
}

# every_case GROUP PROGRAM: all that are for RDMA NICs, a few at a time because
# each call has a time limit.
every_case() {
    local label=$1 folder=$top/test/$2 name few=()
    wanted "$label" || return
    build_program "$(basename "$folder")_tests" "$folder"
    for name in $all_cases; do
        matches "$name" "${not_here[@]}" || few+=("$name")
        if ((${#few[@]} == 8)); then
            run_cases "$label" "$guest" host1 "${few[@]}"
            few=()
        fi
    done
    ((${#few[@]} == 0)) || run_cases "$label" "$guest" host1 "${few[@]}"
}

# Not for these hosts, in any group:
not_here=(
    # Within a node, where no NIC takes part.
    'node.*' 'self.*' 'poller.*' 'lanes.within_node.*' '*.self.*'
    # Settings that are wrong before any NIC is opened.
    'settings.*'
    # Other clusters: containers' bridges, sixteen NICs, two sockets, limits of
    # files for sockets, more than two processes; mixed.* has a group here.
    'bridge.*' 'many_rails.*' 'place.*' 'rails.limits.files*' 'addresses.sizes'
    'many.all_to_all.*' 'mixed.*'
    # They name TCP NICs.
    'devices.*' 'policy.*' 'rails.limits.foreign_transport'
    'rails.limits.free_registration'
    # TCP that connects endpoint to endpoint. RDMA does nothing else.
    'connect_by_ep.*' '*.by_ep' '*.connect_ep.*'
    # Forged messages, which with TCP take the place of puts and gets.
    'rails.hostile.*'
    # The NIC checks keys; one that is wrong ends its connection.
    'rails.rma.out_of_range'
    # A peer that dies or leaves is not noticed as soon as with TCP, whose
    # connections break then.
    'rails.killed.*' 'rails.left*' 'rails.leave.*' 'rails.cancelled*'
    'rails.events.failure' 'killed.*'
    # The CPU that a sleeping process uses, which this machine multiplies. UCX's
    # own rc_verbs sleeps through a message, too, with the new protocols.
    'wakeup.*'
    # Minutes here: one emulated atomic at a time.
    'atomic.contended.*'
    # Bytes at TCP NICs, and shares as exact as TCP keeps them; native.shares
    # counts those of RDMA NICs.
    'share.*' 'shares.*')

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

# mpi TRANSPORT NP PROGRAM...: on the NICs of mpi_nics.
mpi() {
    local tl=$1 np=$2
    shift 2
    FUSELINK=1 FUSELINK_LIB=$library timeout 150 "$cluster_tool" \
        --name "$(cluster_name "$guest")" mpirun -np "$np" --tune "$tune" \
        -x UCX_FUSELINK_RAIL_TLS="$tl" "${mpi_options[@]}" \
        "$here/rails" "$mpi_nics" "$@" </dev/null
}
mpi_options=() mpi_nics=0,1,2,3

# stream TRANSPORT SECONDS [SIZE WINDOW]: between two ranks, the data checked.
stream() {
    mpi "$1" 2 "$work/stream" --size "${3-1048576}" --window "${4-4}" --check 2 \
        --warmup 0 --time "$2"
}

# every_nic COMMAND...: a stream that succeeds, and each pair of NICs carries its
# share. An emulated CPU holds up now one NIC, now another, and what is held up
# gets less: a quarter of the data cannot be asked for.
every_nic() {
    moving "$@" && carried 10 0 1 2 3
}

# some_on_each COMMAND...: the same for transfers with pauses between them, many
# of them too small for four NICs.
some_on_each() {
    moving "$@" && carried 1 0 1 2 3
}

# Windows of osc/ucx with a target that is asleep, and nobody in its place: the NICs of host0 write, those
# of host1 answer reads, and next to nothing is a message. 4 MB and more each way
# are a thousand packets of 4096 bytes.
mpi_native() {
    local -a mpi_options=(-x UCX_FUSELINK_PROGRESS=caller)
    some_on_each mpi "$1" 2 "$work/exchange" asleep || return
    local nic host
    local -A packets=() messages=()
    for nic in "${!sent_packets[@]}"; do
        host=${nic%n*}
        packets[$host]=$((${packets[$host]-0} + ${sent_packets[$nic]}))
        messages[$host]=$((${messages[$host]-0} + ${sent_messages[$nic]}))
    done
    for host in h0 h1; do
        echo "$host: ${messages[$host]} messages in ${packets[$host]} packets"
        ((packets[$host] - messages[$host] > 1000 &&
            messages[$host] * 10 < packets[$host])) || return
    done
}

mpi_programs() {
    [[ ! -x $work/exchange ]] || return 0
    mpicc -O2 -o "$work/exchange" "$top/test/mpi/exchange.c" -lpthread \
        >"$work/make.log" 2>&1 && return
    not_ok "$1: exchange.c builds" "$(cat "$work/make.log")"
    return 1
}

mpi_group() {
    local tl=$1 name=$2
    wanted "$name" && mpi_programs "$name" || return
    checks "$name: a stream, data checked, every NIC carries its share" \
        every_nic stream "$tl" 1
    # Too short for two NICs: of a window each takes some.
    [[ $tl != rc_verbs ]] ||
        checks "$name: a stream of short messages, every NIC carries its share" \
            every_nic stream "$tl" 1 16384 32
    [[ $tl != rc_verbs ]] ||
        checks "$name: all to all, 4 ranks" mpi "$tl" 4 "$work/exchange" \
            alltoallv
    checks "$name: windows, data checked" mpi "$tl" 2 "$work/exchange" rma
    [[ $tl != rc_verbs ]] ||
        checks "$name: windows are the NICs' own reads and writes" \
            mpi_native "$tl"
    [[ $tl != rc_verbs ]] || new_protocols "$tl" "$name"
}

new_protocols() {
    local -a mpi_options=(-x UCX_PROTO_ENABLE=y)
    checks "$2: new protocols: point to point" some_on_each mpi "$1" 2 \
        "$work/exchange" p2p
}

# says TEXT COMMAND...: fails, without a crash, and says TEXT in one line.
says() {
    local text=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "succeeded: $output"
        return 1
    fi
    said_once "$text" "$output"
}

# warns TEXT COMMAND...: as says, and the command goes on to succeed.
warns() {
    local text=$1 output
    shift
    output=$("$@" 2>&1) || { echo "$output"; return 1; }
    said_once "$text" "$output"
}

said_once() {
    echo "$2"
    [[ $(grep -cE -- "$1" <<<"$2") -eq 1 ]] || {
        echo "'$1' is not said once"
        return 1
    }
    ! grep -qE 'Segmentation|Assertion|Caught signal' <<<"$2"
}

# The device `rails` in host0, as a program finds it.
info() {
    (in_host "$guest" host0 ucx_info -d -t fuselink) >"$work/info.log" 2>&1 \
        </dev/null
    cat "$work/info.log"
    grep -q "Device: rails" "$work/info.log" &&
        ! grep -q "failed to open" "$work/info.log"
}

# latency_below NS: that of `rails`, as UCP hears of it. UCX says 10960 ns of TCP.
latency_below() {
    info && awk -v most="$1" '
        /Device:/ { rails = $3 == "rails" }
        rails && /latency:/ { print; found = $3 > 0 && $3 < most }
        END { exit !found }' "$work/info.log"
}

# perf SIZE COUNT: two-sided, as long as both processes are there.
perf() {
    pair 13337 env LD_PRELOAD="$library" "${settings[@]}" ucx_perftest -- \
        env LD_PRELOAD="$library" "${settings[@]}" ucx_perftest \
        "$passive_address" -t tag_bw -s "$1" -n "$2" -w 1
}

rates=16,16,16,16,0,0
over rc_verbs
cases rc.uct uct 'native.*' 'rails.connect.first_request'
cases rc.more uct 'rails.events.first_message'
cases rc.ucp ucp 'tag.many.*' 'rma.many.*' 'atomic.every.*'
wanted rc.ucp && checks "rc.ucp: every NIC carries data" carried 1 0 1 2 3
mpi_group rc_verbs rc.mpi
every_case all.rc.uct uct
every_case all.rc.ucp ucp

over ud_verbs
# No queue pairs, and no memory to register.
not_here+=('native.mends' 'native.reconnects' 'native.queue_pairs.*'
    'native.registration')
cases ud.uct uct 'rails.am.sizes.id28' 'rails.flush.under_traffic'
cases ud.ucp ucp 'tag.many.new' 'rma.many.*' 'atomic.every.old'
wanted ud.ucp && check "ud.ucp: every NIC carries data" carried 1 0 1 2 3
mpi_group ud_verbs ud.mpi
every_case all.ud.uct uct
every_case all.ud.ucp ucp

# host0 has the NICs 0, 1, 2, and host1 the NICs 1, 3.
uneven() {
    local mpi_nics=0,1,2/1,3 nic
    moving stream "$1" 1 || return
    for nic in h0n0 h0n1 h0n2 h1n1 h1n3; do
        ((sent_packets[$nic] >= 100)) || return
    done
    for nic in h0n3 h1n0 h1n2; do
        ((sent_packets[$nic] <= quiet_packets)) || return
    done
}

if wanted uneven && mpi_programs uneven; then
    check "uneven: rc: 3 NICs and 2 others, data checked" uneven rc_verbs
    over rc_verbs own/1,3
    check "uneven: said once, where they were not named" \
        warns "this process has 4 rails .* and peer .* has 2 " perf 1048576 4
fi

if wanted ud.more && mpi_programs ud.more; then
    over ud_verbs
    check "ud.more: all to all, 4 ranks" mpi ud_verbs 4 "$work/exchange" alltoallv
    new_protocols ud_verbs ud.more
    check "ud.more: 3 NICs and 2 others, data checked" uneven ud_verbs
fi

# What arrives at a NIC comes later, by now this, now that, each NIC by another time;
# a time that shrinks changes the order, too.
begin_delays() {
    on host0 nsenter -t 1 -n bash -c '
        for dev in port_h{0,1}n{0..3}; do
            handle=$(tc qdisc show dev $dev | awk "\$2 == \"tbf\" { print \$3 }")
            tc qdisc replace dev $dev parent ${handle}1 handle 9: \
                netem limit 20000 delay 1ms || exit
        done' || return
    (exec_in "$guest" host0 nsenter -t 1 -n bash -c '
        times=(0 40 5 20)
        for ((turn = 0;; turn++)); do
            for dev in port_h{0,1}n{0..3}; do
                tc qdisc change dev $dev handle 9: netem limit 20000 \
                    delay ${times[(turn + ${dev: -1}) % 4]}ms
            done
            sleep 0.3
        done' </dev/null >/dev/null 2>&1) &
    changer=$!
}

# Fails if less than 100 packets were held up anywhere.
end_delays() {
    kill "$changer"
    wait "$changer" 2>/dev/null
    on host0 nsenter -t 1 -n bash -c '
        status=0
        for dev in port_h{0,1}n{0..3}; do
            count=$(tc -s qdisc show dev $dev |
                awk "/^qdisc netem/ { on = 1 } on && /Sent/ { print \$4; exit }")
            ((count >= 100)) || { echo "$dev: $count packets"; status=1; }
            # As it was. Without any a tbf drops everything.
            tc qdisc replace dev $dev parent "$(tc qdisc show dev $dev |
                awk "\$2 == \"tbf\" { print \$3 }")1" bfifo limit 16777216 ||
                exit
        done
        exit $status'
}

# Rails whose latencies differ, and change: what a fence and a flush say holds.
delayed() {
    local group=$1 tl=$2
    wanted "$group" || return
    over "$tl"
    if ! begin_delays; then
        not_ok "$group: packets come late"
        return
    fi
    cases "$group" uct 'rails.fence.overlapping' 'rails.flush.under_traffic'
    cases "$group" ucp 'atomic.every.old'
    check "$group: packets of every NIC came late" end_delays
}

delayed delayed rc_verbs
delayed ud.delayed ud_verbs

# Short messages are sent by RDMA NICs, whichever rails a peer's turn begins with.
messages_by_rdma() {
    local nic sum tries
    for tries in 1 2 3; do
        moving perf 64 500 || return
        sum=0
        for nic in "${!sent_messages[@]}"; do
            sum=$((sum + ${sent_messages[$nic]}))
        done
        ((sum >= 500)) || { echo "$sum messages by RDMA"; return 1; }
    done
}

# shows TEXT... -- COMMAND...: fuselink_info, started with COMMAND in host0, prints
# lines that match.
shows() {
    local texts=() text
    while [[ $1 != -- ]]; do
        texts+=("$1")
        shift
    done
    shift
    (in_host "$guest" host0 "$@" "$build/src/tools/fuselink_info") \
        >"$work/info.log" 2>&1 </dev/null
    cat "$work/info.log"
    for text in "${texts[@]}"; do
        grep -qE -- "$text" "$work/info.log" ||
            { echo "no '$text'"; return 1; }
    done
}

cases_wanted=() # of the groups above
if wanted mixed; then
    over all own
    check "mixed: by itself: TCP NICs as fast as RDMA NICs, not a slow one" \
        shows '^ +0 +rxe_h0n0:1 +rc_verbs' '^ +4 +nic0 +tcp' '^ +5 +nic1 +tcp' \
        '^mgmt0 +far slower' '^Messages of a peer take one RDMA rail' --
    # Where the interface of an RDMA NIC is seen.
    over all all
    check "mixed: by itself: a NIC's RDMA port, and not its interface as well" \
        shows '^ +0 +rxe_h0n0:1 +rc_verbs' \
        '^rdma_h0n0 +an RDMA port of the same NIC is used' -- nsenter -t 1 -n -m
fi

# Two NICs of each kind.
rates=16,16,0,0,16,16
over rc_verbs,tcp 0,1,nic0,nic1
cases mixed uct 'mixed.*'
wanted mixed && checks "mixed: messages go by RDMA" messages_by_rdma
wanted mixed && check "mixed: UCX is told their latency" latency_below 10000

rates=16,16,16,16,0,0
for qps in 0 1; do
    over rc_verbs 0,1,2,3 UCX_FUSELINK_MAX_QPS=$qps
    cases limits uct 'rails.flush.under_traffic' 'two_ifaces'
done

if wanted wrong; then
    . "$here/wrong.sh"
fi

# A cable that is out when a job starts, and in again at the next one.
plugged() {
    moving perf 1048576 8 && carried 10 "$@"
}

# Out for seconds while the NIC carries data, and in again: packets are sent once
# more, and nothing is lost.
flap() {
    local tl=$1 before status cable
    before=$(sent_by h0n2)
    (
        eventually moved_since h0n2 "$before" 300 || exit
        cluster_command nic host0 2 down && sleep 1
        cluster_command nic host0 2 up
    ) </dev/null &
    cable=$!
    moving stream "$tl" 5
    status=$?
    wait $cable && ((status == 0)) && carried 10 0 1 2 3
}

sent_by() {
    on host0 cat "/sys/class/infiniband/rxe_$1/ports/1/hw_counters/sent_pkts"
}

moved_since() {
    (($(sent_by "$1") - $2 > $3))
}

# Messages that each NIC of host0 has sent, and its number.
messages_of_nics() {
    on host0 sh -c 'cd /sys/class/infiniband && for nic in rxe_h0n*; do
        echo "${nic#rxe_h0n} $(cat "$nic/ports/1/hw_counters/rdma_sends")"
    done'
}

# spare_nic BEFORE: the NIC of host0 with the fewest messages since BEFORE, what
# messages_of_nics said then: not that of the lane for them, whose loss ends the
# connection. MPI's messages are on one NIC.
spare_nic() {
    (echo "$1" && messages_of_nics) | awk '
        $1 in before { print $2 - before[$1], $1 }
        { before[$1] = $2 }' | sort -n | awk 'NR == 1 { print $2 }'
}

# Out for longer than the NIC retries: its queue pairs fail, the others carry the
# data, and when it is in again they are made anew.
torn() {
    local before messages status cable nic line
    local -a mpi_options=(-x UCX_RC_TIMEOUT=0.5s -x UCX_RC_RETRY_COUNT=2)
    before=$(sent_by h0n2) messages=$(messages_of_nics)
    rm -f "$work"/torn.*
    (
        eventually moved_since h0n2 "$before" 300 || exit
        nic=$(spare_nic "$messages")
        echo "$nic" >"$work/torn.nic"
        cluster_command nic host0 "$nic" down && sleep 6
        cluster_command nic host0 "$nic" up
        before=$(sent_by "h0n$nic")
        eventually moved_since "h0n$nic" "$before" 300 && : >"$work/torn.again"
    ) </dev/null >"$work/torn.log" 2>&1 &
    cable=$!
    stream rc_verbs 45 >"$work/torn.out" 2>&1
    status=$?
    wait $cable
    cat "$work/torn.out" "$work/torn.log"
    ((status == 0)) || return
    [[ -e $work/torn.again ]] || { echo "the NIC is not used again"; return 1; }
    nic=$(<"$work/torn.nic")
    line="rail rc_verbs/rxe_h0n$nic:1 to rc_verbs/rxe_h1n$nic:1 of peer .* has failed"
    [[ $(grep -c "$line" "$work/torn.out") -eq 1 ]] || {
        echo "'$line' is not said once"
        return 1
    }
}

if wanted plugged; then
    if cluster_command nic host0 2 down && cluster_command nic host1 2 down; then
        over rc_verbs 0,1,3
        check "plugged: a NIC without a cable is left out" plugged 0 1 3
        over rc_verbs
        check "plugged: and said to be down, if it was named" \
            says "rxe_h0n2:1" info
    fi
    cluster_command nic host0 2 up && cluster_command nic host1 2 up
    check "plugged: with its cable, it carries data again" plugged 0 1 2 3
    mpi_programs plugged &&
        check "plugged: rc: out for a second in a job" flap rc_verbs
fi
if wanted torn && mpi_programs torn; then
    check "torn: rc: out until its queue pairs fail, in again" torn
fi
# cut_off HOW BACK LINE...: a NIC is cut in that way for some seconds: found by fuselink
# long before its NIC would give up, if that ever does; and used again. The lines are said,
# with N for the number of the NIC.
cut_off() {
    local how=$1 back=$2 before status cable nic line
    local -a mpi_options=(-x NICS_WAIT=briefly)
    shift 2
    before=$(sent_by h0n2)
    rm -f "$work"/cut.*
    (
        eventually moved_since h0n2 "$before" 300 || exit
        nic=$((RANDOM % 4))
        echo "$nic" >"$work/cut.nic"
        cluster_command nic host0 "$nic" "$how" && sleep 3
        cluster_command nic host0 "$nic" "$back"
    ) </dev/null >"$work/cut.log" 2>&1 &
    cable=$!
    stream rc_verbs 25 >"$work/cut.out" 2>&1
    status=$?
    wait $cable
    cat "$work/cut.out" "$work/cut.log"
    ((status == 0)) || return
    nic=$(<"$work/cut.nic")
    for line; do
        grep -q "rail rc_verbs/rxe_${line//N/$nic}" "$work/cut.out" || {
            echo "'$line' is not said"
            return 1
        }
    done
}

if wanted silent && mpi_programs silent; then
    # One end finds it. It is said to carry data again when some has arrived.
    checks "silent: rc: cut in the switch, speaking again" cut_off silent speaking \
        "h.nN:1 .*has failed (Endpoint timeout)" "h.nN:1 .*carries data again"
    # Its own host asks the port, also if the other one waits.
    checks "silent: rc: its cable is out, in again" cut_off down up \
        "h0nN:1 has lost its link" "h0nN:1 has a link again"
fi
if wanted ud.plugged && mpi_programs ud.plugged; then
    check "ud.plugged: out for a second in a job" flap ud_verbs
fi

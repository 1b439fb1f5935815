# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Jobs whose NICs are cut while they move data, which they check. Sourced by run,
# which has cluster and work; the cluster in use has 4 NICs in each of 2 hosts.

# Only a hang takes so long.
stream_limit=90
stream=

# start_stream [OPTION...]: of contrib/bench/src/failure.c, in the background, until
# end_stream. Succeeds when every NIC, or each of $starts_with, has carried a part of it: a
# NIC that has no connection yet has nothing to lose.
start_stream() {
    local np=2 nic all=${starts_with:-nic0 nic1 nic2 nic3}
    local -A before
    for nic in $all; do
        before[$nic]=$(received $nic)
    done
    [[ ${1-} != --alltoallv ]] || np=8
    rm -f "$work/orders"
    mkfifo "$work/orders" || return
    exec 8<>"$work/orders"
    timeout 400 "$cluster" mpirun -np "$np" "$work/failure" "$@" \
        nic0 nic1 nic2 nic3 <"$work/orders" >"$work/stream.out" \
        2>"$work/stream.err" 8>&- &
    stream=$!
    for nic in $all; do
        stream_until "$nic carries nothing" carries $nic "${before[$nic]}" ||
            return
    done
}

# The job ends well, with all data right. UCX itself may call it an error that a dead
# NIC does not connect again.
end_stream() {
    local status
    [[ -n $stream ]] || return 0
    echo q >&8
    stream_until "the job does not end" eval '! kill -0 $stream 2>/dev/null' ||
        kill "$stream" 2>/dev/null
    wait "$stream"
    status=$?
    stream=
    exec 8>&-
    cat "$work/stream.err"
    echo "exit status $status"
    ((status == 0)) && grep -q '^BENCH-END$' "$work/stream.out" &&
        ! grep -E 'MPI_ERR|An error occurred|Caught signal|Assertion' \
            "$work/stream.err"
}

# stream_until COMPLAINT COMMAND...: COMMAND succeeds in the end.
stream_until() {
    local complaint=$1 begun=$SECONDS
    shift
    until "$@"; do
        if ((SECONDS - begun > stream_limit)); then
            echo "$complaint for $stream_limit s"
            return 1
        fi
        sleep 0.1
    done
}

# Bytes that have come so far, as the receiving program sees it.
arrived() {
    awk '/^BENCH-AT [0-9.]+ [0-9]+$/ { n = $3 } END { printf "%.0f\n", n }' \
        "$work/stream.out"
}

arrived_more() {
    (($(arrived) >= $1)) || ! kill -0 "$stream" 2>/dev/null
}

# moves MB: so much more arrives.
moves() {
    local goal=$(($(arrived) + $1 * 1000000))
    stream_until "data stands still" arrived_more "$goal" || return
    kill -0 "$stream" 2>/dev/null || { echo "the job has ended"; return 1; }
}

# received NIC: bytes of both hosts.
received() {
    "$cluster" counters | awk -v nic="$1" '$2 == nic { n += $4 } END { printf "%.0f\n", n }'
}

# carried_by MB NIC...: while so much arrives, these NICs carry it, each at least half
# of an equal share, and the others nothing.
carried_by() {
    local mb=$1 nic total=0 wrong=
    local -A before moved
    shift
    for nic in nic0 nic1 nic2 nic3; do
        before[$nic]=$(received $nic)
    done
    moves "$mb" || return
    for nic in nic0 nic1 nic2 nic3; do
        moved[$nic]=$(($(received $nic) - before[$nic]))
        echo "$nic received ${moved[$nic]} bytes"
        ((total += moved[$nic]))
    done
    for nic in nic0 nic1 nic2 nic3; do
        if [[ " $* " == *" $nic "* ]]; then
            ((moved[$nic] * 2 * $# >= total)) || wrong+=" $nic: too little."
        else
            ((moved[$nic] * 1000 < total)) || wrong+=" $nic has no cable."
        fi
    done
    [[ -z $wrong ]] || { echo "$wrong"; return 1; }
}

# carries NIC BYTES: it has received four megabytes more.
carries() {
    (($(received "$1") > $2 + 4000000))
}

# plug ACTION HOST NIC: and wait until it carries data again.
plug() {
    "$cluster" nic "$2" "$3" "$1" || return
    stream_until "$3 carries nothing" carries "$3" "$(received "$3")"
}

cable_silent() {
    start_stream "$@" && "$cluster" nic host0 2 silent && moves 10 &&
        carried_by 50 nic0 nic1 nic3 && plug speaking host0 nic2
    local status=$?
    "$cluster" nic host0 2 speaking
    end_stream && return "$status"
}

cables_three() {
    start_stream && "$cluster" nic host0 0 silent && moves 10 &&
        carried_by 30 nic1 nic2 nic3 && "$cluster" nic host1 1 down &&
        moves 10 && carried_by 30 nic2 nic3 &&
        "$cluster" nic host0 2 silent && moves 10 && carried_by 30 nic3 &&
        plug up host1 nic1 && plug speaking host0 nic0 &&
        plug speaking host0 nic2 && carried_by 50 nic0 nic1 nic2 nic3
    local status=$?
    printf '%s\n' "host0 0 speaking" "host1 1 up" "host0 2 speaking" |
        "$cluster" nic - >/dev/null
    end_stream && return "$status"
}

# A NIC without a cable when the job starts is used when it has one.
cables_late() {
    "$cluster" nic host0 2 down && starts_with="nic0 nic1 nic3" start_stream "$@" &&
        carried_by 30 nic0 nic1 nic3 && plug up host0 nic2 &&
        carried_by 50 nic0 nic1 nic2 nic3
    local status=$?
    "$cluster" nic host0 2 up
    end_stream && return "$status"
}

# kernels_ask_after SECONDS: before a kernel asks again where another host is, or whether
# it is there yet. 1 is the default.
kernels_ask_after() {
    local host
    for host in host0 host1; do
        "$cluster" exec "$host" sh -c "
            for nic in nic0 nic1 nic2 nic3; do
                cd /proc/sys/net/ipv4/neigh/\$nic &&
                    echo $(($1 * 1000)) >retrans_time_ms &&
                    echo $(($1 * 5)) >delay_first_probe_time &&
                    echo $(($1 * 30000)) >base_reachable_time_ms || exit
            done" || return
    done
}

# A cable is pulled at the host that sends: its kernel writes on for a moment, and asks then
# where the other host is, in vain and not again before the test is over. So the others tell
# it when the cable is back.
cables_out_for_a_moment() {
    local nic host status=0
    kernels_ask_after 600 && start_stream --alltoallv --size 65536 || status=1
    for nic in 1 2 3; do
        ((status == 0)) || break
        "$cluster" nic host0 $nic down && moves 20 && plug up host0 nic$nic || status=1
        "$cluster" nic host0 $nic up
    done
    ((status != 0)) || carried_by 50 nic0 nic1 nic2 nic3 || status=1
    kernels_ask_after 1
    for host in host0 host1; do # what asks goes by how it was when that began
        "$cluster" exec "$host" ip neighbor flush nud incomplete nud failed >/dev/null 2>&1
    done
    end_stream && return "$status"
}

# Whichever has the messages at first: it is cut, or was cut before it got them.
cables_in_turn() {
    local nic status=0
    start_stream || status=1
    for nic in 0 1 2 3; do
        ((status == 0)) || break
        case $nic in
        [02])
            "$cluster" nic host0 $nic silent && moves 30 &&
                plug speaking host0 nic$nic
            ;;
        *)
            "$cluster" nic host0 $nic down && moves 30 &&
                plug up host0 nic$nic
            ;;
        esac || status=1
        "$cluster" nic host0 $nic up && "$cluster" nic host0 $nic speaking
    done
    end_stream && return "$status"
}

# Each process has many connections then, and any of them may be what the others wait
# for.
cables_silent_in_turn() {
    local nic status=0
    start_stream --alltoallv --size 65536 || status=1
    for nic in 0 1 2 3; do
        ((status == 0)) || break
        "$cluster" nic host$((nic % 2)) $nic silent && moves 20 &&
            plug speaking host$((nic % 2)) nic$nic || status=1
        "$cluster" nic host$((nic % 2)) $nic speaking
    done
    end_stream && return "$status"
}

# As if it was taken away, and put in again.
cable_without_address() {
    local address status
    address=$("$cluster" exec host0 ip -4 -o address show dev nic2 |
        awk '{ print $4 }')
    echo "nic2 of host0 has $address"
    start_stream && "$cluster" exec host0 ip address del "$address" dev nic2 &&
        moves 10 && carried_by 30 nic0 nic1 nic3 &&
        "$cluster" exec host0 ip address add "$address" dev nic2 &&
        stream_until "nic2 carries nothing" carries nic2 "$(received nic2)"
    status=$?
    "$cluster" exec host0 ip address add "$address" dev nic2 2>/dev/null
    end_stream && return "$status"
}

# has_said TEXT: the job. UCX writes to standard output.
has_said() {
    grep -qF -- "$1" "$work/stream.out" "$work/stream.err"
}

# never_said TEXT: not until now.
never_said() {
    ! has_said "$1" || { echo "'$1' was said too early"; return 1; }
}

# says TEXT: now or soon.
says() {
    stream_until "nothing says '$1'" has_said "$1"
}

# None is given up: it looks as if the other host was stopped.
cables_all_silent() {
    start_stream && printf 'host0 %d silent\n' 0 1 2 3 | "$cluster" nic - &&
        says "nothing has come from peer" && never_said "is heard again" &&
        printf 'host0 %d speaking\n' 0 1 2 3 | "$cluster" nic - &&
        says "is heard again" && moves 10 && carried_by 50 nic0 nic1 nic2 nic3
    local status=$?
    printf 'host0 %d speaking\n' 0 1 2 3 | "$cluster" nic - >/dev/null
    end_stream && return "$status"
}

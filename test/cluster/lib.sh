# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# What the tests share. run sets CLUSTER, TEST_DIR, TEST_TMP and TEST_NAME.

set -u -o pipefail

fail() {
    echo "$*"
    exit 1
}

skip() {
    echo "$*"
    exit 77
}

# The clusters of a test are NAME, or NAME-SUFFIX; all are removed at its end.
use_cluster() {
    cluster_name=$TEST_NAME-$(basename -- "$0" .test)${1:+-$1}
    export FUSELINK_CLUSTER_NAME=$cluster_name
}

cluster_up() {
    "$CLUSTER" up "$@" || fail "up $* failed with $?"
}

remove_clusters() {
    local name mine
    mine=$TEST_NAME-$(basename -- "$0" .test)
    for name in $("$CLUSTER" list | sed -n "s/^\($mine[^:]*\):.*/\1/p"); do
        "$CLUSTER" down --name "$name"
    done
}
use_cluster
trap remove_clusters EXIT

# Runs a command that has to fail with STATUS and one line on standard error,
# which has to contain every TEXT.
# usage: expect_error STATUS TEXT... -- COMMAND...
expect_error() {
    local status=$1 texts=() text message got
    shift
    while [[ $1 != -- ]]; do
        texts+=("$1")
        shift
    done
    shift
    message=$("$@" 2>&1 >/dev/null)
    got=$?
    [[ $got -eq $status ]] || fail "'$*': exit status $got, not $status: $message"
    [[ -n $message && $message != *$'\n'* ]] ||
        fail "'$*': not one line of error: $message"
    for text in "${texts[@]}"; do
        [[ $message == *"$text"* ]] || fail "'$*': no '$text' in: $message"
    done
}

# Fails unless the output of the command has a line that matches PATTERN.
# usage: expect_output PATTERN COMMAND...
expect_output() {
    local output pattern=$1
    shift
    output=$("$@") || fail "'$*' failed: $output"
    grep -qE -- "$pattern" <<<"$output" || fail "'$*': no '$pattern' in: $output"
}

# Prints the payload rate in bit/s of one TCP stream once it is steady.
# usage: tcp_rate FROM_HOST TO_HOST NIC [SECONDS]
tcp_rate() {
    tcp_rates "$@" | cut -d' ' -f1
}

# ... and over all, its start included, as a second number.
tcp_rates() {
    local address=10.0.$3.$(($2 + 1)) output=$TEST_TMP/stream.$1.$2.$3 tries
    : >"$output"
    timeout 20 "$CLUSTER" exec "$2" "$TEST_DIR/tcpstream" receive "$address" \
        7000 >"$output" &
    for ((tries = 0; tries < 200; tries++)); do
        grep -q listening "$output" && break
        sleep 0.02
    done
    timeout 20 "$CLUSTER" exec "$1" "$TEST_DIR/tcpstream" send "$address" \
        7000 "${4:-1}"
    wait $!
    tail -n 1 "$output"
}

# Succeeds when BITS is 93 to 103 % of EXPECTED_BITS, and when it is less:
# says so and returns 1. More is never by chance.
# usage: rate_fits WHAT BITS EXPECTED_BITS
rate_fits() {
    [[ $2 =~ ^[0-9]+$ ]] || fail "$1: no rate measured: $2"
    echo "$1: $2 bit/s of $3"
    [[ $(($2 * 100)) -le $(($3 * 103)) ]] ||
        fail "$1: $2 bit/s is more than 103 % of $3"
    [[ $(($2 * 100)) -ge $(($3 * 93)) ]]
}

# Tries COMMAND until it succeeds: a machine that has more to do than this, or
# stands still for a moment, makes a stream slow, but not each time.
# usage: in_five_tries COMMAND [ARGUMENT...]
in_five_tries() {
    local tries
    for ((tries = 0; tries < 5; tries++)); do
        "$@" && return
    done
    fail "'$*': too slow each time"
}

stream_fits() {
    rate_fits "nic$3, host$1 to host$2" "$(tcp_rate "$1" "$2" "$3")" "$4"
}
# usage: expect_rate FROM_HOST TO_HOST NIC EXPECTED_BITS; within 93 to 103 %
expect_rate() {
    in_five_tries stream_fits "$@"
}

# Bytes sent by NIC of HOST.
# usage: nic_tx HOST NIC
nic_tx() {
    "$CLUSTER" counters | awk -v h="host$1" -v n="$2" \
        '$1 == h && $2 == n { print $6; found = 1 } END { exit !found }'
}

need_python() {
    [[ -x /usr/bin/python3 ]] || skip "needs the Debian package python3"
}

need_mpi() {
    local package
    command -v mpirun >/dev/null || package=openmpi-bin
    command -v mpicc >/dev/null || package=libopenmpi-dev
    [[ -z ${package-} ]] || skip "needs the Debian package $package"
}

# Sets stream to the program built from stream.c.
build_stream() {
    need_mpi
    stream=$TEST_TMP/stream
    [[ -x $stream ]] && return
    mpicc -O2 -Wall -Wextra -o "$stream.new" "$TEST_DIR/stream.c" &&
        mv "$stream.new" "$stream" || fail "cannot build stream.c"
}

# Succeeds when the command does within 10 seconds.
eventually() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}

# Starts a process of the current cluster that only its end removes; the
# number in its command line tells it from those of other runs.
# usage: start_sleeper HOST [WRAPPER...]
start_sleeper() {
    "$CLUSTER" exec "$1" "${@:2}" sleep "600.$$" &
    disown
}

sleepers_are() {
    [[ $(pgrep -cxf "sleep 600.$$") -eq $1 ]]
}

# Fails when anything of the current cluster is left: its state directory, a
# process, or a mount. The NICs and namespaces are gone with the processes.
expect_nothing_left() {
    local left
    left=$("$CLUSTER" list | grep "^$cluster_name:")
    [[ -z $left ]] || fail "still listed: $left"
    left=$(pgrep -af "^fuselink-cluster $cluster_name ")
    [[ -z $left ]] || fail "holders left: $left"
    sleepers_are 0 || fail "processes left: $(pgrep -xf "sleep 600.$$" | xargs)"
    left=$(grep -lF "/$cluster_name/" /proc/[0-9]*/mountinfo 2>/dev/null)
    [[ -z $left ]] || fail "mounts left: $left"
    left=$(grep -lF "/$cluster_name/" /proc/[0-9]*/environ 2>/dev/null)
    [[ -z $left ]] || fail "processes left: $left"
}

# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# What a stage of contrib/check prints: a line for each test and a total. To be
# sourced by bash:
#
#     . "$(dirname "$0")/../lib/report.sh"
#     check "two rails share a stream" test_two_rails    # a function or command
#     skip "sixteen rails" "needs 16 cores"
#     finish

report_passed=0 report_failed=0 report_skipped=0
report_left_out=0 # for other runs, see representative.sh

ok() {
    report_passed=$((report_passed + 1))
    echo "ok - $1"
}

# not_ok NAME [WHY]: WHY may have several lines.
not_ok() {
    report_failed=$((report_failed + 1))
    echo "not ok - $1"
    [ -z "${2-}" ] || echo "$2" | sed 's/^/  # /'
}

skip() {
    report_skipped=$((report_skipped + 1))
    echo "skip - $1: $2"
}

# check NAME COMMAND...: ok if COMMAND succeeds; otherwise what it printed is
# shown, but for the beginning of very long output.
check() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        ok "$name"
    else
        not_ok "$name" "$(echo "$output" | tail -n 30)"
    fi
}

# gtest_program LABEL COMMAND...: a result for each test of a GoogleTest program, as it
# comes, named LABEL and its own name, and what it printed if it did not end well.
gtest_program() {
    local label=$1 log status result name why before=$report_failed
    shift
    log=$(mktemp) || return
    # The lines with a time are the results; those of the summary have none.
    while IFS=$'\t' read -r result name why; do
        "$result" "$label$name" "$why"
    done < <(set -o pipefail; "$@" 2>&1 | tee "$log" | awk -v OFS='\t' '
        /^\[ RUN      \]/ { why = "" }
        reason { why = $0; reason = 0 }
        /: Skipped$/ { reason = 1 }
        !/^\[.*\] .*\([0-9]+ ms\)$/ { next }
        { name = substr($0, 14); sub(/ \([0-9]+ ms\)$/, "", name) }
        /^\[       OK \]/ { print "ok", name }
        /^\[  FAILED  \]/ { print "not_ok", name }
        /^\[  SKIPPED \]/ { print "skip", name, why }
        { fflush() }')
    wait $!
    status=$?
    ((status == 0)) || {
        grep -vE '^\[( RUN |       OK|-------)' "$log" | tail -n 60
        ((report_failed > before)) ||
            not_ok "${label}${*: -1} ends well" \
                "status $status, $(grep '^\[ RUN ' "$log" | tail -n 1)"
    }
    rm -f "$log"
}

# Print the total and exit.
finish() {
    [ "$report_left_out" -eq 0 ] ||
        echo "# contrib/check --all has $report_left_out tests more"
    echo "$report_passed passed, $report_failed failed, $report_skipped skipped"
    [ "$report_failed" -eq 0 ]
    exit
}

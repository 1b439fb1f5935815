# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Clusters of a test run, and what its programs report. To be sourced by a
# script that has sourced report.sh; `top` is the source folder.

cluster_tool=$top/contrib/cluster
# Names have the run's process in them, so that runs do not meet; those of a
# run that was killed are taken down by the next one.
cluster_prefix=test-$(basename "$here")

cluster_name() {
    echo "$cluster_prefix-$1-$$"
}

# cluster_up LABEL ARGUMENT...: a test that fails if the cluster does not come.
cluster_up() {
    local label=$1 output
    shift
    if output=$("$cluster_tool" --name "$(cluster_name "$label")" up "$@" 2>&1)
    then
        return 0
    fi
    not_ok "$label: the cluster comes up" "$output"
    return 1
}

cluster_down() {
    "$cluster_tool" --name "$(cluster_name "$1")" down
}

# exec_in LABEL HOST COMMAND...: becomes the command, so that a signal to what
# is run in the background reaches it.
exec_in() {
    local label=$1 host=$2
    shift 2
    exec "$cluster_tool" --name "$(cluster_name "$label")" exec "$host" "$@"
}

# The management address of HOST.
cluster_address() {
    echo "10.0.255.$((${1#host} + 1))"
}

# Takes down the clusters of this run, and of runs that are no more.
clean_clusters() {
    local name pid
    for name in $("$cluster_tool" list 2>/dev/null | sed 's/:.*//'); do
        [[ $name =~ ^$cluster_prefix-.*-([0-9]+)$ ]] || continue
        pid=${BASH_REMATCH[1]}
        if [[ $pid == "$$" || ! -e /proc/$pid ]]; then
            "$cluster_tool" --name "$name" down
        fi
    done
}

# The tests' own settings are all there are.
clean_caller_settings() {
    local name
    for name in $(compgen -e); do
        [[ $name != UCX_* ]] || unset "$name"
    done
}

# take_results LABEL LOG STATUS: the lines of a program's log as this run's.
take_results() {
    local label=$1 log=$2 status=$3 line failures=$report_failed
    while IFS= read -r line; do
        case $line in
            'ok - '*) report_passed=$((report_passed + 1)) ;;
            'not ok - '*) report_failed=$((report_failed + 1)) ;;
            'skip - '*) report_skipped=$((report_skipped + 1)) ;;
        esac
        echo "$line"
    done < <(sed -E "s/^(ok|not ok|skip) - /&$label: /" "$log")
    if [[ $status -gt 1 || ($status -eq 1 && $report_failed -eq $failures) ]]
    then
        case $status in
            124) not_ok "$label: done in time" ;;
            *) not_ok "$label: the program ends well" "status $status" ;;
        esac
    fi
}

trap clean_clusters EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
clean_clusters

# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Cases of a C++ test program (harness/case.h) on the hosts of a cluster. To be
# sourced after report.sh and clusters.sh by a script, usually in the program's
# folder; `wanted` holds the patterns that its user gave.
#
# FUSELINK_BUILD is the folder of a finished build; FUSELINK_LIB the library,
# if not the one built there.

. "$top/test/lib/representative.sh"

build=${FUSELINK_BUILD:?is the folder of a finished build}
build=$(cd "$build" && pwd)
library=${FUSELINK_LIB:-$build/src/uct/fuselink/.libs/libuct_fuselink.so.0}
host_settings=(UCX_FUSELINK_DEVICES=^mgmt0) # what a host's processes need
settings=() # of every process, NAME=VALUE; a script may add some
active_settings=() passive_settings=() # of one side only
rates= # of the NICs of the cluster in use, "400,40"

# build_program NAME [FOLDER]: sets program, and all_cases. The program's source
# is in FOLDER, the script's own if there is none.
build_program() {
    local folder=${2:-$here}
    logs=$build/test-$(basename "$folder")
    program=$logs/$1
    mkdir -p "$logs"
    if ! make -C "$logs" -f "$folder/Makefile" -j "$(nproc)" BUILD="$build" \
        >"$logs/make.log" 2>&1; then
        not_ok "the test program $1 builds" "$(tail -n 20 "$logs/make.log")"
        finish
    fi
    all_cases=$("$program" list)
}

# run_cases LABEL CLUSTER HOSTS PATTERN...: cases with the active process in
# host0 and a passive one in each of HOSTS, host1,host2. A host that occurs more
# than once has as many processes.
run_cases() {
    local label=$1 cluster=$2 hosts host address addresses= port=7400
    local servers=() server status
    IFS=, read -ra hosts <<<"$3"
    shift 3
    select_cases "$label" "$@"
    report_left_out=$((report_left_out + cases_left_out))
    ((${#cases[@]})) || return
    for host in "${hosts[@]}"; do
        address=$(cluster_address "$host"):$port
        in_host "$cluster" "$host" "${passive_settings[@]}" \
            "$program" serve "$address" &
        servers+=($!)
        addresses+=${addresses:+,}$address
        port=$((port + 2))
    done
    (in_host "$cluster" host0 "${active_settings[@]}" \
        "$program" run "$addresses" "${cases[@]}" >"$logs/$label.log" 2>&1)
    status=$?
    for server in "${servers[@]}"; do
        kill "$server" 2>/dev/null
        wait "$server" 2>/dev/null
    done
    take_results "$label" "$logs/$label.log" "$status"
}

# in_host CLUSTER HOST [NAME=VALUE]... PROGRAM...: becomes the program, as
# exec_in does.
in_host() {
    local cluster=$1 host=$2
    shift 2
    exec_in "$cluster" "$host" timeout 280 env LD_PRELOAD="$library" \
        NIC_RATES="$rates" UCX_VFS_ENABLE=n "${host_settings[@]}" \
        "${settings[@]}" "$@"
}

# select_cases LABEL PATTERN...: sets cases to what is there, wanted, and to be run
# on this cluster, and cases_left_out to how many are not.
select_cases() {
    local label=$1 name
    shift
    cases=() cases_left_out=0
    for name in $all_cases; do
        matches "$name" "$@" || continue
        is_wanted "$name" || continue
        if is_representative "$label: $name"; then
            cases+=("$name")
        else
            ((++cases_left_out))
        fi
    done
    ((${#cases[@]}))
}

# have_cases LABEL PATTERN...: whether a cluster for these is worth raising.
have_cases() {
    local cases cases_left_out
    select_cases "$@"
}

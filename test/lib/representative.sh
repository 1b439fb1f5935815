# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Tests that stand for others. To be sourced after report.sh by a script whose
# folder is `here`; `wanted` holds the patterns that its user gave.
#
# contrib/check without --all (FUSELINK_CHECK=representative) runs of a stage those
# that representative.list in its folder names: patterns of names, one a line, with
# the reason above. Who runs the script by hand gets all, or what he asks for.
representative=()
if [[ ${FUSELINK_CHECK-} == representative && -e $here/representative.list ]]
then
    mapfile -t representative < <(sed 's/#.*//; s/ *$//; /^$/d' \
        "$here/representative.list")
fi
declare -A representative_used=()

# is_representative NAME: whether the test of this name, as it is printed, is to
# be run.
is_representative() {
    local pattern
    ((${#representative[@]} && ${#wanted[@]} == 0)) || return 0
    for pattern in "${representative[@]}"; do
        # shellcheck disable=SC2053
        if [[ $1 == $pattern ]]; then
            representative_used[$pattern]=yes
            return 0
        fi
    done
    return 1
}

# leave_out: one that is not.
leave_out() {
    report_left_out=$((report_left_out + 1))
}

# is_wanted NAME: the user gave no pattern, or one that matches.
is_wanted() {
    ((${#wanted[@]} == 0)) || matches "$1" "${wanted[@]}"
}

# checks NAME COMMAND...: check, if the name is wanted and to be run.
checks() {
    is_wanted "$1" || return 0
    if is_representative "$1"; then
        check "$@"
    else
        leave_out
    fi
}

matches() {
    local name=$1 pattern
    shift
    for pattern; do
        # shellcheck disable=SC2053
        [[ $name != $pattern ]] || return 0
    done
    return 1
}

# check_representative: a line of the list that names no test any more would hide
# that nothing of its kind is run. For those who end with all their tests selected.
check_representative() {
    local pattern
    ((${#representative[@]} && ${#wanted[@]} == 0)) || return 0
    for pattern in "${representative[@]}"; do
        [[ -n ${representative_used[$pattern]-} ]] ||
            not_ok "representative.list: '$pattern' is a test"
    done
}

# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Building the project, for the scripts of contrib. To be sourced by bash, with
# `top` set to the top folder and `build` to the build folder, which has log/.

# logged FILE COMMAND...: run with all output in FILE; on failure show its end.
logged() {
    local file=$1
    shift
    "$@" >"$file" 2>&1 </dev/null && return
    tail -n 30 "$file" | sed 's/^/    /'
    echo "    full log: $file"
    return 1
}

# find_ucx_source: set ucx_source to the source tree of the installed UCX, the
# one that FUSELINK_UCX_SOURCE names or one that apt has. Exported for whatever
# configures once more.
find_ucx_source() {
    ucx_source=${FUSELINK_UCX_SOURCE-}
    if [[ -z $ucx_source ]]; then
        ucx_source=$("$top/contrib/get-ucx-source" \
            2>"$build/log/get-ucx-source.log") || {
            tail -n 1 "$build/log/get-ucx-source.log" >&2
            return 1
        }
    fi
    export FUSELINK_UCX_SOURCE=$ucx_source
}

# configure_in FOLDER ARGUMENT...: once, with the source tree found before. The sources
# are in `from`, a path that is seen from FOLDER, if they are not to be in `top`.
configure_in() (
    [[ ! -e $1/config.status ]] || return 0
    mkdir -p "$1" && cd "$1" && shift &&
        logged "$build/log/configure-${PWD##*/}.log" \
            "${from:-$top}/configure" --with-ucx-source="$ucx_source" "$@"
)

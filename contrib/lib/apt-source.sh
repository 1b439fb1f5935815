# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Fetch the source of a Debian package through the machine's own apt, without
# touching its configuration. To be sourced by a POSIX shell or bash:
#
#     . contrib/lib/apt-source.sh
#     tree=$(apt_source PACKAGE [VERSION] DIR) || exit 1
#
# unpacks the package below DIR and prints the path of the unpacked tree. All
# progress and errors go to standard error. VERSION is a Debian version such as
# 1.13.1-1; without it apt takes the newest it knows.
#
# Most machines list binary packages only. The source list used here is made
# from the machine's own entries by turning each `deb` into `deb-src`, so that
# mirrors, suites, keys and options stay the ones somebody chose for it. It
# lives with its package index in a temporary folder that is removed again.

# One-line format (*.list): only enabled `deb` entries, the rest of each line
# as it is. An [arch=...] option does no harm to a source entry.
apt_source_from_list() {
    sed -n -E 's/^[[:space:]]*deb([[:space:]].*)$/deb-src\1/p' "$1"
}

# deb822 format (*.sources): every stanza that offers `deb` and is not disabled,
# with its Types replaced. Fields may be continued on indented lines (embedded
# keys are), so a stanza is taken as a whole.
apt_source_from_deb822() {
    awk '
        function flush_stanza() {
            if (offers && !disabled)
                printf "%s\n", text
            text = ""; offers = 0; disabled = 0; in_types = 0
        }
        /^[[:space:]]*$/ { flush_stanza(); next }
        /^#/             { next }
        /^[^[:space:]]/  { in_types = 0 }
        tolower($0) ~ /^types:/ {
            in_types = 1
            if ($0 ~ /[:[:space:]]deb([[:space:]]|$)/)
                offers = 1
            text = text "Types: deb-src\n"
            next
        }
        in_types {
            if ($0 ~ /[[:space:]]deb([[:space:]]|$)/)
                offers = 1
            next
        }
        tolower($0) ~ /^enabled:[[:space:]]*(no|false|0|off|disable|without)/ {
            disabled = 1
        }
        { text = text $0 "\n" }
        END { flush_stanza() }
    ' "$1"
}

# apt_source_lists FOLDER: write the derived lists into FOLDER, one file for
# each of the machine's; fails when the machine has no entry to derive from.
apt_source_lists() {
    apt_list= apt_parts=
    eval "$(apt-config shell apt_list Dir::Etc::sourcelist/f \
                             apt_parts Dir::Etc::sourceparts/d)"
    for apt_file in "$apt_list" "${apt_parts%/}"/*.list \
                    "${apt_parts%/}"/*.sources; do
        [ -r "$apt_file" ] && [ -f "$apt_file" ] || continue
        case $apt_file in
            *.sources) apt_source_from_deb822 "$apt_file" ;;
            *)         apt_source_from_list "$apt_file" ;;
        esac >"$1/${apt_file##*/}"
        [ -s "$1/${apt_file##*/}" ] || rm -f "$1/${apt_file##*/}"
    done
    if [ -z "$(ls "$1")" ]; then
        echo "apt-source: no enabled 'deb' entry in $apt_list or" \
             "$apt_parts to derive a source list from" >&2
        return 1
    fi
}

# The work of apt_source, in a subshell so that its trap and folders are its own.
apt_source() (
    case $# in
        2) package=$1 version= dir=$2 ;;
        3) package=$1 version=$2 dir=$3 ;;
        *) echo "usage: apt_source PACKAGE [VERSION] DIR" >&2; exit 2 ;;
    esac
    for tool in apt-get apt-config dpkg-source; do
        command -v "$tool" >/dev/null || {
            echo "apt-source: '$tool' is needed to get the source of" \
                 "$package (Debian package: apt, or dpkg-dev)" >&2
            exit 1
        }
    done

    mkdir -p "$dir" || exit 1
    dir=$(cd "$dir" && pwd) || exit 1
    # Inside DIR: the unpacked tree is then moved by a rename, never left half.
    tmp=$(mktemp -d "$dir/.apt-source.XXXXXX") || exit 1
    trap 'rm -rf "$tmp"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    mkdir -p "$tmp/sources" "$tmp/lists/partial" "$tmp/cache/archives/partial" \
             "$tmp/unpack"
    apt_source_lists "$tmp/sources" || exit 1

    # Everything apt writes goes below $tmp; what it reads of the machine is
    # its configuration, keys and credentials. It drops root for downloads,
    # and that user could not write here.
    apt() {
        apt-get -q \
            -o Dir::Etc::sourcelist=/dev/null \
            -o Dir::Etc::sourceparts="$tmp/sources" \
            -o Dir::State::lists="$tmp/lists" \
            -o Dir::Cache="$tmp/cache" \
            -o APT::Sandbox::User="$(id -un)" \
            -o Acquire::Languages=none \
            "$@" >&2
    }

    # One unreachable entry of several is no reason to stop: what counts is
    # that the package is found.
    apt update || echo "apt-source: some package lists could not be read" >&2
    if ! (cd "$tmp/unpack" &&
          apt --download-only --only-source source \
              "$package${version:+=$version}"); then
        echo "apt-source: apt has no source of $package${version:+ $version};" \
             "entries tried: $(cat "$tmp"/sources/* | tr -s '\n' ' ')" >&2
        exit 1
    fi
    (cd "$tmp/unpack" && dpkg-source --no-check -x ./*.dsc tree >&2) || exit 1

    upstream=$(sed -n 's/^Version: //p' "$tmp"/unpack/*.dsc | head -n 1)
    upstream=${upstream#*:}
    target=$dir/$package-${upstream%-*}
    rm -rf "$target"
    mv "$tmp/unpack/tree" "$target" || exit 1
    echo "$target"
)

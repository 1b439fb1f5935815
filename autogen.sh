#!/bin/sh
# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Generate `configure` from a source checkout.
set -e
cd "$(dirname "$0")"

# Autoreconf's own messages for a missing tool are long and name m4 macros;
# say which package is missing instead.
missing=
for pair in autoreconf:autoconf automake:automake libtoolize:libtool \
            pkg-config:pkg-config; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
if [ -n "$missing" ]; then
    echo "autogen.sh: missing tools; install:$missing" >&2
    exit 1
fi

# A tree unpacked from a git bundle or archive has no empty folders.
mkdir -p build-aux
exec autoreconf --install --force --warnings=all,no-portability

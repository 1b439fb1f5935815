# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# The Debian packages of this project, and how to get the missing ones. To be
# sourced by bash.

# To build from a checkout, with the UCX source fetched by apt.
packages_build=(
    autoconf automake libtool make pkg-config g++
    libucx-dev ucx-utils libhwloc-dev dpkg-dev xz-utils
)

# To run MPI programs on a cluster of network namespaces.
packages_cluster=(
    openmpi-bin libopenmpi-dev iproute2 procps util-linux python3 glpk-utils
)

# For a cluster with RDMA NICs, which lives in a virtual machine.
packages_rdma=(
    qemu-system-x86 ibverbs-providers ibverbs-utils busybox-static cpio kmod
    xz-utils
)

# To run the unit tests and benchmarks.
packages_test=(libgtest-dev libbenchmark-dev)

# For the fuzzers, and a second compiler.
packages_clang=(clang libclang-rt-dev)

# missing_packages PACKAGE...: print those that are not installed.
missing_packages() {
    local package status
    for package in "$@"; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" \
            2>/dev/null) || status=
        [[ $status == installed ]] || echo "$package"
    done
}

# need_packages PACKAGE...: install those that are missing, as root; otherwise
# name them and fail. Progress and errors go to standard error.
need_packages() {
    local missing
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null
    then
        echo "no apt here; not checked: $*" >&2
        return 0
    fi
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        echo "missing packages; as root: apt-get install ${missing[*]}" >&2
        return 1
    fi
    echo "installing ${missing[*]}" >&2
    # The lists may be absent or old; an entry that cannot be reached is no
    # reason to stop as long as the packages are found.
    DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 \
        update >&2
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 \
        --no-install-recommends install "${missing[@]}" >&2 || {
        echo "apt-get could not install ${missing[*]}" >&2
        return 1
    }
}

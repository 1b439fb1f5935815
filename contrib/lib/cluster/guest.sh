# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# A cluster with RDMA NICs lives in a guest: a virtual machine that boots the
# stock kernel of Debian, sees this machine's files, and runs this same tool.
# Here is the outer side: starting the guest, and handing commands to it. What
# the guest does with them is in rdma.sh and in all the other parts.
#
# The outer state directory holds only the guest; a keeper process starts it,
# and ends it when that directory is gone. Both processes carry the mark of
# the cluster, by which `down` finds them.

# The base of the state directories in the guest; unlike the outer one, so that
# mounts of the one are not taken for mounts of the other.
GUEST_BASE=/run/fuselink-hosts

GUEST_LEAST_MEMORY=768 # MiB: the kernel, soft-RoCE, and two UCX processes

in_guest() {
    [[ -n ${FUSELINK_CLUSTER_GUEST-} ]]
}

# Is the cluster one in a guest, seen from outside?
is_guest_cluster() {
    ! in_guest && grep -qxF mode=guest "$state/conf" 2>/dev/null
}

# Becomes a command of this tool in the guest.
guest_command() {
    [[ -e $state/ready ]] ||
        die "no cluster '$cluster' is up (see: cluster list)"
    exec env -u XDG_RUNTIME_DIR "${caller_locale[@]}" \
        FUSELINK_CLUSTER_GUEST=1 FUSELINK_CLUSTER_DIR="$GUEST_BASE" \
        TMPDIR=/run "$lib_dir/guest/run" "$state" "$self" \
        --name "$cluster" "$@"
}

# The size of the guest: sets guest_cpus, guest_memory (MiB), guest_seconds.
guest_size() {
    local available
    guest_cpus=${FUSELINK_GUEST_CPUS:-$(nproc)}
    [[ $guest_cpus =~ ^[1-9][0-9]{0,2}$ ]] ||
        usage_error "FUSELINK_GUEST_CPUS='$guest_cpus': accepted: 1 to 999"
    if [[ -n ${FUSELINK_GUEST_MEMORY-} ]]; then
        [[ $FUSELINK_GUEST_MEMORY =~ ^[1-9][0-9]{2,6}$ &&
            $FUSELINK_GUEST_MEMORY -ge $GUEST_LEAST_MEMORY ]] ||
            usage_error "FUSELINK_GUEST_MEMORY='$FUSELINK_GUEST_MEMORY':" \
                "accepted: MiB, $GUEST_LEAST_MEMORY to 9999999"
        guest_memory=$FUSELINK_GUEST_MEMORY
    else
        # Taken from the machine only as the guest touches it.
        available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' \
            /proc/meminfo)
        guest_memory=$((available / 2))
        [[ $guest_memory -le 8192 ]] || guest_memory=8192
        [[ $guest_memory -ge $GUEST_LEAST_MEMORY ]] ||
            die "up --rdma: $available MiB of memory are available;" \
                "the guest needs twice $GUEST_LEAST_MEMORY"
    fi
    guest_seconds=${FUSELINK_GUEST_SECONDS:-28800}
    [[ $guest_seconds =~ ^[1-9][0-9]{0,6}$ ]] ||
        usage_error "FUSELINK_GUEST_SECONDS='$guest_seconds': accepted:" \
            "seconds, 1 to 9999999"
}

# Prints the folder of what the guest boots.
guest_image() {
    local cache=${FUSELINK_GUEST_CACHE-}
    cache=${cache:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/fuselink}
    "$lib_dir/guest/image" "$cache" "${FUSELINK_GUEST_KERNEL-}"
}

# Makes the cluster of command_up in a guest; its arguments are `up`'s.
guest_up() {
    local image
    need_tools qemu-system-x86_64 qemu-system-x86 python3 python3 \
        rdma iproute2 busybox busybox-static cpio cpio modprobe kmod xz xz-utils
    compgen -G '/etc/libibverbs.d/rxe.driver' >/dev/null ||
        die "missing Debian packages: ibverbs-providers (apt-get install them)"
    image=$(guest_image) || exit 1

    mkdir -m 755 -- "$state" && mkdir -m 700 -- "$state/guest" ||
        die "cannot write to $base"
    printf 'hosts=%s\nnics=%s\nrdma_nics=%s\nmtu=%s\nmode=guest\n' \
        "$hosts" "$nics" "$rdma_nics" "$mtu" >"$state/conf"
    (umask 077 && tr -d - </proc/sys/kernel/random/uuid \
        >"$state/guest/token") || die "cannot write to $state"
    ln -s "$lib_dir/guest/agent" "$state/guest/agent"
    FUSELINK_CLUSTER_STATE=$state setsid "$lib_dir/guest/keeper" "$state" \
        "$image" "$guest_cpus" "$guest_memory" "$guest_seconds" \
        </dev/null >"$state/guest/log" 2>&1 9>&- &
    disown
    guest_wait
    : >"$state/ready" || die "cannot write to $state"
    # In a process of its own: the lock and the clean-up stay here.
    (guest_command up "$@") || exit
}

guest_wait() {
    local tries
    for ((tries = 0; tries < 1200; tries++)); do
        ! grep -qs '^fuselink-guest ready' "$state/guest/console" ||
            [[ ! -s $state/guest/port ]] || return 0
        [[ ! -e $state/guest/ended ]] || break
        sleep 0.1
    done
    die "the guest did not start: $(tail -n 5 "$state/guest/log" \
        "$state/guest/console" 2>/dev/null | tr -s '\r\n' ' ')"
}

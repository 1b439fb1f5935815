# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# A node is a host or the switch: one holder process and its namespaces.

# Which way do namespaces open for this caller? Sets mode to root (straight)
# or user (inside a user namespace of its own).
detect_mode() {
    if unshare --net --uts --ipc --mount true 2>/dev/null; then
        mode=root
    elif unshare --user --map-root-user --net --uts --ipc --mount true \
        2>/dev/null; then
        mode=user
    else
        die "missing privilege: run as root with CAP_SYS_ADMIN and" \
            "CAP_NET_ADMIN, or where user namespaces are allowed" \
            "(user.max_user_namespaces, kernel.unprivileged_userns_clone)"
    fi
    select_mode
}

# Prints the pid of the holder of NODE; fails when it is not alive. A recorded
# pid may by now be any process, so its environment must say what it is. Reads
# without other programs: it is called often, and programs start slowly in the
# guest of an RDMA cluster. A holder that is just becoming `sleep` has no
# environment for a moment.
holder_pid() {
    local pid variable variables tries
    read -r pid 2>/dev/null <"$state/$1/pid" || return 1
    [[ $pid =~ ^[0-9]+$ ]] || return 1
    for ((tries = 0; tries < 3; tries++)); do
        ((tries == 0)) || sleep 0.02
        mapfile -d '' -t variables 2>/dev/null <"/proc/$pid/environ" ||
            return 1
        for variable in "${variables[@]}"; do
            if [[ $variable == "FUSELINK_CLUSTER_NODE=$state/$1" ]]; then
                echo "$pid"
                return
            fi
        done
    done
    return 1
}

# Starts the holder of NODE in the background; node_wait waits for it. In user
# mode the switch opens the user namespace and the hosts join it, so that one
# owner may configure both ends of every link.
node_start() {
    local node=$1 enter=() new=()
    if [[ $mode == user ]]; then
        if [[ $node == switch ]]; then
            new=(--user --map-root-user)
        else
            enter=(nsenter "${nsenter_user[@]}" -t "$(holder_pid switch)")
        fi
    fi
    mkdir -p -- "$state/$node/tmp" || die "cannot write to $state"
    FUSELINK_CLUSTER_STATE=$state FUSELINK_CLUSTER_NODE=$state/$node \
        setsid "${enter[@]}" unshare "${new[@]}" --net --uts --ipc --mount \
        --propagation slave bash "$lib_dir/holder" "$state" "$node" \
        </dev/null >"$state/$node/log" 2>&1 9>&- &
    # killed later, it is not to be reported as a job of this shell
    disown
}

node_wait() {
    local tries
    for ((tries = 0; tries < 500; tries++)); do
        holder_pid "$1" >/dev/null && return 0
        [[ -e $state/$1/failed ]] && break
        sleep 0.02
    done
    die "$1 did not start: $(tr '\n' ' ' <"$state/$1/log")"
}

# Runs a command in the namespaces of NODE, from the root directory.
node_run() {
    local pid
    pid=$(holder_pid "$1") ||
        die "$1 of cluster '$cluster' is gone; remove the rest with:" \
            "cluster down --name $cluster"
    shift
    nsenter "${nsenter_user[@]}" -t "$pid" --net --uts --ipc --mount "$@"
}

# Becomes a command in host INDEX, in the caller's directory: signals sent to
# this process reach the command itself, and its exit status is ours.
host_exec() {
    local node=host$1 pid devices=()
    [[ $rdma_nics -eq 0 ]] || {
        devices=$(rdma_environment "$@") || exit
        mapfile -t devices <<<"$devices"
    }
    mapfile -t -O "${#devices[@]}" devices < <(gpu_environment)
    shift
    pid=$(holder_pid "$node") ||
        die "$node of cluster '$cluster' is gone; remove the rest with:" \
            "cluster down --name $cluster"
    exec nsenter "${nsenter_user[@]}" -t "$pid" --net --uts --ipc --mount \
        env -C "$PWD" "${caller_locale[@]}" FUSELINK_CLUSTER_STATE="$state" \
        FUSELINK_CLUSTER_NODE="$state/$node" \
        TMPDIR="$state/$node/tmp" HOSTNAME="$node" "${devices[@]}" "$@"
}

# Prints the processes of the cluster: every process whose environment carries
# the mark of this cluster, and every process in whose mount namespace a mount
# of the cluster lives. The second finds processes that rewrote their
# environment, also when the holder is dead; neither relies on recorded
# numbers, which the kernel may have given to someone else meanwhile.
cluster_pids() {
    local mine pid
    mine=$(readlink /proc/self/ns/mnt)
    {
        grep -lzxF "FUSELINK_CLUSTER_STATE=$state" /proc/[0-9]*/environ
        grep -lF " $state/" /proc/[0-9]*/mountinfo
    } 2>/dev/null | cut -d/ -f3 | sort -un | while read -r pid; do
        [[ $(readlink "/proc/$pid/ns/mnt" 2>/dev/null) == "$mine" ]] &&
            ! grep -qzxF "FUSELINK_CLUSTER_STATE=$state" \
                "/proc/$pid/environ" 2>/dev/null && continue
        echo "$pid"
    done
}

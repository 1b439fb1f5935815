# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# Messages, argument checks, and the state directory of one cluster.
#
# A cluster is nothing but processes and the namespaces they hold: no named
# network namespace and no mount exists outside them, so whatever is killed,
# the kernel removes the NICs and mounts with the last process. The state
# directory only records how to find the processes again.

MAX_HOSTS=8
MAX_NICS=16

say() {
    echo "cluster: $*" >&2
}

die() {
    say "$*"
    exit 1
}

# Bad arguments have their own exit status, 2, so that a caller can tell them
# from a machine that cannot do what was asked.
usage_error() {
    say "$*"
    exit 2
}

need_tools() {
    local tool package missing=()
    while [[ $# -ge 2 ]]; do
        tool=$1 package=$2
        shift 2
        command -v "$tool" >/dev/null || missing+=("$package")
    done
    [[ ${#missing[@]} -eq 0 ]] ||
        die "missing Debian packages: ${missing[*]} (apt-get install them)"
}

# Sets base: the directory that holds the state of all clusters of this user.
select_base() {
    if [[ -n ${FUSELINK_CLUSTER_STATE-} ]]; then
        base=${FUSELINK_CLUSTER_STATE%/*} # we run in a host of a cluster
    elif [[ -n ${FUSELINK_CLUSTER_DIR-} ]]; then
        base=$FUSELINK_CLUSTER_DIR
        [[ $base == /* && $base != *[[:space:]\\]* ]] ||
            usage_error "FUSELINK_CLUSTER_DIR='$base': want an absolute path" \
                "without blanks or backslashes"
    elif [[ $EUID -eq 0 ]]; then
        base=/run/fuselink
    elif [[ -n ${XDG_RUNTIME_DIR-} && -O $XDG_RUNTIME_DIR &&
        -w $XDG_RUNTIME_DIR && $XDG_RUNTIME_DIR != *[[:space:]\\]* ]]; then
        base=$XDG_RUNTIME_DIR/fuselink
    else
        base=/tmp/fuselink-$EUID
    fi
}

# Sets cluster (its name), base and state (its directory).
select_cluster() {
    cluster=$1
    [[ $cluster =~ ^[A-Za-z0-9][A-Za-z0-9_-]{0,30}$ ]] ||
        usage_error "--name '$cluster': want 1 to 31 letters, digits, _ or -"
    select_base
    state=$base/$cluster
    nsenter_user=()
}

# The base directory may be in /tmp, where another user could have made it.
make_base() {
    (umask 022 && mkdir -p -- "$base") 2>/dev/null
    [[ -d $base && -O $base && -w $base ]] ||
        die "cannot use $base as state directory (it must be yours and" \
            "writable); set FUSELINK_CLUSTER_DIR to another one"
}

# Serializes up, down and nic on one cluster. The lock is an open file, so a
# killed command leaves nothing locked; children that outlive the command are
# started without the descriptor (9>&-). `down` removes the file: who waited
# for it meanwhile holds a lock on nothing and has to try again.
lock_cluster() {
    local file=$base/.$cluster.lock
    while :; do
        exec 9>"$file" || die "cannot write to $base"
        flock -w 20 9 ||
            die "cluster '$cluster' is busy: another up, down or nic is running"
        [[ $file -ef /proc/self/fd/9 ]] && return
    done
}

unlock_cluster() {
    rm -f -- "$base/.$cluster.lock"
    exec 9>&-
}

# Reads the description that `up` wrote; dies when there is no usable cluster.
load_cluster() {
    local key value
    rdma_nics=0 gpus=0 queue=20 drops=0
    [[ -e $state/ready ]] ||
        die "no cluster '$cluster' is up (see: cluster list;" \
            "make it with: cluster up --name $cluster ...)"
    while IFS='=' read -r key value; do
        case $key in
        hosts) hosts=$value ;;
        nics) nics=$value ;;
        rdma_nics) rdma_nics=$value ;;
        mtu) mtu=$value ;;
        queue) queue=$value ;;
        drops) drops=$value ;;
        gpus) gpus=$value ;;
        cudasim) cudasim=$value ;;
        mode) mode=$value ;;
        esac
    done <"$state/conf"
    select_mode
}

# A user's cluster lives in a user namespace: every entry from outside (a
# process in a host has the state directory in its environment) goes there too.
select_mode() {
    nsenter_user=()
    [[ $mode != user || ${FUSELINK_CLUSTER_STATE-} == "$state" ]] ||
        nsenter_user=(--user --preserve-credentials)
}

refuse_inside() {
    [[ -z ${FUSELINK_CLUSTER_STATE-} ]] ||
        die "$1: run it outside the hosts of a cluster"
}

# Prints the index of HOST (host1 or 1); dies when the cluster has no such host.
host_index() {
    local index=${1#host}
    [[ $index =~ ^[0-9]$ && $index -lt $hosts ]] ||
        usage_error "host '$1': cluster '$cluster' has host0 to host$((hosts - 1))"
    echo "$index"
}

nic_index() {
    local index=${1#nic}
    [[ $index =~ ^[0-9]{1,2}$ ]] && index=$((10#$index)) ||
        index=$nics
    [[ $index -lt $nics ]] ||
        usage_error "NIC '$1': host has nic0 to nic$((nics - 1))"
    echo "$index"
}

# Succeeds for 200mbit, 1.5gbit, none, ...; the bounds are what the token
# bucket of the kernel can shape with the MTUs accepted here.
valid_rate() {
    local bits
    [[ $1 == none ]] && return 0
    [[ $1 =~ ^[0-9]{1,6}(\.[0-9]{1,3})?(kbit|mbit|gbit)$ ]] || return 1
    bits=$(rate_bits "$1")
    [[ $bits -ge 1000000 && $bits -le 100000000000 ]]
}

accepted_rates="1mbit to 100gbit, such as 200mbit or 1gbit, or none"

# Prints a valid rate in bit/s.
rate_bits() {
    local number=${1%?bit} unit=${1: -4:1} whole fraction scale
    whole=${number%.*}
    fraction=
    [[ $number == *.* ]] && fraction=${number#*.}
    fraction=$(printf '%s000' "$fraction")
    case $unit in
    k) scale=1 ;;
    m) scale=1000 ;;
    g) scale=1000000 ;;
    esac
    echo $(((10#$whole * 1000 + 10#${fraction:0:3}) * scale))
}

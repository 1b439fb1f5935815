# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# exec, and the commands that only look: status, counters, list.

command_exec() {
    local host library='' modules by_hand='' added
    load_cluster
    [[ $# -ge 2 ]] || usage_error "exec: want HOST CMD..."
    host=$(host_index "$1") || exit 2
    shift
    case ${FUSELINK-} in
    1) library=$(find_library) || exit ;;
    '' | 0) ;;
    *) usage_error "FUSELINK='$FUSELINK': accepted: 1, 0 or unset" ;;
    esac
    gpu_modules
    preloads_fuselink "$@" && by_hand=yes
    [[ -n $library$modules$by_hand ]] || host_exec "$host" "$@"
    program_defaults ' '
    host_exec "$host" env "${added[@]}" "$@"
}

# Prints "HOST NIC RX TX" for every NIC. /proc/PID/net shows the network
# namespace of the holder, so no process has to be started in the host.
read_counters() {
    local h pid
    for ((h = 0; h < hosts; h++)); do
        pid=$(holder_pid "host$h") || die "host$h of '$cluster' is gone"
        awk -v host="host$h" 'NR > 2 {
            sub(/:/, " ")
            if ($1 != "lo") print host, $1, $2, $10
        }' "/proc/$pid/net/dev" | sort -V
        rdma_read_counters "$h" || exit
    done
}

command_counters() {
    load_cluster
    case $*: in
    :) read_counters | awk '{ printf "%s %s rx %.0f tx %.0f\n", $1, $2, $3, $4 }' ;;
    --json:)
        read_counters | awk '
            BEGIN { printf "{" }
            $1 != host {
                printf "%s\"%s\": {", host == "" ? "" : "}, ", $1
                host = $1
                comma = ""
            }
            {
                printf "%s\"%s\": {\"rx\": %.0f, \"tx\": %.0f}", comma, $2, $3, $4
                comma = ", "
            }
            END { print (host == "" ? "}" : "}}") }'
        ;;
    *) usage_error "counters: '$*': accepted: --json or nothing" ;;
    esac
}

mtu_of_nics() {
    local all=''
    [[ $rdma_nics -eq 0 ]] || all="$RDMA_MTU (RDMA)"
    [[ $nics -eq 0 ]] || all+=${all:+, }$mtu
    echo "$all"
}

where_it_is() {
    # Files in the guest are of no use outside it.
    if in_guest; then
        echo "in a virtual machine"
    else
        echo "as $mode, state in $state"
    fi
}

# Ports of the switch that drop everything, although their cables are plugged.
silent_ports() {
    node_run switch ip -o -d link show type veth |
        awk '/LOWER_UP/ && / bridge_slave state disabled / {
            sub(/@.*/, "", $2)
            print $2
        }' | xargs
}

command_status() {
    local h pid silent=
    [[ $# -eq 0 ]] || usage_error "status: takes no arguments"
    load_cluster
    echo "cluster '$cluster': $(describe_cluster), MTU $(mtu_of_nics)," \
        "$(where_it_is)"
    if holder_pid switch >/dev/null; then
        silent=$(silent_ports)
    else
        echo "switch: gone"
    fi
    for ((h = 0; h < hosts; h++)); do
        if ! pid=$(holder_pid "host$h"); then
            echo "host$h: gone"
            continue
        fi
        echo "host$h (holder $pid), management $(mgmt_addr "$h")," \
            "TCP $(node_run "host$h" cat /proc/sys/net/ipv4/tcp_congestion_control)"
        node_run "host$h" ip -o link show type veth |
            awk -v h="$h" -v silent=" $silent " '
                NR == FNR { if ($1 == h) rate["nic" $2] = $3; next }
                {
                    sub(/@.*/, "", $2)
                    word = /LOWER_UP/ ? "up" : "no carrier"
                    if (index(silent, " h" h "n" substr($2, 4) " "))
                        word = "silent"
                    if ($2 in rate)
                        printf "  %-6s 10.0.%d.%d  %-9s %s\n", $2,
                               substr($2, 4), h + 1, rate[$2], word
                }' "$state/rates" - | sort -V
        rdma_status "$h"
    done
}

# Names of clusters that left anything: a directory or a process.
cluster_names() {
    {
        find "$base" -mindepth 1 -maxdepth 1 -type d -printf '%f\n'
        grep -hoaE "FUSELINK_CLUSTER_STATE=$base/[A-Za-z0-9_-]+" \
            /proc/[0-9]*/environ | sed 's|.*/||'
        grep -hoE " $base/[A-Za-z0-9_-]+/" /proc/[0-9]*/mountinfo |
            sed 's|/$||; s|.*/||'
    } 2>/dev/null | sort -u
}

command_list() {
    local found note
    [[ $# -eq 0 ]] || usage_error "list: takes no arguments"
    for found in $(cluster_names); do
        select_cluster "$found"
        if [[ -e $state/ready ]]; then
            load_cluster
            note=
            [[ ! -e $state/guest/ended ]] || note=", but its guest has ended"
            echo "$found: $(describe_cluster)$note"
        else
            echo "$found: incomplete (remove it with: cluster down --name $found)"
        fi
    done
}

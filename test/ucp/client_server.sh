# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# UCX's own example of a server and its client by socket address, as UCX has it: from the
# source tree that fuselink is built with. To be sourced by test/ucp/run.

client_server_names=(am tag stream cable)

# have_client_servers: whether any of them is wanted.
have_client_servers() {
    local name
    for name in "${client_server_names[@]}"; do
        ! is_wanted "client_server.$name" || return 0
    done
    return 1
}

# client_server LABEL CLUSTER NAME
client_server() {
    local label="$1: client_server.$3"
    is_wanted "client_server.$3" || return
    if ! is_representative "$label"; then
        leave_out
    elif build_example; then
        check "$label" "run_client_server_$3" "$2" "$3"
    fi
}

build_example() {
    local source prefix libdir
    [[ ! -x $logs/ucp_client_server ]] || return 0
    source=$(sed -n 's/^UCX_SOURCE = //p' "$build/Makefile")
    prefix=$(sed -n 's/^UCX_PREFIX = //p' "$build/Makefile")
    libdir=$(sed -n 's/^UCX_LIBDIR = //p' "$build/Makefile")
    cc -o "$logs/ucp_client_server" "$source/examples/ucp_client_server.c" \
        -isystem "$prefix/include" -L"$libdir" -Wl,-rpath,"$libdir" -lucp -lucs \
        >"$logs/example.log" 2>&1 ||
        { not_ok "UCX's example builds" "$(tail -n 20 "$logs/example.log")"; return 1; }
}

# start_server CLUSTER WAY COUNT SIZE: sets server, and port when it listens.
start_server() {
    local cluster=$1 log=$logs/client_server.server
    : >"$log"
    in_host "$cluster" host1 UCX_SOCKADDR_TLS_PRIORITY=fuselink timeout 60 \
        "$logs/ucp_client_server" -p 0 -c "$2" -i "$3" -s "$4" >"$log" 2>&1 &
    server=$!
    for _ in {1..100}; do
        port=$(sed -n 's/^server is listening on .* port //p' "$log")
        [[ -z $port ]] || return 0
        sleep 0.05
    done
    echo "no server:"
    cat "$log"
    return 1
}

# be_client CLUSTER WAY COUNT SIZE
be_client() {
    (in_host "$1" host0 UCX_SOCKADDR_TLS_PRIORITY=fuselink timeout 40 \
        "$logs/ucp_client_server" -a 10.0.0.2 -p "$port" -c "$2" -i "$3" -s "$4") \
        >"$logs/client_server.client" 2>&1
}

# end_server STATUS: of the client. What both printed, if anything went wrong.
end_server() {
    kill "$server"
    wait "$server"
    if (($1 != 0)) || ! grep -q 'UCP TEST SUCCESS' "$logs/client_server.server"; then
        echo "the client ended with $1"
        cut -c1-200 "$logs"/client_server.{client,server}
        return 1
    fi
}

sent_by() { # CLUSTER NIC
    (in_host "$1" host0 cat "/sys/class/net/$2/statistics/tx_bytes")
}

# Ten messages of 4 MB: each NIC carries some of them.
run_client_server_am() {
    local cluster=$1 way=$2 nic before=() status server port
    for nic in nic0 nic1 nic2 nic3; do
        before+=("$(sent_by "$cluster" "$nic")")
    done
    start_server "$cluster" "$way" 10 4000000 || return
    be_client "$cluster" "$way" 10 4000000
    status=$?
    end_server "$status" || return
    for nic in 0 1 2 3; do
        local bytes=$(($(sent_by "$cluster" "nic$nic") - before[nic]))
        ((bytes > 4000000)) || { echo "nic$nic carried $bytes bytes only"; return 1; }
    done
}
run_client_server_tag() { run_client_server_am "$@"; }
run_client_server_stream() { run_client_server_am "$@"; }

# The NIC over which the client came dies meanwhile: its data go over the others, and closing
# takes no longer than fuselink says (edge/cm_ep.cc).
run_client_server_cable() {
    local cluster=$1 status client server port cut
    start_server "$cluster" tag 8000 100000 || return
    be_client "$cluster" tag 8000 100000 &
    client=$!
    sleep 1.5
    "$cluster_tool" --name "$(cluster_name "$cluster")" nic host0 0 silent >/dev/null
    cut=$SECONDS
    kill -0 "$client" || echo "the client was done before the cut"
    wait "$client"
    status=$?
    "$cluster_tool" --name "$(cluster_name "$cluster")" nic host0 0 up >/dev/null
    ((SECONDS - cut < 25)) || { echo "it took $((SECONDS - cut)) s"; status=1; }
    end_server "$status"
}

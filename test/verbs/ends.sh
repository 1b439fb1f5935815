# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# How a guest ends. To be sourced by run, last: it ends the guest in use.

guest_state=$(on host0 sh -c 'echo $FUSELINK_CLUSTER_STATE')
# The outer state directory: below it are the guest's token and its console.
guest_state=$(pgrep -af -- "guest/keeper .*/${guest_state##*/} " |
    grep -o "[^ ]*/${guest_state##*/} " | tr -d ' ')

processes() {
    pgrep -f -- "guest/keeper $1 |fuselink.state=$1 "
}

all_gone() {
    ! processes "$guest_state" >/dev/null
}

# The command fails and says TEXT.
fails_with() {
    local text=$1 output
    shift
    ! output=$("$@" 2>&1) && [[ $output == *$text* ]] && return
    echo "$output"
    return 1
}

# Killing the keeper, which starts QEMU and watches it, ends the guest.
case_keeper_killed() {
    kill -KILL $(pgrep -f -- "guest/keeper $guest_state ") &&
        eventually all_gone
}

# The state directory is gone: what is left takes itself away.
case_state_removed() {
    guest_up left --rdma --hosts 1 --nics 1 --rate none || return
    guest_state=${guest_state%/*}/$(cluster_name left)
    [[ -n $(processes "$guest_state") ]] && rm -rf -- "$guest_state" &&
        eventually all_gone
}

# `up` is killed on its way.
case_up_killed() {
    local up
    "$cluster_tool" --name "$(cluster_name half)" up --rdma --hosts 1 --nics 1 \
        --rate none >/dev/null 2>&1 &
    up=$!
    guest_state=${guest_state%/*}/$(cluster_name half)
    eventually processes "$guest_state" >/dev/null && sleep 1 &&
        kill -KILL "$up" || return
    wait "$up" 2>/dev/null
    "$cluster_tool" --name "$(cluster_name half)" down && all_gone &&
        [[ ! -e $guest_state ]]
}

case_time_limit() {
    fails_with "did not start" env FUSELINK_GUEST_SECONDS=1 "$cluster_tool" \
        --name "$(cluster_name short)" up --rdma --hosts 1 --nics 1 --rate none
}

if [[ -z $guest_state || ! -d $guest_state/guest ]]; then
    not_ok "the guest's keeper is found" "$guest_state"
    return
fi
check "a guest whose keeper is killed ends" case_keeper_killed
check "and says so" fails_with "is gone" on host0 true
check "and is taken down" cluster_down "$guest"
check "nothing is left" test ! -e "$guest_state"
check "an up that is killed leaves nothing" case_up_killed
check "a guest ends at its time limit" case_time_limit
check "a guest ends without its state" case_state_removed

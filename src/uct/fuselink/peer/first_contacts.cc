/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "first_contacts.h"

#include "peer.h"

namespace fuselink {

void FirstContacts::await(Peer &peer)
{
    waiting_.push_back({&peer, ucs_get_time() + ucs_time_from_sec(kPatience)});
}

void FirstContacts::forget(const Peer &peer)
{
    std::erase_if(waiting_, [&](const Entry &entry) {
        return entry.peer == &peer;
    });
}

void FirstContacts::drop_answered()
{
    while (!waiting_.empty() && !waiting_.front().peer->is_unanswered()) {
        waiting_.pop_front();
    }
}

void FirstContacts::check(ucs_time_t now)
{
    drop_answered();
    while (!waiting_.empty() && now >= waiting_.front().until) {
        Peer *peer = waiting_.front().peer;
        waiting_.pop_front();
        if (peer->is_unanswered()) {
            peer->try_another_way(); /* and await()s anew */
        }
    }
}

} // namespace fuselink

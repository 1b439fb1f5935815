/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "first_contacts.h"

#include "peer.h"

#include <algorithm>

namespace fuselink {
namespace {

/* If the program does nothing for longer than this, the time does not count:
 * answers that have come were not looked at. Seconds. */
constexpr double kPause = 0.05;

} // namespace

void FirstContacts::await(Peer &peer, double seconds)
{
    forget(peer);
    const ucs_time_t now   = ucs_get_time();
    const ucs_time_t until = now + ucs_time_from_sec(seconds);
    if (waiting_.empty()) {
        checked_ = now;
    }
    auto after = std::find_if(waiting_.rbegin(), waiting_.rend(),
                              [&](const Entry &entry) {
        return entry.until <= until;
    });
    waiting_.insert(after.base(), {&peer, until});
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
    const ucs_time_t since = now - checked_;
    checked_               = now;
    if (ucs_unlikely(since > ucs_time_from_sec(kPause))) {
        for (Entry &entry : waiting_) {
            entry.until += since;
        }
    }
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

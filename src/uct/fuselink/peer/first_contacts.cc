/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "first_contacts.h"

#include "peer.h"

#include <algorithm>

namespace fuselink {
namespace {

/* If the program does nothing for longer than this, the time does not count:
 * answers that have come were not looked at. */
constexpr sched::Nanos kPause = sched::Nanos::millis(50);

} // namespace

void FirstContacts::await(Peer &peer, sched::Nanos time)
{
    forget(peer);
    const sched::Nanos now   = host_.now();
    const sched::Nanos until = now + time;
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

void FirstContacts::check(sched::Nanos now)
{
    const sched::Nanos since = now - checked_;
    checked_                 = now;
    if (ucs_unlikely(since > kPause)) {
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

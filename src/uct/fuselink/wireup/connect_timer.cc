/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "connect_timer.h"

#include <algorithm>

namespace fuselink {
namespace {

/* If the program does nothing for longer than this, the time does not count:
 * answers that have come were not looked at. */
constexpr sched::Nanos kPause = sched::Nanos::millis(50);

} // namespace

void ConnectTimer::await(Client &client, sched::Nanos time)
{
    forget(client);
    const sched::Nanos now   = host_.now();
    const sched::Nanos until = now + time;
    if (waiting_.empty()) {
        checked_ = now;
    }
    auto after = std::find_if(waiting_.rbegin(), waiting_.rend(),
                              [&](const Entry &entry) {
        return entry.until <= until;
    });
    waiting_.insert(after.base(), {&client, until});
}

void ConnectTimer::forget(const Client &client)
{
    std::erase_if(waiting_, [&](const Entry &entry) {
        return entry.client == &client;
    });
}

void ConnectTimer::drop_answered()
{
    while (!waiting_.empty() && !waiting_.front().client->is_unanswered()) {
        waiting_.pop_front();
    }
}

void ConnectTimer::check(sched::Nanos now)
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
        Client *client = waiting_.front().client;
        waiting_.pop_front();
        if (client->is_unanswered()) {
            client->try_another(); /* and await()s anew */
        }
    }
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "seen_timer.h"

#include <utility>

namespace fuselink {
namespace {

/* Long enough for an answer of the user's to take it along. */
constexpr sched::Nanos kDelay = sched::Nanos::millis(1);

} // namespace

void SeenTimer::look()
{
    const sched::Nanos now = host_.now();
    if (since_ == sched::Nanos()) {
        since_ = now;
    } else if (now - since_ > kDelay) {
        tell_all();
    }
}

void SeenTimer::tell_all()
{
    since_ = sched::Nanos();
    std::vector<Client *> clients;
    clients.swap(clients_);
    for (Client *client : clients) {
        client->tell_seen(); /* destroys nobody */
    }
}

} // namespace fuselink

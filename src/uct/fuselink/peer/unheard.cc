/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "unheard.h"

namespace fuselink {

void Unheard::look(uint16_t waiting, sched::Nanos heard, sched::Nanos now)
{
    using Change        = sched::UnheardClock::Change;
    const Change change = clock_.look(waiting != 0, heard, now);
    last_               = now;
    if (ucs_likely(change == Change::None)) {
        return;
    }
    if (change == Change::Begins) {
        begin(waiting, now);
        return;
    }
    if (change == Change::Heard) {
        ucs_log(warned_ ? UCS_LOG_LEVEL_WARN : UCS_LOG_LEVEL_INFO,
                "fuselink: peer %016lx is heard again, after %.1f s", peer_,
                (now - since_).as_seconds());
    }
    end(now);
}

/* One line, of the first rail of which nothing was said yet. */
void Unheard::begin(uint16_t waiting, sched::Nanos now)
{
    out_        = waiting;
    since_      = clock_.since();
    warned_     = false;
    Rail *named = nullptr;
    for (const auto &rail : rails_) {
        if ((waiting >> rail->index() & 1) != 0) {
            const bool fresh = rail->health.peer_unheard(since_);
            named   = named == nullptr || (fresh && !warned_) ? rail.get() : named;
            warned_ = warned_ || fresh;
        }
    }
    if (named != nullptr) {
        ucs_log(warned_ ? UCS_LOG_LEVEL_WARN : UCS_LOG_LEVEL_INFO,
                "fuselink: for %.0f s nothing has come from peer %016lx over rail %s, "
                "nor over any other: what is sent to it waits",
                (now - since_).as_seconds(), peer_, named->name().c_str());
    }
}

void Unheard::end(sched::Nanos now)
{
    for (const auto &rail : rails_) {
        if ((out_ >> rail->index() & 1) != 0) {
            rail->health.peer_heard(since_, now);
        }
    }
    out_ = 0;
}

void Unheard::forget()
{
    end(last_);
    clock_ = {};
}

} // namespace fuselink

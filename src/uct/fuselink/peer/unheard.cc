/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "unheard.h"

namespace fuselink {

void Unheard::look(uint16_t waiting, sched::Nanos heard, sched::Nanos now)
{
    now_ = now;
    if (waiting != 0 && now - heard >= kPatience) {
        if (waiting_ == 0) {
            begin(waiting, heard);
        }
    } else if (waiting_ != 0) {
        end(true);
    }
}

/* One line, of the first rail. */
void Unheard::begin(uint16_t waiting, sched::Nanos heard)
{
    waiting_   = waiting;
    since_     = heard;
    bool first = true;
    for (const auto &rail : rails_) {
        if (waiting_ >> rail->index() & 1) {
            rail->health.peer_unheard(peer_, since_, first, now_);
            first = false;
        }
    }
}

void Unheard::end(bool heard)
{
    bool first = heard;
    for (const auto &rail : rails_) {
        if (waiting_ >> rail->index() & 1) {
            rail->health.peer_heard(peer_, since_, first, now_);
            first = false;
        }
    }
    waiting_ = 0;
}

} // namespace fuselink

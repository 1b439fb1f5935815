/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "watched_connection.h"

#include <algorithm>

namespace fuselink {

sched::StallView
WatchedConnection::stall_view(std::span<const WatchedConnection> all,
                              sched::Nanos program_at, const Wires &wires,
                              sched::Nanos now) const
{
    sched::StallView view;
    view.now           = now;
    view.tick          = state.tick;
    view.slack         = wires.slack(now);
    view.in_flight     = state.segments != 0;
    /* Linux: tcp_rcv_established(), __tcp_ack_snd_check(). */
    view.much          = state.in_flight().count() > state.mss;
    view.first         = state.acked == 0 || wires.is_new(own, now);
    view.rested        = watch->clock.rested();
    view.acked_at      = watch->acked_at;
    view.asked_at      = path == nullptr ? watch->probed_at : sched::Nanos();
    view.sent_at       = now - state.since_sent;
    view.sent_again    = watch->sent_again(state);
    view.rtt           = state.rtt;
    view.rtt_deviation = state.rtt_deviation;
    view.retransmits   = state.retransmits;
    view.window_shut   = state.window_shut();
    view.probes        = state.probes;
    for (const WatchedConnection &other : all) {
        if (&other == this) {
            continue;
        }
        if (other.shares_wire(*this)) {
            view.pair_acked_at = std::max(view.pair_acked_at, other.carried_at());
        } else {
            view.peer_done_at = std::max(view.peer_done_at, other.watch->heard_at());
        }
        if (other.wire != wire && other.check == nullptr) {
            view.program_at = std::max(view.program_at, other.watch->echo.proved());
        }
    }
    view.program_at = std::max(view.program_at, program_at);
    if (wire != nullptr) { /* its own were earlier than what counts */
        view.drops         = wires.drops(*wire, now);
        view.loses         = wires.loses(*wire, now);
        view.wire_retries  = wires.retries(*wire, now);
        view.pair_acked_at = std::max(view.pair_acked_at, wires.heard_at(*wire, now));
        view.pair_sent_at  = wire->sent_at;
    }
    return view;
}

sched::QuietView
WatchedConnection::quiet_view(std::span<const WatchedConnection> all,
                              sched::Nanos limit, sched::Nanos program_at,
                              const Wires &wires, sched::Nanos now) const
{
    sched::QuietView view;
    view.now           = now;
    view.since         = ends_by_itself() ? watch->began :
                                            std::max(watch->began, watch->asked_at);
    /* A lane may move for nothing; also if no other wire is known to be good. */
    view.peer_heard_at = path != nullptr ? program_at : now;
    view.program_at    = program_at;
    view.wire_heard_at = wire != nullptr ? wires.heard_at(*wire, now) : sched::Nanos();
    for (const WatchedConnection &other : all) {
        if (!other.shares_wire(*this)) {
            view.peer_heard_at = std::max(view.peer_heard_at, other.watch->heard_at());
        }
    }
    view.limit    = limit;
    view.may_wait = path != nullptr && (!path->pair_owns() || path->awaits_program());
    return view;
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "nic_watch.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Between questions: a program may compute for long. */
constexpr sched::Nanos kLastCheck = sched::Nanos::millis(1000);
/* A lane of datagrams on which nothing is heard is left later each time, at most 2^6
 * times as late. */
constexpr unsigned kMostDoubles = 6;
/* UCX sends datagrams again after 10 ms, and twice as late each time. They are
 * acknowledged by its thread in the other process, which may be stopped: a lane of
 * datagrams, which in general is one for a moment only, is left late. */
constexpr sched::Nanos kDatagramRetry = sched::Nanos::millis(67);
constexpr sched::Nanos kDatagramLane  = sched::Nanos::millis(2000);
/* Another queue pair of a wire in doubt has to answer. */
constexpr sched::Nanos kOtherPair = sched::Nanos::millis(100);
/* A program that was heard so long ago takes what comes. */
constexpr sched::Nanos kLooks = sched::Nanos::millis(200);

} // namespace

void NicWatch::ask(const WatchedConnection &stream, sched::Nanos now)
{
    const StreamWatch &watch = *stream.watch;
    const sched::Nanos since = now - watch.began;
    const sched::Nanos pause = std::clamp(since / 4, kFirstCheck, kLastCheck);
    if (!stream.ends_by_itself() && since >= kFirstCheck && now - watch.asked_at >= pause) {
        check(stream, now);
    }
}

void NicWatch::check(const WatchedConnection &stream, sched::Nanos now)
{
    const unsigned index = stream.path != nullptr ?
                               stream.path->poll_index() :
                               channel_.rail()->poll_hello_index();
    if (stream.check->begin(stream.ep, poller_, index)) {
        stream.watch->asked_at = now;
        if (stream.path == nullptr) {
            lane_.asked = channel_.said_seen();
        }
    }
}

bool NicWatch::carries_by_pair(const Path &path)
{
    return path.state == Path::State::Ready ?
               path.pair_owns() :
               path.state == Path::State::Idle && path.pair && path.pair->ready();
}

sched::Nanos NicWatch::lately(const Path &path)
{
    return carries_by_pair(path) ?
               sched::QuietClock::limit(path.rail.retry_time(), {}, {}) / 2 :
               Wires::kLately;
}

void NicWatch::on_doubt(Wire &wire, sched::Nanos program_at, sched::Nanos now)
{
    for (auto &path : bulk_.paths()) {
        Path::Stream &own = path->stream;
        if (own.wire != &wire || &own == wire.doubt.whose || !carries_by_pair(*path)) {
            continue;
        }
        const bool asked = begin_for(wire, own.check, path->pair->ep(), path->poll_index());
        if ((path->on_nic != 0 || asked) && !path->awaits_program()) {
            rails_.wires().note_other(wire, now);
        }
    }
    if (lane_.wire != &wire || !tells_of_lane() || !channel_.rail()->by_ep() ||
        channel_.ep() == nullptr || !lane_.is_of(channel_) || !channel_.taken() ||
        channel_.has(ControlChannel::kConnecting)) {
        return;
    }
    /* The other NIC may have no room for messages, if its program does not look: then it
     * does not answer, which says nothing. */
    if (begin_for(wire, lane_.check, channel_.ep(), channel_.rail()->poll_index()) &&
        (channel_.unseen() == 0 || now - program_at < kLooks)) {
        rails_.wires().note_other(wire, now);
    }
}

/* True if the other NIC owes an answer now. */
bool NicWatch::begin_for(Wire &wire, EndpointCheck &check, uct_ep_h ep, unsigned index)
{
    return check.begin(ep, poller_, index, &wire.doubt.answered) && check.under_way();
}

/* Only what was asked, or ends by itself, can be silent. */
bool NicWatch::judge(const WatchedConnection &stream, std::span<const WatchedConnection> all,
                     sched::Nanos program_at, sched::Nanos now)
{
    Path *path = stream.path;
    /* Also by a question of before the last end, of which others may have told. One of a
     * connection that is gone says nothing of this. */
    if (!stream.ends_by_itself() &&
        (!stream.check->under_way() || stream.watch->asked_at == sched::Nanos())) {
        return false;
    }
    const sched::QuietView view = stream.quiet_view(all, limit_of(stream), program_at,
                                                    rails_.wires(), now);
    if (now - view.since >= kFirstCheck) {
        suspect_ports(now);
    }
    const auto health = stream.watch->quiet.look(view);
    if (health == sched::QuietClock::Health::Fine) {
        return false;
    }
    if (health != sched::QuietClock::Health::Dead) {
        if (path != nullptr && path->pair_owns()) {
            rails_.wires().doubt(*stream.wire, &path->stream, view.since);
        }
        return true;
    }
    if (path != nullptr) {
        leave_pair(*path, view.since, now);
    } else {
        ++lane_.left;
        wireup_.on_silent();
    }
    return false;
}

/* Where no other pair can be asked only this one is left: the others find out. */
void NicWatch::leave_pair(Path &path, sched::Nanos since, sched::Nanos now)
{
    Wire              &wire  = *path.stream.wire;
    const sched::Nanos other = rails_.wires().other_waits(wire, since, now);
    if (!path.pair_owns() || (other != sched::Nanos() && now - other >= kOtherPair)) {
        rails_.wires().proved_silent(wire, now);
    } else if (other != sched::Nanos()) {
        return;
    }
    bulk_.on_silent(path);
}

void NicWatch::note_acknowledged(sched::Nanos now)
{
    if (lane_.acknowledged == channel_.acknowledged()) {
        return;
    }
    lane_.acknowledged = channel_.acknowledged();
    lane_.left         = 0;
    acknowledged_at_   = now;
    /* Of a lane that is no more nothing comes: it was told over another wire. What comes
     * over a stream its kernel knows. */
    if (lane_.wire != nullptr && lane_.is_of(channel_) &&
        !channel_.has(ControlChannel::kConnecting) && !channel_.rail()->traits().stream) {
        rails_.wires().heard(*lane_.wire, now, now);
    }
}

void NicWatch::look_at_lane(sched::Nanos now)
{
    note_acknowledged(now);
    if (!waits_for_lane() || acknowledged_at_ == now) {
        lane_.waits_from = {};
    } else if (lane_.waits_from == sched::Nanos()) {
        lane_.waits_from = now;
        lane_.ports_at   = now + kFirstCheck;
    } else if (now >= lane_.ports_at) {
        lane_.ports_at = now + std::clamp((now - lane_.waits_from) / 4, kFirstCheck,
                                          kLastCheck);
        rails_.suspect_ports();
    }
}

/* Long before silence is proof: those here, and those of a peer whose program answers. */
void NicWatch::suspect_ports(sched::Nanos now)
{
    rails_.suspect_ports();
    if (channel_.ep() != nullptr && tells_of_lane() &&
        now - lane_.watch.probed_at >= kFirstCheck) {
        lane_.watch.probed_at = now;
        channel_.ask_seen();
    }
}

/* A lane is left later each time. */
sched::Nanos NicWatch::limit_of(const WatchedConnection &stream) const
{
    const Path *path = stream.path;
    if (path == nullptr) {
        return kDatagramLane *
               (int64_t{1} << std::min(lane_.left, kMostDoubles));
    }
    return sched::QuietClock::limit(
        path->pair_owns() ? path->rail.retry_time() : kDatagramRetry,
        path->meter.in_flight(),
        path->meter.known() ? path->meter.rate() : sched::Rate());
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "silence_watch.h"

#include <algorithm>

namespace fuselink {
namespace {

constexpr sched::Nanos kProbePause = sched::Nanos::millis(10);
/* Between questions on a wire that is not suspected: a program may compute for long. */
constexpr sched::Nanos kFirstAsk = sched::Nanos::millis(20);
constexpr sched::Nanos kLastAsk  = sched::Nanos::millis(1000);
/* A program that says nothing for so long, though it is asked, computes: when it is heard
 * again it has not looked at everything yet. */
constexpr sched::Nanos kRests = kLastAsk / 2;
/* Until a NIC is asked whether messages have come, which their program says itself if
 * it looks. */
constexpr sched::Nanos kFirstCheck = sched::Nanos::millis(50);
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

void SilenceWatch::look(sched::Nanos now)
{
    Stream       streams[kMost];
    const size_t count   = find_streams(streams, now);
    look_at_nic(now);
    bool         suspect = wireup_.replaces_lane();
    for (size_t i = 0; i < count; ++i) {
        Stream &stream = streams[i];
        suspect        = suspect || stream.asked;
    }
    if (ucs_likely(!suspect && !unheard_.is())) {
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        if (streams[i].check == nullptr) {
            ask(streams[i], now);
        } else if (streams[i].asked) {
            ask_nic(streams[i], now);
        }
    }
    look_at_peer(streams, count, now);
    for (size_t i = 0; i < count && !conn_.failed(); ++i) {
        if (streams[i].asked) {
            judge(streams[i], streams, count, now);
        }
    }
}

/* Of a queue pair its NIC tells when it gives up, within seconds. */
void SilenceWatch::look_at_peer(const Stream *streams, size_t count,
                                sched::Nanos now)
{
    unsigned     waiting = 0;
    sched::Nanos heard   = std::max(program_at_, acknowledged_at_);
    for (size_t i = 0; i < count; ++i) {
        const Stream &stream = streams[i];
        heard = std::max(heard, stream.watch->heard_at());
        if (stream.wire != nullptr) {
            heard = std::max(heard, rails_.wires().heard_at(*stream.wire, now));
        }
        if (stream.asked && stream.check == nullptr &&
            (stream.state.segments != 0 || stream.state.probes > 1)) {
            waiting |= 1u << stream.own;
        }
    }
    if (waits_for_lane()) {
        waiting |= 1u << channel_.rail()->index();
    }
    unheard_.look(static_cast<uint16_t>(waiting), heard, now);
    const bool returns = return_.look(waiting != 0, heard, now);
    if (ucs_unlikely(returns || return_.is_away())) {
        bulk_.on_away(now + sched::ReturnClock::kAfter);
        wireup_.on_away(now + sched::ReturnClock::kAfter);
    }
    if (ucs_unlikely(returns)) {
        on_return(streams, count, now);
    }
}

/* Those on which nothing waits as well: what they get next would stand behind probes that their
 * kernels have. */
void SilenceWatch::on_return(const Stream *streams, size_t count, sched::Nanos now)
{
    ucs_debug("fuselink: peer %016lx is heard again, of which nothing came over any rail",
              conn_.uuid());
    for (size_t i = 0; i < count && !conn_.failed(); ++i) {
        Stream stream = streams[i];
        if (stream.path != nullptr && stream.check == nullptr && !stream.asked &&
            host_.streams().look(stream.ep, stream.state)) {
            leave_behind(stream, now);
        }
    }
}

/* Not only for its program, which may be stopped: its kernel has not taken the hello. A
 * NIC tells when it gives up. */
bool SilenceWatch::waits_for_lane() const
{
    StreamState state;
    if (!wireup_.replaces_lane() || channel_.rail() == nullptr) {
        return false;
    }
    return channel_.ep() == nullptr ||
           (channel_.rail()->traits().stream &&
            (!host_.streams().look(channel_.ep(), state) ||
             state.phase != StreamState::Phase::Established || state.segments != 0));
}

/* Of a stream that is busy its kernel is asked so often that its wire is known to be good. */
void SilenceWatch::hear(Stream &stream, sched::Nanos now)
{
    StreamState state;
    if (stream.check == nullptr && stream.watch->may_hear(now) &&
        host_.streams().look(stream.ep, state)) {
        stream.watch->hear(state, now);
    }
    rails_.wires().heard(*stream.wire, stream.carried_at());
    rails_.wires().note_answers(*stream.wire, now);
}

/* Its kernel. Of one that has nothing under way only if it was given a probe. */
void SilenceWatch::ask(Stream &stream, sched::Nanos now)
{
    StreamWatch &watch  = *stream.watch;
    const bool   probed = watch.probed_at + kProbePause * 10 > now;
    if ((!stream.asked && !probed) ||
        !host_.streams().look(stream.ep, stream.state)) {
        stream.asked = false;
        return;
    }
    const StreamWatch::Passed passed = watch.take(stream.state, now);
    if (stream.wire != nullptr) {
        rails_.wires().note_gap(*stream.wire, now);
        if (passed.packets != 0) {
            rails_.wires().passed(*stream.wire, passed.packets, passed.lost, passed.since,
                                  now);
        }
        rails_.wires().heard(*stream.wire, watch.acked_at);
        if (stream.state.segments != 0) {
            stream.wire->sent_at = std::max(stream.wire->sent_at,
                                            now - stream.state.since_sent);
        }
        if (const unsigned more = watch.more_timeouts(stream.state); more != 0) {
            const bool all = rails_.wires().heard_at(*stream.wire, now) <= watch.acked_at;
            rails_.wires().retried(*stream.wire, all ? more : 1,
                                   now - stream.state.since_sent, now);
        }
    }
    if (stream.state.segments == 0 && stream.state.unsent.is_zero()) {
        watch.waits_from = now; /* nothing can be silent */
        on_empty(stream, now);
    }
}

/* The other kernel has all that was sent. An answer of its program may be lost on the
 * way: that side has nothing more to send, and sees to it, or its wire is silent. So
 * this side asks now and then. */
void SilenceWatch::on_empty(Stream &stream, sched::Nanos now)
{
    StreamWatch &watch = *stream.watch;
    bool         waits = channel_.unseen() != 0;
    if (stream.path == nullptr) {
        lane_.said = channel_.said_seen();
    } else {
        if (stream.path->notices.empty()) {
            bulk_.paths().found_empty(*stream.path);
        }
        waits = stream.path->on_nic != 0 || !stream.path->unacked.empty();
    }
    const sched::Nanos since = now - watch.began;
    const sched::Nanos pause = std::clamp(since / 4, kFirstAsk, kLastAsk);
    if (waits && since > kFirstAsk && now - watch.probed_at >= pause) {
        watch.probed_at = now;
        send_probe(stream, now);
    }
}

/* A NIC says when a put has ended. Of messages only who asks hears that they have
 * come, before their program looks. */
void SilenceWatch::ask_nic(Stream &stream, sched::Nanos now)
{
    const StreamWatch &watch = *stream.watch;
    const sched::Nanos since = now - watch.began;
    const sched::Nanos pause = std::clamp(since / 4, kFirstCheck, kLastAsk);
    if (!stream.ends_by_itself() && since >= kFirstCheck && now - watch.asked_at >= pause) {
        check(stream, now);
    }
}

void SilenceWatch::check(const Stream &stream, sched::Nanos now)
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

void SilenceWatch::send_probe(const Stream &stream, sched::Nanos now)
{
    if (stream.check != nullptr) {
        check(stream, now);
    }
    if (stream.path == nullptr) {
        channel_.ask_seen();
    } else if (stream.check == nullptr) {
        bulk_.probe(*stream.path);
    }
}

bool SilenceWatch::find_lane(Stream &lane, sched::Nanos now)
{
    if (channel_.ep() == nullptr || !channel_.taken() ||
        channel_.has(ControlChannel::kConnecting)) {
        return false;
    }
    Rail &rail = *channel_.rail();
    if (lane_.number != channel_.lane() || lane_.ep != channel_.ep()) {
        lane_.watch  = {};
        lane_.wire   = nullptr;
        lane_.number = channel_.lane();
        lane_.ep     = channel_.ep();
        lane_.watch.answers = lane_.check.answers();
    }
    if (ucs_unlikely(lane_.wire == nullptr)) {
        for (const auto &record : bulk_.table().rails) {
            if (record.index == channel_.remote()) {
                lane_.wire = &rails_.wires().between(rail, record);
            }
        }
    }
    note_acknowledged(now);
    if (nic_tells_of_lane()) {
        return false;
    }
    lane = {&lane_.watch, lane_.wire, channel_.ep(), nullptr,
            rail.traits().stream ? nullptr : &lane_.check, rail.index(),
            channel_.remote(), false, {}};
    note_answers(lane, now);
    lane.asked = note(lane, watches_lane(), channel_.acknowledged(), now);
    return true;
}

/* True if its kernel is to be asked. */
bool SilenceWatch::note(const Stream &stream, bool waits, uint64_t done, sched::Nanos now)
{
    if (ucs_unlikely(stream.watch->is_new())) {
        rails_.wires().note_new(stream.own, now);
    }
    return stream.watch->note(waits, done, now);
}

/* Something was sent on it that nobody may have received. */
bool SilenceWatch::watches(const Path &path) const
{
    return path.on_nic != 0 || path.awaits_program();
}

/* Also before anything went over it: it may be asked. */
bool SilenceWatch::carries_by_pair(const Path &path)
{
    return path.state == Path::State::Ready ?
               path.pair_owns() :
               path.state == Path::State::Idle && path.pair && path.pair->ready();
}

Wire &SilenceWatch::wire_of(Path &path)
{
    if (ucs_unlikely(path.stream.wire == nullptr)) {
        path.stream.wire = &rails_.wires().between(path.rail, path.remote);
    }
    return *path.stream.wire;
}

bool SilenceWatch::find_path(Stream &stream, Path &path, sched::Nanos now)
{
    const bool is_stream = path.rail.traits().stream;
    const bool is_pair   = carries_by_pair(path);
    if (ucs_unlikely(path.stream.wire != nullptr &&
                     path.stream.wire->evidence.silent())) {
        rails_.wires().look_at_others(*path.stream.wire, now);
    }
    if (path.pair && !path.by_messages &&
        path.rail.retry_time() == sched::Nanos()) {
        return false; /* its NIC tells */
    }
    if (path.pair && path.pair->tried()) {
        look_at_connecting(path, now);
        return false;
    }
    if (!is_pair && (path.state != Path::State::Ready || path.ep == nullptr ||
                     !path.watched())) {
        return false;
    }
    if (!is_pair && !path.room.connected) {
        look_at_connecting(path, now);
        return false;
    }
    Path::Stream &own = path.stream;
    if (is_stream) {
        bulk_.learn_address(path);
    }
    Wire &wire     = wire_of(path);
    own.unanswered = false;
    own.was_up     = true;
    StreamState state;
    if (is_stream && ucs_unlikely(own.watch.is_new()) &&
        host_.streams().look(path.ep, state)) {
        own.watch.hear(state, now); /* it has connected, perhaps long ago */
    }
    stream = {&own.watch, &wire, is_pair ? path.pair->ep() : path.ep, &path,
              is_stream ? nullptr : &own.check, path.rail.index(),
              path.remote.index, false, {}};
    note_answers(stream, now);
    own.watch.echo.look(now, own.posted, own.ends);
    stream.asked = note(stream, watches(path), own.ends, now);
    return true;
}

/* What was given to this end before the last question has come. */
void SilenceWatch::note_answers(Stream &stream, sched::Nanos now)
{
    if (stream.check == nullptr || stream.watch->answers == stream.check->answers()) {
        return;
    }
    stream.watch->answers = stream.check->answers();
    stream.watch->done_at = now;
    if (stream.path == nullptr) {
        lane_.said = lane_.asked;
    } else if (stream.path->notices.empty()) {
        bulk_.paths().found_empty(*stream.path);
    }
}

size_t SilenceWatch::find_streams(Stream *streams, sched::Nanos now)
{
    const sched::Nanos at =
        std::max(messages_.look(now, channel_.accepted(), channel_.arrived()),
                 questions_.look(now, channel_.questions().asked(),
                                 channel_.questions().answered()));
    if (at != program_at_) {
        runs_since_ = at - program_at_ > kRests ? now : runs_since_;
        program_at_ = at;
    }
    size_t count = find_lane(streams[0], now) ? 1 : 0;
    for (auto &path : bulk_.paths()) {
        count += find_path(streams[count], *path, now);
    }
    for (size_t i = 0; i < count; ++i) {
        if (ucs_likely(streams[i].wire != nullptr)) {
            hear(streams[i], now);
            rails_.wires().look_at_others(*streams[i].wire, now);
        }
    }
    return count;
}

void SilenceWatch::on_wire(const Wire &wire)
{
    if (wire.evidence.silent()) {
        leave(wire);
        return;
    }
    for (auto &path : bulk_.paths()) {
        if (path->stream.wire == &wire) {
            bulk_.on_speaking(*path);
        }
    }
}

/* What these bring is for the wire, whoever doubts it. */
void SilenceWatch::on_doubt(Wire &wire, sched::Nanos now)
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
    if (lane_.wire != &wire || !nic_tells_of_lane() || !channel_.rail()->by_ep() ||
        lane_.number != channel_.lane() || channel_.ep() == nullptr ||
        lane_.ep != channel_.ep() || !channel_.taken() ||
        channel_.has(ControlChannel::kConnecting)) {
        return;
    }
    /* The other NIC may have no room for messages, if its program does not look: then it
     * does not answer, which says nothing. */
    if (begin_for(wire, lane_.check, channel_.ep(), channel_.rail()->poll_index()) &&
        (channel_.unseen() == 0 || now - program_at_ < kLooks)) {
        rails_.wires().note_other(wire, now);
    }
}

/* True if the other NIC owes an answer now. */
bool SilenceWatch::begin_for(Wire &wire, EndpointCheck &check, uct_ep_h ep, unsigned index)
{
    return check.begin(ep, poller_, index, &wire.doubt.answered) && check.under_way();
}

/* Of queue pairs little is heard while all goes well. */
sched::Nanos SilenceWatch::lately(const Path &path)
{
    return carries_by_pair(path) ?
               sched::QuietClock::limit(path.rail.retry_time(), {}, {}) / 2 :
               Wires::kLately;
}

void SilenceWatch::on_told(uint8_t own, uint8_t remote)
{
    Path *path = bulk_.paths().find(own, remote, [](const Path &) { return true; });
    if (path != nullptr) {
        path->stream.unanswered = path->stream.unanswered || !path->room.connected;
    }
    /* Who only takes data has no more there than its lane, for what it says of them. */
    const bool by_path = path != nullptr && path->stream.wire != nullptr;
    Wire      *wire    = by_path                            ? path->stream.wire :
                         lane_is_stream_over(own, remote) ? lane_.wire : nullptr;
    if (wire != nullptr &&
        rails_.wires().may_be_silent(*wire, host_.now(),
                                     by_path ? lately(*path) : Wires::kLately)) {
        rails_.wires().proved_silent(*wire, host_.now());
        leave(*wire);
    }
}

bool SilenceWatch::lane_is_stream_over(uint8_t own, uint8_t remote) const
{
    const Rail *rail = channel_.rail();
    return rail != nullptr && rail->traits().stream && rail->index() == own &&
           channel_.remote() == remote && lane_.number == channel_.lane() &&
           lane_.ep == channel_.ep();
}

void SilenceWatch::leave(const Wire &wire)
{
    for (auto &path : bulk_.paths()) {
        if (path->stream.wire == &wire &&
            (carries_by_pair(*path) ||
             (path->state == Path::State::Ready && path->room.connected))) {
            bulk_.on_silent(*path);
        }
    }
    if (lane_.wire == &wire && lane_.number == channel_.lane() &&
        channel_.taken() && channel_.has_own_end()) {
        wireup_.on_silent();
    }
}

/* A path that the other kernel, NIC or thread of UCX does not answer: the others go on,
 * and it is tried again. Where it has, the peer's program has to look; if that is seen
 * to run for a while, its answer was lost. */
void SilenceWatch::look_at_connecting(Path &path, sched::Nanos now)
{
    StreamWatch &watch = path.stream.watch;
    StreamState  state;
    if (!watch.note(true, path.stream.ends, now)) {
        return;
    }
    if (path.rail.traits().stream) {
        const sched::Nanos waits    = now - watch.waits_from;
        const Wire        &wire     = wire_of(path);
        const bool         doubted  = path.stream.unanswered || wire.evidence.silent();
        const sched::Nanos patience = doubted ? sched::WireEvidence::kTry :
                                                ConnectTimer::kKernel;
        if (waits <= patience || !host_.streams().look(path.ep, state)) {
            return;
        }
        const bool lost = state.phase == StreamState::Phase::Connecting ||
                          (state.segments != 0 && state.retransmits != 0);
        if (lost && rails_.wires().heard_at(wire, now) > watch.waits_from + patience / 2) {
            bulk_.on_silent(path, true); /* what asks was, and that alone */
        } else if (state.phase == StreamState::Phase::Connecting ||
                   program_at_ > std::max(watch.waits_from, runs_since_) + patience / 2) {
            path.stream.unanswered = true;
            bulk_.on_silent(path);
        } else if (now - watch.probed_at >= std::min(patience, kLastAsk) / 4) {
            watch.probed_at = now;
            channel_.ask_seen();
        }
        return;
    }
    sched::QuietView view; /* what has come may not have been looked at */
    view.now           = now;
    view.since         = watch.began;
    view.limit         = ConnectTimer::kKernel;
    view.peer_heard_at = now;
    if (watch.quiet.look(view) == sched::QuietClock::Health::Dead) {
        bulk_.on_unanswered(path);
    }
}

void SilenceWatch::judge(Stream &stream, const Stream *all, size_t count,
                         sched::Nanos now)
{
    if (stream.check != nullptr) {
        judge_nic(stream, all, count, now);
        return;
    }
    const StreamState &state = stream.state;
    if (state.phase == StreamState::Phase::Connecting) {
        return;
    }
    if (ucs_unlikely(return_.may_be_felt(now)) &&
        (leave_behind(stream, now) ||
         (return_.is_recent(now) && return_.is_of_before(now - state.since_sent)))) {
        return;
    }
    const sched::StallView view =
        stream.stall_view({all, count}, program_at_, rails_.wires(), now);
    using sched::StallClock;
    using Health        = StallClock::Health;
    const Health health = stream.watch->clock.look(view);
    if (health == Health::Fine) {
        return;
    }
    const bool dead = health == Health::Dead;
    if (dead && stream.path != nullptr && state.retransmits >= StallClock::kFour &&
        state.since_sent > StallClock::kThere) {
        bulk_.on_left_behind(*stream.path); /* its wire may be good by now: the next one knows */
        return;
    }
    if (dead) {
        ucs_debug("fuselink: rail %s to %016lx is silent for %.1f ms: deadline %.1f ms%s, "
                  "round trip %.1f ms +- %.1f, %zu bytes in flight",
                  (stream.path != nullptr ? stream.path->rail : *channel_.rail())
                      .name().c_str(),
                  conn_.uuid(),
                  stream.watch->clock.silence().as_seconds() * 1e3,
                  sched::StallClock::deadline(view).as_seconds() * 1e3,
                  stream.path == nullptr ? ", messages" : "",
                  view.rtt.as_seconds() * 1e3, view.rtt_deviation.as_seconds() * 1e3,
                  static_cast<size_t>(state.in_flight().count()));
    }
    /* Of a lane that was asked the answer may have come another way, without what its
     * kernel would have told: only the lane moves. */
    const bool proves = stream.path != nullptr || view.much ||
                        stream.watch->clock.silence() > sched::StallClock::longest(view);
    if (dead && proves && stream.wire != nullptr &&
        rails_.wires().may_be_silent(*stream.wire, now)) {
        rails_.wires().proved_silent(*stream.wire, now); /* for all on it */
    }
    if (stream.path == nullptr && (dead || is_useless(stream, view))) {
        wireup_.on_silent();
    } else if (stream.path != nullptr && dead) {
        bulk_.on_silent(*stream.path);
    } else {
        probe(stream, all, count, now);
    }
}

/* True if it is one that waits for its kernel. One whose window was shut asks for room, which
 * was answered last before the return. Where the lane cannot move nobody could tell the peer. */
bool SilenceWatch::leave_behind(const Stream &stream, sched::Nanos now)
{
    using sched::ReturnClock;
    if (!wireup_.may_move()) {
        return false;
    }
    const StreamState &state = stream.state;
    const sched::Nanos sent  = now - state.since_sent;
    const sched::Nanos heard = stream.wire != nullptr ?
                                   rails_.wires().heard_at(*stream.wire, now) : sched::Nanos();
    const sched::Nanos answer = sched::StallClock::answer_within(
        state.rtt, state.rtt_deviation, state.tick);
    const bool waits = state.window_shut() ?
                           state.probes >= ReturnClock::kThree :
                           ReturnClock::waits(state.retransmits, sent + state.timeout, now);
    if (!waits || now - sent < answer ||
        !return_.is_left_behind(now - state.since_ack, sent, heard)) {
        return false;
    }
    if (stream.path == nullptr) {
        wireup_.on_left_behind();
    } else {
        bulk_.on_left_behind(*stream.path);
    }
    return true;
}

/* A lane moves without proof. Where others were acknowledged over the wire not so long ago it
 * waits for the kernel, which sends again what was lost: what it has sent may be behind what
 * others have, in a queue that it did not know. */
bool SilenceWatch::is_useless(const Stream &lane, const sched::StallView &view)
{
    using sched::StallClock;
    const StallClock  &clock   = lane.watch->clock;
    const sched::Nanos longest = StallClock::longest(view);
    if (clock.wire_silence() > longest) {
        return true; /* and the lane's own is no shorter */
    }
    return clock.silence() > std::max(longest, view.loses || view.drops ?
                                                   StallClock::kFourTake :
                                                   StallClock::kTwoTake);
}

/* Only what was asked, or ends by itself, can be silent. */
void SilenceWatch::judge_nic(Stream &stream, const Stream *all, size_t count,
                             sched::Nanos now)
{
    Path *path = stream.path;
    /* Also by a question of before the last end, of which others may have told. One of a
     * connection that is gone says nothing of this. */
    if (!stream.ends_by_itself() &&
        (!stream.check->under_way() || stream.watch->asked_at == sched::Nanos())) {
        return;
    }
    const sched::QuietView view = stream.quiet_view({all, count}, limit_of(stream),
                                                    program_at_, rails_.wires(), now);
    if (now - view.since >= kFirstCheck) {
        suspect_ports(now);
    }
    const auto health = stream.watch->quiet.look(view);
    if (health == sched::QuietClock::Health::Dead && path != nullptr) {
        leave_pair(*path, view.since, now);
    } else if (health == sched::QuietClock::Health::Dead) {
        ++lane_.left;
        wireup_.on_silent();
    } else if (health != sched::QuietClock::Health::Fine) {
        probe(stream, all, count, now);
        if (path != nullptr && path->pair_owns()) {
            rails_.wires().doubt(*stream.wire, &path->stream, view.since);
        }
    }
}

/* Where no other pair can be asked only this one is left: the others find out. */
void SilenceWatch::leave_pair(Path &path, sched::Nanos since, sched::Nanos now)
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

/* By the peer's program. */
void SilenceWatch::note_acknowledged(sched::Nanos now)
{
    if (lane_.acknowledged == channel_.acknowledged()) {
        return;
    }
    lane_.acknowledged = channel_.acknowledged();
    lane_.left         = 0;
    acknowledged_at_   = now;
    /* Of a lane that is no more nothing comes: it was told over another wire. What comes
     * over a stream its kernel knows. */
    if (lane_.wire != nullptr && lane_.number == channel_.lane() &&
        lane_.ep == channel_.ep() && !channel_.has(ControlChannel::kConnecting) &&
        !channel_.rail()->traits().stream) {
        rails_.wires().heard(*lane_.wire, now);
    }
}

void SilenceWatch::look_at_nic(sched::Nanos now)
{
    note_acknowledged(now);
    if (!waits_for_nic() || acknowledged_at_ == now) {
        lane_.waits_from = {};
    } else if (lane_.waits_from == sched::Nanos()) {
        lane_.waits_from = now;
        lane_.ports_at   = now + kFirstCheck;
    } else if (now >= lane_.ports_at) {
        lane_.ports_at = now + std::clamp((now - lane_.waits_from) / 4, kFirstCheck,
                                          kLastAsk);
        rails_.suspect_ports();
    }
}

/* Long before silence is proof: those here, and those of a peer whose program answers. */
void SilenceWatch::suspect_ports(sched::Nanos now)
{
    rails_.suspect_ports();
    if (channel_.ep() != nullptr && nic_tells_of_lane() &&
        now - lane_.watch.probed_at >= kFirstCheck) {
        lane_.watch.probed_at = now;
        channel_.ask_seen();
    }
}

/* A lane is left later each time. */
sched::Nanos SilenceWatch::limit_of(const Stream &stream) const
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

/* What is acknowledged by the kernels and NICs: the peer's program need not run. */
void SilenceWatch::probe(const Stream &suspect, const Stream *all, size_t count,
                         sched::Nanos now)
{
    for (size_t i = 0; i < count; ++i) {
        const Stream &stream = all[i];
        /* One that is full cannot take it, and one that has some to send needs no more: others
         * between the same two NICs may. */
        if ((stream.path != nullptr && !stream.state.unsent.is_zero()) ||
            (stream.watch != suspect.watch && stream.shares_wire(suspect) &&
             suspect.check == nullptr && suspect.state.unsent.is_zero()) ||
            now - stream.watch->probed_at <
                (suspect.check != nullptr ? kFirstCheck : kProbePause)) {
            continue;
        }
        stream.watch->probed_at = now;
        send_probe(stream, now);
    }
}

} // namespace fuselink

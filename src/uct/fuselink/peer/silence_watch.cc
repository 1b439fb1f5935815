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

} // namespace

void SilenceWatch::look(sched::Nanos now)
{
    Stream       streams[kMost];
    const size_t count   = find_streams(streams, now);
    nics_.look_at_lane(now);
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
            nics_.ask(streams[i], now);
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
    sched::Nanos heard   = std::max(program_at_, nics_.acknowledged_at());
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
        note_passed(stream, stream.watch->take(state, now), now);
    }
    rails_.wires().heard(*stream.wire, stream.carried_at(), now);
    rails_.wires().note_answers(*stream.wire, now);
}

/* When it was lost matters, so all that was is noted as soon as it is known. */
void SilenceWatch::note_passed(const Stream &stream, const StreamWatch::Passed &passed,
                               sched::Nanos now)
{
    if (passed.packets != 0) {
        rails_.wires().passed(*stream.wire, passed.packets, passed.lost, passed.since, now);
    }
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
        note_passed(stream, passed, now);
        rails_.wires().heard(*stream.wire, watch.acked_at, now);
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

void SilenceWatch::send_probe(const Stream &stream, sched::Nanos now)
{
    if (stream.check != nullptr) {
        nics_.check(stream, now);
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
    if (!lane_.is_of(channel_)) {
        lane_.begin(channel_);
    }
    if (ucs_unlikely(lane_.wire == nullptr)) {
        for (const auto &record : bulk_.table().rails) {
            if (record.index == channel_.remote()) {
                lane_.wire = &rails_.wires().between(rail, record);
            }
        }
    }
    nics_.note_acknowledged(now);
    if (nics_.tells_of_lane()) {
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
    const bool is_pair   = NicWatch::carries_by_pair(path);
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
        own.watch.take(state, now); /* it has connected, perhaps long ago */
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

void SilenceWatch::on_told(uint8_t own, uint8_t remote, bool carried)
{
    const sched::Nanos now  = host_.now();
    Path              *path = bulk_.paths().find(own, remote,
                                                 [](const Path &) { return true; });
    Wire              *wire = path != nullptr ? path->stream.wire : nullptr;
    if (path != nullptr) {
        path->stream.unanswered = path->stream.unanswered || !path->room.connected;
    }
    if (wire == nullptr && carried) {
        leave_lane(own, remote);
    } else if (wire != nullptr &&
               rails_.wires().may_be_silent(*wire, now, NicWatch::lately(*path))) {
        rails_.wires().proved_silent(*wire, now);
        leave(*wire);
    }
}

/* Who only answers has nothing but its lane there, which rests, and would be silent for long
 * before its deadline. It moves on the peer's word alone, unless its kernel has just heard
 * something. The wire is not marked: no path of ours would find out that it speaks again. */
void SilenceWatch::leave_lane(uint8_t own, uint8_t remote)
{
    StreamState state;
    if (channel_.ep() != nullptr && channel_.taken() && channel_.has_own_end() &&
        channel_.rail()->traits().stream &&
        channel_.rail()->index() == own && channel_.remote() == remote &&
        host_.streams().look(channel_.ep(), state) &&
        std::min(state.since_ack, state.since_received) >= Wires::kLately) {
        wireup_.on_silent();
    }
}

void SilenceWatch::leave(const Wire &wire)
{
    for (auto &path : bulk_.paths()) {
        if (path->stream.wire == &wire &&
            (NicWatch::carries_by_pair(*path) ||
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
            bulk_.on_silent(path, !lost); /* where a kernel has answered the wire carries */
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
        if (nics_.judge(stream, {all, count}, program_at_, now)) {
            probe(stream, all, count, now);
        }
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
                (suspect.check != nullptr ? NicWatch::kFirstCheck : kProbePause)) {
            continue;
        }
        stream.watch->probed_at = now;
        send_probe(stream, now);
    }
}

} // namespace fuselink

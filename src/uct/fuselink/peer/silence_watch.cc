/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "silence_watch.h"

#include <algorithm>

namespace fuselink {
namespace {

/* For the other kernel to answer: Linux asks again after a second. */
constexpr sched::Nanos kConnectTime = sched::Nanos::millis(1500);
constexpr sched::Nanos kProbePause = sched::Nanos::millis(10);
/* Between questions on a wire that is not suspected: a program may compute for long. */
constexpr sched::Nanos kFirstAsk = sched::Nanos::millis(20);
constexpr sched::Nanos kLastAsk  = sched::Nanos::millis(1000);

} // namespace

void SilenceWatch::look(sched::Nanos now)
{
    Stream       streams[kMost];
    const size_t count   = find_streams(streams, now);
    bool         suspect = false;
    for (size_t i = 0; i < count; ++i) {
        Stream &stream = streams[i];
        suspect        = suspect || stream.asked;
    }
    if (ucs_likely(!suspect)) {
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        ask(streams[i], now);
    }
    for (size_t i = 0; i < count && !conn_.failed(); ++i) {
        if (streams[i].asked) {
            judge(streams[i], streams, count, now);
        }
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
    watch.take(stream.state, now);
    if (stream.wire != nullptr) {
        rails_.wires().heard(*stream.wire, watch.acked_at);
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
        lane_said_ = channel_.said_seen();
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
        send_probe(stream);
    }
}

void SilenceWatch::send_probe(const Stream &stream)
{
    if (stream.path == nullptr) {
        channel_.ask_seen();
    } else {
        bulk_.probe(*stream.path);
    }
}

bool SilenceWatch::find_lane(Stream &lane, sched::Nanos now)
{
    if (channel_.ep() == nullptr || !channel_.taken() ||
        channel_.has(ControlChannel::kConnecting) ||
        !channel_.rail()->traits().stream) {
        return false;
    }
    if (lane_number_ != channel_.lane()) {
        lane_        = {};
        lane_wire_   = nullptr;
        lane_number_ = channel_.lane();
    }
    if (ucs_unlikely(lane_wire_ == nullptr)) {
        for (const auto &record : bulk_.table().rails) {
            if (record.index == channel_.remote()) {
                lane_wire_ = &rails_.wires().between(*channel_.rail(), record);
            }
        }
    }
    const bool asked = lane_.note(watches_lane(),
                                  channel_.acknowledged(), now);
    lane = {&lane_, lane_wire_, channel_.ep(), nullptr,
            channel_.rail()->index(), channel_.remote(), asked, {}};
    return true;
}

/* Something was sent on it that nobody may have received. */
bool SilenceWatch::watches(const Path &path) const
{
    return path.on_nic != 0 || !path.unacked.empty() ||
           path.stream.unconfirmed != 0;
}

size_t SilenceWatch::find_streams(Stream *streams, sched::Nanos now)
{
    if (heard_ != channel_.heard_seen()) {
        heard_      = channel_.heard_seen();
        program_at_ = now;
    }
    size_t count = find_lane(streams[0], now) ? 1 : 0;
    for (auto &path : bulk_.paths()) {
        if (path->state != Path::State::Ready || !path->rail.traits().stream ||
            path->ep == nullptr) {
            continue;
        }
        if (!path->room.connected) {
            look_at_connecting(*path, now);
            continue;
        }
        bulk_.learn_address(*path);
        Path::Stream &stream = path->stream;
        if (ucs_unlikely(stream.wire == nullptr)) {
            stream.wire = &rails_.wires().between(path->rail, path->remote);
        }
        const bool asked = stream.watch.note(watches(*path), stream.ends, now);
        streams[count++] = {&stream.watch, stream.wire, path->ep, path.get(),
                            path->rail.index(), path->remote.index, asked, {}};
    }
    for (size_t i = 0; i < count; ++i) {
        if (ucs_likely(streams[i].wire != nullptr)) {
            rails_.wires().heard(*streams[i].wire,
                                 streams[i].watch->heard_at());
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

void SilenceWatch::on_told(uint8_t own, uint8_t remote)
{
    const Path *path = bulk_.paths().find(own, remote, [](const Path &one) {
        return one.stream.wire != nullptr;
    });
    Wire *wire = path != nullptr ? path->stream.wire : nullptr;
    if (wire != nullptr && wire->evidence.may_be_silent(host_.now())) {
        rails_.wires().proved_silent(*wire, host_.now());
        leave(*wire);
    }
}

void SilenceWatch::leave(const Wire &wire)
{
    for (auto &path : bulk_.paths()) {
        if (path->stream.wire == &wire && path->state == Path::State::Ready &&
            path->room.connected) {
            bulk_.on_silent(*path);
        }
    }
    if (lane_wire_ == &wire && lane_number_ == channel_.lane() &&
        channel_.taken()) {
        wireup_.on_silent();
    }
}

/* A path that the other kernel does not answer: the others go on, and it is tried
 * again. Where it has, the peer's program has to look. */
void SilenceWatch::look_at_connecting(Path &path, sched::Nanos now)
{
    StreamState state;
    if (path.stream.watch.note(true, path.stream.ends, now) &&
        now - path.stream.watch.waits_from > kConnectTime &&
        host_.streams().look(path.ep, state) &&
        state.phase == StreamState::Phase::Connecting) {
        bulk_.on_silent(path);
    }
}

void SilenceWatch::judge(Stream &stream, const Stream *all, size_t count,
                         sched::Nanos now)
{
    const StreamState &state = stream.state;
    if (state.phase == StreamState::Phase::Connecting) {
        return;
    }
    sched::StallView view;
    view.now           = now;
    view.in_flight     = state.segments != 0;
    view.much          = state.in_flight().count() > 2 * uint64_t{state.mss};
    view.acked_at      = stream.watch->acked_at;
    view.sent_at       = now - state.since_sent;
    view.rtt           = state.rtt;
    view.rtt_deviation = state.rtt_deviation;
    view.retransmits   = state.retransmits;
    view.window_shut   = state.window_shut();
    view.probes        = state.probes;
    for (size_t i = 0; i < count; ++i) {
        const Stream &other = all[i];
        if (&other == &stream) {
            continue;
        }
        sched::Nanos &at = other.own == stream.own &&
                                   other.remote == stream.remote ?
                               view.pair_acked_at : view.peer_done_at;
        at = std::max(at, other.watch->heard_at());
        if (other.wire != stream.wire) {
            view.program_at = std::max(view.program_at, other.watch->done_at);
        }
    }
    view.program_at = std::max(view.program_at, program_at_);
    if (stream.wire != nullptr) { /* its own were earlier than what counts */
        view.pair_acked_at = std::max(view.pair_acked_at,
                                      stream.wire->evidence.heard_at());
    }
    using Health        = sched::StallClock::Health;
    const Health health = stream.watch->clock.look(view);
    if (health == Health::Fine) {
        return;
    }
    const bool dead = health == Health::Dead;
    if (dead && stream.wire != nullptr) {
        rails_.wires().proved_silent(*stream.wire, now); /* for all on it */
    }
    if (stream.path == nullptr &&
        (dead || stream.watch->clock.silence() >
                     sched::StallClock::longest(view))) {
        wireup_.on_silent();
    } else if (stream.path != nullptr && dead) {
        bulk_.on_silent(*stream.path);
    } else {
        probe(stream, all, count, now);
    }
}

/* What is acknowledged by the kernels: the peer's program need not run. */
void SilenceWatch::probe(const Stream &suspect, const Stream *all, size_t count,
                         sched::Nanos now)
{
    for (size_t i = 0; i < count; ++i) {
        const Stream &stream = all[i];
        const bool    other  = stream.own != suspect.own ||
                            stream.remote != suspect.remote;
        if ((stream.watch != suspect.watch && !other) ||
            now - stream.watch->probed_at < kProbePause) {
            continue;
        }
        stream.watch->probed_at = now;
        send_probe(stream);
    }
}

} // namespace fuselink

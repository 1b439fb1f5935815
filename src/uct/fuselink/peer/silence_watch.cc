/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "silence_watch.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Kernels acknowledge after 40 ms what comes alone, if nothing goes back, and also what
 * comes while the program does not read: it may be busy, or have no processor. */
constexpr sched::Nanos kDelayedAck = sched::Nanos::millis(40);
/* For the other kernel to answer: Linux asks again after a second. */
constexpr sched::Nanos kConnectTime = sched::Nanos::millis(1500);
constexpr sched::Nanos kProbePause = sched::Nanos::millis(10);

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
        Stream &stream = streams[i];
        /* Of one that has nothing under way only if it was given a probe. */
        const bool probed = stream.watch->probed_at + kProbePause * 10 > now;
        if ((stream.asked || probed) &&
            host_.streams().look(stream.ep, stream.state)) {
            stream.watch->take(stream.state, now);
            if (stream.state.segments == 0 && stream.state.unsent.is_zero()) {
                stream.watch->waits_from = now; /* nothing can be silent */
            }
        } else {
            stream.asked = false;
        }
    }
    for (size_t i = 0; i < count && !conn_.failed(); ++i) {
        if (streams[i].asked) {
            judge(streams[i], streams, count, now);
        }
    }
}

size_t SilenceWatch::find_streams(Stream *streams, sched::Nanos now)
{
    size_t count = 0;
    if (channel_.ep() != nullptr && channel_.taken() &&
        !channel_.has(ControlChannel::kConnecting) &&
        channel_.rail()->traits().stream) {
        if (lane_number_ != channel_.lane()) {
            lane_        = {};
            lane_number_ = channel_.lane();
        }
        const bool asked = lane_.note(channel_.unseen() != 0,
                                      channel_.acknowledged(), now);
        streams[count++] = {&lane_, channel_.ep(), nullptr,
                            channel_.rail()->index(), channel_.remote(), asked,
                            {}};
    }
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
        const bool asked = path->watch.note(path->on_nic != 0, path->ends, now);
        streams[count++] = {&path->watch, path->ep, path.get(),
                            path->rail.index(), path->remote.index, asked, {}};
    }
    return count;
}

/* A path that the other kernel does not answer: the others go on, and it is tried
 * again. Where it has, the peer's program has to look. */
void SilenceWatch::look_at_connecting(Path &path, sched::Nanos now)
{
    StreamState state;
    if (path.watch.note(true, path.ends, now) &&
        now - path.watch.waits_from > kConnectTime &&
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
    }
    using Health        = sched::StallClock::Health;
    const Health health = stream.watch->clock.look(view);
    if (health == Health::Fine) {
        return;
    }
    const sched::Nanos silence = stream.watch->clock.silence();
    /* Probes of a shut window a kernel answers at once, whatever its program does. */
    const bool         enough  = view.window_shut ?
                                     health == Health::Dead :
                                     silence > sched::StallClock::deadline(view) +
                                                   kDelayedAck;
    if (enough && stream.path == nullptr) {
        wireup_.on_silent();
    } else if (enough && health == Health::Dead) {
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
        if (stream.path == nullptr) {
            channel_.ask_seen();
        } else {
            bulk_.probe(*stream.path);
        }
    }
}

} // namespace fuselink

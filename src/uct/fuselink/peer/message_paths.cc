/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "message_paths.h"

#include <algorithm>
#include <utility>

namespace fuselink {
namespace {

constexpr size_t kLane = 0; /* paths have the numbers behind it */

/* Segments wait on their way, by the kernel's round trips, lately and ever; or a processor is
 * late, which looks the same. */
constexpr sched::Nanos kQueued = sched::Nanos::micros(10);
/* Of messages, between two looks: less is carried by any wire. */
constexpr uint64_t kMuch = 4096;
/* Of a message, in the mean: shorter ones keep processors busy, and not wires. */
constexpr uint64_t kLong = 72;
/* Messages between two looks whose mean length says something. */
constexpr wire::MessageNumber kSome = 16;
/* So long nothing is tried behind what the peer has tried. */
constexpr sched::Nanos kYields = sched::Nanos::millis(100);

bool queues(const StreamState &state)
{
    return state.least_rtt > sched::Nanos() && state.rtt >= state.least_rtt * 2 &&
           state.rtt - state.least_rtt >= kQueued;
}

} // namespace

/* Of what is no stream, nobody knows the speed here, nor what was lost. */
bool MessagePaths::lane_counts() const
{
    return channel_.ep() != nullptr && channel_.taken() &&
           channel_.rail()->traits().stream &&
           !channel_.has(ControlChannel::kConnecting | ControlChannel::kWiring |
                         ControlChannel::kFailed);
}

/* Not one between the lane's own NICs. */
bool MessagePaths::suits(const Path &path) const
{
    return path.rail.traits().stream && !path.by_messages && path.has_link() &&
           (&path.rail != channel_.rail() || path.remote.index != channel_.remote()) &&
           bulk_.paths().in_play(path);
}

/* Now. One whose wire is silent is connected, to find out whether it still is. UCX's TCP goes
 * on with the acknowledgements of puts that it has received when a completion returns, and
 * must not find the connection broken in a call from there. */
bool MessagePaths::may_take(const Path &path) const
{
    return path.state == Path::State::Ready && path.room.connected &&
           !path.room.blocked && !path.messages.pin.held &&
           (path.on_nic == 0 || !poller_.busy()) && suits(path) &&
           (path.stream.wire == nullptr || !path.stream.wire->evidence.silent());
}

/* True if it may be worth it to use several. */
bool MessagePaths::look_at_lane(sched::Nanos now)
{
    StreamState state;
    if (!host_.streams().look(channel_.ep(), state)) {
        return false;
    }
    if (spread_) {
        if (lane_ != channel_.lane()) {
            spread_->wires.reset(kLane);
        }
        spread_->wires.look(kLane, now, sched::Bytes(state.acked), state.unacked);
    }
    lane_ = channel_.lane();
    return queues(state);
}

/* Connects those that are wanted. True if one can be used. */
bool MessagePaths::look_at_paths(sched::Nanos now, bool wanted)
{
    bool   any  = false;
    size_t wire = kLane;
    if (wanted) {
        bulk_.revive(now);
    }
    for (const auto &path : bulk_.paths()) {
        ++wire;
        if (!suits(*path)) {
            continue;
        }
        if (path->state == Path::State::Idle && wanted) {
            spread_->wires.reset(wire);
            bulk_.connect(*path);
        }
        StreamState state;
        if (path->has_messages() && host_.streams().look(path->ep, state)) {
            spread_->wires.look(wire, now, sched::Bytes(state.acked), state.unacked);
            if (path->messages.acked != 0 && state.acked > path->messages.acked) {
                bulk_.carries(*path);
            }
            path->messages.acked = state.acked;
        }
        any = any || may_take(*path);
    }
    return any;
}

void MessagePaths::spread(bool several, uint8_t marks)
{
    if (several != channel_.spreads()) {
        ucs_debug("fuselink: messages go over %s; rail %s carries %.1f MB/s of them",
                  several ? "several NICs" : "one NIC",
                  channel_.rail() != nullptr ? channel_.rail()->name().c_str() : "-",
                  spread_->wires.rate(kLane).bytes_per_second() / 1e6);
    }
    channel_.spread(several, marks);
}

/* Not while the peer does. */
bool MessagePaths::may_try(sched::Nanos now, bool wanted)
{
    if (!wanted) {
        return false;
    }
    if (wanted_at_ == sched::Nanos()) {
        wanted_at_ = now;
    }
    return (!yields_ || now - wanted_at_ >= kYields) && now - told_at_ >= kYields;
}

/* Messages of the peer's users, lately. */
bool MessagePaths::hears(sched::Nanos now)
{
    if (heard_ != came_) {
        heard_    = came_;
        heard_at_ = now;
    }
    return now - heard_at_ < kYields;
}

/* It uses several if we do, and one if we do: of two that wait for each other, one alone
 * gains nothing. */
bool MessagePaths::peer_follows(sched::Nanos now)
{
    const bool several = beside_ != std::exchange(looked_beside_, beside_);
    return several == channel_.spreads() || !hears(now);
}

void MessagePaths::look(sched::Nanos now)
{
    if (use_ == Use::One) {
        return;
    }
    if (!lane_counts()) {
        channel_.spread(false, 0);
        if (spread_) {
            spread_->trial.stop(now);
        }
        return;
    }
    const bool     told  = hears(now) && marks_ != 0;
    const uint64_t sent  = channel_.accepted();
    const uint64_t bytes = sent - std::exchange(sent_, sent);
    const wire::MessageNumber next     = channel_.next_number();
    const wire::MessageNumber messages = next - std::exchange(next_, next);
    const bool much = use_ == Use::All ||
                      (std::max(bytes, sent - channel_.arrived()) >= kMuch &&
                       bytes >= uint64_t{kLong} * messages);
    told_at_ = told ? now : told_at_;
    if (!much && !told && !channel_.spreads() && !tries()) {
        return;
    }
    const bool wanted = (look_at_lane(now) && much) || use_ == Use::All;
    if (!spread_ && (wanted || told)) {
        spread_ = std::make_unique<Spread>();
    }
    if (!spread_) {
        return;
    }
    if (told && yields_) {
        spread_->trial.stop(now);
    }
    const bool any = look_at_paths(now, wanted || told || channel_.spreads());
    if (use_ == Use::All) {
        spread(any, 0);
    } else {
        if (messages >= kSome) {
            look_at_length(now, bytes / messages);
        }
        follow_trial(now, any && may_try(now, wanted),
                     any && told && (marks_ & wire::kSpreads) != 0);
    }
}

/* Longer or shorter messages than when it was decided are other work. */
void MessagePaths::look_at_length(sched::Nanos now, uint64_t length)
{
    uint64_t &decided = spread_->length;
    if (tries() || decided == 0) {
        decided = tries() ? 0 : length;
    } else if (length > decided * 2 || length * 2 < decided) {
        spread_->trial.note_other_work(now);
    }
}

/* `may`: begin a trial; `follows`: the peer uses several. */
void MessagePaths::follow_trial(sched::Nanos now, bool may, bool follows)
{
    const bool own = spread_->trial.look(now, sched::Bytes(channel_.accepted()),
                                         sched::Bytes(channel_.arrived()), may,
                                         peer_follows(now));
    spread(own || (follows && !tries()),
           static_cast<uint8_t>((own ? wire::kSpreads : 0) |
                                (tries() ? wire::kTries : 0)));
}

SideLanes::Side MessagePaths::choose()
{
    chosen_at_   = host_.now();
    chosen_      = nullptr;
    chosen_wire_ = kLane;
    sched::Nanos best = spread_->wires.free_at(kLane, {}, chosen_at_);
    size_t       wire = kLane;
    for (const auto &path : bulk_.paths()) {
        ++wire;
        if (!may_take(*path)) {
            continue;
        }
        const sched::Nanos at = spread_->wires.free_at(wire, path->meter.in_flight(),
                                                       chosen_at_);
        if (at < best) {
            best         = at;
            chosen_      = path.get();
            chosen_wire_ = wire;
        }
    }
    return chosen_ == nullptr ? Side{} : Side{chosen_->ep, &chosen_->messages.pin};
}

void MessagePaths::gave(ucs_status_t status, size_t length)
{
    Path &path = *std::exchange(chosen_, nullptr);
    if (status == UCS_OK) {
        path.messages.ep = path.ep;
        bulk_.paths().note_notice(path);
        spread_->wires.gave(chosen_wire_, sched::Bytes(length), chosen_at_);
    } else if (status == UCS_ERR_NO_RESOURCE || PathRecovery::is_calls_error(status)) {
        bulk_.no_room(path);
    } else {
        bulk_.post_failed(path, status);
    }
}

void MessagePaths::lane_took(size_t length)
{
    spread_->wires.gave(kLane, sched::Bytes(length), chosen_at_);
}

bool MessagePaths::are_through()
{
    bool through = true;
    for (const auto &path : bulk_.paths()) {
        if (path->has_messages()) {
            through = bulk_.is_through(*path) && through;
        }
    }
    return through;
}

void MessagePaths::look_at_gone()
{
    if (ucs_likely(!spread_)) {
        return;
    }
    for (const auto &path : bulk_.paths()) {
        if (path->messages.ep != nullptr && !path->has_messages()) {
            path->messages.ep    = nullptr;
            path->messages.acked = 0;
            channel_.resend(path->rail.health.messages_resent());
        }
    }
}

} // namespace fuselink

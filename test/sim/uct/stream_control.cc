/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "stream_control.h"

#include "stream_ep.h"

#include <algorithm>

namespace fuselink::sim {
namespace {

/* What a look costs, and an end: system calls. */
constexpr Instant kLeastCost = 500, kMostCost = 2000;

StreamEp *stream_of(uct_ep *ep)
{
    StreamEp *stream = SimEp::from(ep).as_stream();
    return stream != nullptr && stream->stream != nullptr &&
                   stream->stream->ends[stream->side].ep == stream ?
               stream : nullptr;
}

/* Who connected has a port of its own; who accepted, that of the interface. */
SocketAddress address_of(const Stream &stream, unsigned side)
{
    const Stream::End &end = stream.ends[side];
    SocketAddress      address;
    uint8_t            ip[4];
    ip_of(*end.nic, ip);
    address.family = 4;
    std::copy(std::begin(ip), std::end(ip), address.ip.begin());
    address.port = side == 0 ? stream.port :
                               static_cast<uint16_t>(end.iface_id);
    return address;
}

/* What the other kernel last answered out of its place, before a window was shut: it
 * hangs on the connection alone, so that nothing else is drawn differently. */
Instant rested(const Stream &stream, const Stream::End &end)
{
    const uint64_t mixed = (stream.port * 0x9e3779b97f4a7c15u) ^ end.acked;
    return static_cast<Instant>(mixed % (2 * RoomProbes::kRest));
}

/* What leaves now waits so long at its own NIC, and at the one that it goes to. */
Instant queued(const Stream::End &end, const Stream::End &to, Instant now)
{
    return end.nic == nullptr || to.nic == nullptr ?
               0 : std::max<Instant>({end.nic->out_free - now, to.nic->in_free - now, 0});
}

/* Whoever names a connection of long ago keeps the one that is meant. */
void check_named(StreamIface &accepting, const SocketAddress &far)
{
    World      &world = accepting.world();
    const auto &all   = world.streams();
    const auto  named = std::find_if(all.begin(), all.end(), [&](const auto &one) {
        return address_of(*one, 0) == far;
    });
    if (named == all.end()) {
        return;
    }
    for (auto it = named + 1; it != all.end(); ++it) {
        const Stream::End &from = (*it)->ends[0], &to = (*it)->ends[1];
        if (from.iface_id == (*named)->ends[0].iface_id && from.ended &&
            to.iface == &accepting && !to.ended && !(*it)->has_messages) {
            world.journal().violate("a connection is to be ended that is gone, and "
                                    "a later one stays, which its sender has ended");
            return;
        }
    }
}

StreamState::Phase phase_of(const Stream &stream, unsigned side)
{
    const Stream::End &end = stream.ends[side];
    if (end.error || end.eof || end.closed) {
        return StreamState::Phase::Closed;
    }
    return side == 0 && !stream.answered ? StreamState::Phase::Connecting :
                                           StreamState::Phase::Established;
}

} // namespace

/* Kernels take less here than anybody asks for. A socket may have gone by now. */
void SimStreamControl::bound(uct_ep *ep, sched::Bytes)
{
    if (SimEp::from(ep).owner().as_stream() == nullptr) {
        SimEp::from(ep).world().journal().violate("a bound for what is no connection");
    }
}

bool SimStreamControl::look(uct_ep *ep, StreamState &state)
{
    StreamEp *one = stream_of(ep);
    if (one == nullptr) {
        return false;
    }
    World &world = one->world();
    world.spend(kLeastCost, kMostCost);
    Stream            &stream  = *one->stream;
    Stream::End       &end     = stream.ends[one->side];
    const Stream::End &other   = stream.ends[1 - one->side];
    const Profile     &profile = world.profile();
    const Instant      now     = world.time().now();
    const size_t       room    = profile.receive_buffer;
    using sched::Nanos;

    state          = {};
    state.phase    = phase_of(stream, one->side);
    state.unsent   = sched::Bytes(end.to_send_bytes);
    state.unacked  = sched::Bytes(end.to_send_bytes + end.on_wire);
    state.mss      = static_cast<uint32_t>(profile.segment);
    state.segments = static_cast<uint32_t>(
        (end.on_wire + profile.segment - 1) / profile.segment);
    state.acked       = end.acked;
    /* Elsewhere nothing is lost for a program to see. */
    state.resent      = profile.tail_probe != 0 ? end.resent + end.out->resent() : 0;
    state.received    = end.came;
    state.packets     = one->side == 0 && !stream.answered ? stream.refused :
                                                             2 + end.came / 4096;
    state.retransmits = state.backoff = std::max(end.out->tries(),
                                                 end.unheard_tries);
    state.window      = static_cast<uint32_t>(
        room - std::min(room, other.received_bytes));
    const Instant both = end.out->delay() + other.out->delay();
    if (state.window_shut() && state.phase == StreamState::Phase::Established) {
        if (!end.probes.asks()) {
            end.probes.start(end.acked_at, profile.send_again, rested(stream, end));
        }
        end.probes.pass(now, both + queued(end, other, now) + queued(other, end, now),
                        !end.out->is_silent() && !other.out->is_silent());
        end.acked_at  = std::max(end.acked_at, end.probes.heard_at());
        state.probes  = end.probes.unanswered();
        state.backoff = state.probes + 1;
    } else {
        end.probes.stop();
    }
    state.since_ack      = Nanos(now - end.acked_at);
    state.since_sent     = Nanos(now - std::max(end.sent_at,
                                                end.out->last_sent()));
    state.since_received = Nanos(now - end.came_at);
    state.rtt           = Nanos(both + queued(end, other, now));
    state.least_rtt     = Nanos(both);
    state.rtt_deviation = Nanos(both / 8);
    state.timeout       = Nanos(profile.send_again << std::min(
                                    state.backoff, profile.most_doubles));
    if (end.busy_acked != 0 && end.acked_at > end.busy_since) {
        state.delivery = static_cast<double>(end.busy_acked) * 1e9 /
                         static_cast<double>(end.acked_at - end.busy_since);
    }
    state.starved = end.to_send.empty();
    return true;
}

bool SimStreamControl::addresses(uct_ep *ep, SocketAddress &here,
                                 SocketAddress &there)
{
    StreamEp *one = stream_of(ep);
    if (one == nullptr || one->stream->ends[one->side].ended) {
        return false;
    }
    here  = address_of(*one->stream, one->side);
    there = address_of(*one->stream, 1 - one->side);
    return true;
}

bool SimStreamControl::end(uct_ep *ep, bool has_link)
{
    if (StreamIface *owner = SimEp::from(ep).owner().as_stream()) {
        ++owner->process().streams_of[owner->nic().ip_device].given_up;
    }
    StreamEp *one = stream_of(ep);
    if (one == nullptr || one->state != StreamEp::State::Connected) {
        return false;
    }
    one->world().spend(kLeastCost, kMostCost);
    one->world().count(Count::StreamsEnded);
    one->stream->end(one->side, has_link);
    return true;
}

unsigned SimStreamControl::end_from(uct_iface *iface, const SocketAddress &far,
                                    bool has_link)
{
    StreamIface *accepting = SimIface::from(iface).as_stream();
    if (accepting == nullptr) {
        return 0;
    }
    accepting->world().spend(kLeastCost, 10 * kMostCost);
    unsigned count = 0;
    for (const auto &stream : accepting->streams()) {
        Stream::End &end = stream->ends[1];
        if (end.iface == accepting && !end.ended &&
            address_of(*stream, 0) == far) {
            stream->end(1, has_link);
            ++count;
        }
    }
    if (count == 0) {
        check_named(*accepting, far);
    }
    accepting->world().count(Count::EndedFrom, count);
    return count;
}

bool SimStreamControl::discard(uct_ep *ep)
{
    StreamEp *one = stream_of(ep);
    if (one == nullptr) {
        return false;
    }
    one->world().spend(kLeastCost, kMostCost);
    while (!one->stream->ends[one->side].received.empty()) {
        one->stream->read(one->side);
    }
    return true;
}

} // namespace fuselink::sim

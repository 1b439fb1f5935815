/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "faults.h"

#include "../fabric/queue_pair.h"
#include "../fabric/stream.h"
#include "../uct/datagram_iface.h"
#include "../uct/stream_iface.h"
#include "edge/rails_iface.h"
#include "engine/engine.h"

#include <algorithm>

namespace fuselink::sim {
namespace {

constexpr Instant kLongestPause = 20 * kMillisecond;
constexpr Instant kLongestDelay = 20 * kMillisecond; /* of packets, in a network */

/* Those that are connected at both ends and `fits` takes, of the pair and its peer. */
template <typename Fits>
std::vector<std::shared_ptr<QueuePair>> connected_pairs(World &world, Fits &&fits)
{
    std::vector<std::shared_ptr<QueuePair>> fit;
    for (const auto &[number, pair] : world.queue_pairs()) {
        auto peer = pair->other();
        if (pair->state == QueuePair::State::Connected && peer &&
            peer->state == QueuePair::State::Connected && fits(*pair, *peer)) {
            fit.push_back(pair);
        }
    }
    return fit;
}

} // namespace

void Faults::begin(std::vector<Actor *> programs)
{
    programs_ = std::move(programs);
    for (const Fault &fault : scenario_.faults) {
        world_.time().at(fault.when, [this, &fault] {
            if (!over_) {
                happen(fault);
            }
        });
    }
}

void Faults::prepare()
{
    for (const Fault &fault : scenario_.faults) {
        if (fault.kind == Fault::Kind::Late) {
            world_.nics(scenario_.node_of(fault.process))[fault.nic].plugged = false;
        }
    }
}

void Faults::end()
{
    over_ = true;
    for (size_t node = 0; node < world_.nodes(); ++node) {
        for (Nic &nic : world_.nics(static_cast<unsigned>(node))) {
            nic.mute = nic.deaf = false;
            world_.plug(nic, true);
            nic.jitter = 0;
        }
    }
    for (auto &process : world_.processes()) {
        process->stopped = false;
    }
}

void Faults::happen(const Fault &fault)
{
    using F       = Fault::Kind;
    Process &process = *world_.processes()[fault.process];
    Nic     &nic     = world_.nics(process.node())[fault.nic];
    const bool mild = fault.kind == F::Slow || fault.kind == F::Jitter ||
                      fault.kind == F::BreakBulk ||
                      fault.kind == F::NoRegistration ||
                      fault.kind == F::FewQueuePairs ||
                      fault.kind == F::SlowCopies ||
                      fault.kind == F::BreakNotice ||
                      fault.kind == F::BreakHeld ||
                      fault.kind == F::BreakDatagrams ||
                      fault.kind == F::LagPair ||
                      fault.kind == F::BreakLane || fault.kind == F::Late;
    world_.lanes_may_fail = world_.lanes_may_fail || !mild;
    world_.journal().note(name_of(fault.kind), fault.process, fault.nic,
                          static_cast<uint64_t>(fault.time), fault.amount);
    switch (fault.kind) {
    case F::Mute:
        silence(fault, true, false);
        break;
    case F::Deaf:
        silence(fault, false, true);
        break;
    case F::Silent:
        silence(fault, true, true);
        break;
    case F::Unplug:
        unplug(fault);
        break;
    case F::Late:
        world_.plug(nic, true);
        break;
    case F::Slow: {
        const double rate = nic.rate;
        nic.rate          = std::max(rate / 50, 1e6);
        world_.time().after(fault.time, [&nic, rate] { nic.rate = rate; });
        break;
    }
    case F::Jitter:
        nic.jitter = fault.time / 20;
        world_.time().after(fault.time, [&nic] { nic.jitter = 0; });
        break;
    case F::BreakBulk:
        if (scenario_.breaks_again) {
            world_.breaks_again = 1; /* after three the bytes are blamed */
            world_.again_after  = fault.amount % 20'000;
        }
        break_connection(fault, true, kMicrosecond);
        break;
    case F::BreakAny:
        break_connection(fault, false, kMicrosecond);
        break;
    case F::LagPair:
        lag_pair(fault, kMicrosecond);
        break;
    case F::BreakOwn:
        break_own(fault, fault.amount);
        break;
    case F::BreakNotice:
        world_.notice_to_hold = 1 + static_cast<unsigned>(fault.amount % 6);
        break;
    case F::SilentNotice:
        world_.notice_to_hold    = 1 + static_cast<unsigned>(fault.amount % 6);
        world_.silence_of_notice = fault.time;
        break;
    case F::BreakHeld:
        break_connection(fault, true, kMicrosecond);
        break;
    case F::SilentAgain:
        world_.silence_of_put = world_.silence_again = fault.time;
        break;
    case F::BreakDatagrams:
        break_datagrams(fault, kMicrosecond);
        break;
    case F::BreakLane:
        break_lane(fault, kMicrosecond);
        break;
    case F::Stop:
        if (!process.stopped) {
            world_.count(Count::Stops);
            process.stopped = true;
            /* What is cancelled has 3 s. */
            if (fault.time > std::min(world_.profile().patience / 8,
                                      2 * kSecond)) {
                ledger_.excuse_all(process.index());
            }
            world_.time().after(fault.time,
                                [&process] { process.stopped = false; });
        }
        break;
    case F::Kill:
        if (!programs_[fault.process]->gone()) {
            programs_[fault.process]->kill();
        }
        break;
    case F::NoRegistration:
        process.registrations_to_fail +=
            1 + static_cast<unsigned>(fault.amount % 4);
        break;
    case F::FewSockets:
        process.most_sockets = process.sockets +
                               static_cast<unsigned>(fault.amount % 3);
        ledger_.excuse_all(process.index());
        world_.may_hang = "a process without descriptors";
        break;
    case F::SlowCopies: {
        Gpu         &gpu  = process.gpu;
        const double rate = gpu.rate;
        gpu.rate          = std::max(rate / 20, 1e7);
        world_.time().after(fault.time, [&gpu, rate] { gpu.rate = rate; });
        break;
    }
    case F::NoCopy: /* a GPU that is broken: who uses it hears of it */
        if (process.has_gpu()) {
            process.gpu.copies_to_fail += 1 + static_cast<unsigned>(
                                                  fault.amount % 3);
            ledger_.excuse_all(process.index());
        }
        break;
    case F::FewQueuePairs:
        nic.most_queue_pairs = nic.queue_pairs +
                               static_cast<unsigned>(fault.amount % 3);
        break;
    }
}

void Faults::silence(const Fault &fault, bool mute, bool deaf)
{
    Process &process = *world_.processes()[fault.process];
    Nic     &nic     = world_.nics(process.node())[fault.nic];
    nic.mute         = nic.mute || mute;
    nic.deaf         = nic.deaf || deaf;
    note_loss();
    excuse_silence(fault);
    world_.time().after(fault.time, [this, &nic] {
        nic.mute = nic.deaf = false;
        world_.back_at      = world_.time().now();
    });
}

void Faults::unplug(const Fault &fault)
{
    Nic &nic = world_.nics(world_.processes()[fault.process]->node())[fault.nic];
    world_.plug(nic, false);
    note_loss();
    excuse_silence(fault);
    world_.time().after(fault.time, [this, &nic] { world_.plug(nic, true); });
}

/* All goes over the other NICs. Where there is none, or there are only datagrams, the
 * kernel's and the NIC's own limits decide: longer than these, and peers may lose each
 * other. */
void Faults::excuse_silence(const Fault &fault)
{
    const Process &process  = *world_.processes()[fault.process];
    const bool     survives = scenario_.nics > 1 &&
                              scenario_.wires != Wires::Ud;
    if (scenario_.none_reaches ||
        (!survives && fault.time > world_.profile().patience / 16)) {
        for (const auto &other : world_.processes()) {
            if (other->node() == process.node()) {
                ledger_.excuse_all(other->index());
            }
        }
    }
}

/* Where there is none that it could be, later: connections are made when they are
 * wanted. */
void Faults::break_connection(const Fault &fault, bool bulk_only, Instant pause)
{
    const bool pairs_first = fault.amount % 2 == 0;
    const bool done =
        pairs_first ? break_pair(fault, bulk_only) ||
                          break_stream(fault, bulk_only) :
                      break_stream(fault, bulk_only) ||
                          break_pair(fault, bulk_only);
    if (!done && pause < kLongestPause) {
        world_.time().after(pause, [this, &fault, bulk_only, pause] {
            if (!over_) {
                break_connection(fault, bulk_only, pause * 5 / 4);
            }
        });
    }
}

/* The pair carries bulk data alone: another one between the two has the messages,
 * and is older. */
bool Faults::is_bulk(const QueuePair &pair, const QueuePair &peer) const
{
    if (pair.has_messages || peer.has_messages || !pair.has_data ||
        !pair.is_proved() || !peer.is_proved()) {
        return false;
    }
    for (const auto &[number, other] : world_.queue_pairs()) {
        auto end = other->other();
        if (number < pair.number && end && &other->process == &pair.process &&
            &end->process == &peer.process &&
            other->state == QueuePair::State::Connected &&
            (other->has_messages || end->has_messages)) {
            return true;
        }
    }
    return false;
}

bool Faults::break_stream(const Fault &fault, bool bulk_only)
{
    std::vector<std::shared_ptr<Stream>> fit;
    for (const auto &stream : world_.streams()) {
        if (stream->ends[0].iface == nullptr ||
            stream->ends[1].iface == nullptr || stream->ends[0].error ||
            stream->ends[1].error) {
            continue;
        }
        if (!bulk_only || !stream->has_messages) {
            fit.push_back(stream);
        }
    }
    if (fit.empty()) {
        return false;
    }
    const auto    &stream = fit[fault.amount / 2 % fit.size()];
    const unsigned side   = stream->has_messages ? fault.amount / 4 % 2 : 0;
    if (fault.kind == Fault::Kind::BreakHeld) {
        stream->hold_for[side] = fault.time;
    }
    stream->reset_after(side, fault.amount);
    return true;
}

/* As soon as its NIC has a put or a get; in most cases the other end hears of nothing,
 * and what was sent comes late. */
void Faults::break_lane(const Fault &fault, Instant pause)
{
    for (const auto &[number, pair] : world_.queue_pairs()) {
        auto       peer = pair->other();
        const bool rma  = std::any_of(
            pair->posted.begin(), pair->posted.end(), [](const auto &work) {
                return work->kind == PairWork::Kind::Put ||
                       work->kind == PairWork::Kind::Get;
            });
        if (rma && pair->has_messages &&
            pair->state == QueuePair::State::Connected && peer &&
            peer->state == QueuePair::State::Connected) {
            pair->fail_in = fault.amount;
            pair->late_by = fault.time;
            return;
        }
    }
    if (pause < kLongestPause) {
        world_.time().after(pause, [this, &fault, pause] {
            if (!over_) {
                break_lane(fault, pause * 21 / 20);
            }
        });
    }
}

/* As soon as one has something on its way. */
void Faults::lag_pair(const Fault &fault, Instant pause)
{
    const Process &process = *world_.processes()[fault.process];
    const auto     fit     = connected_pairs(world_, [&](QueuePair &pair, QueuePair &peer) {
        return &pair.process == &process && !pair.posted.empty() && is_bulk(pair, peer);
    });
    if (!fit.empty() && fit[fault.amount % fit.size()]->lag(fault.time)) {
        world_.count(Count::Lags);
    } else if (pause < kLongestPause) {
        world_.time().after(pause, [this, &fault, pause] {
            if (!over_) {
                lag_pair(fault, pause * 21 / 20);
            }
        });
    }
}

void Faults::break_datagrams(const Fault &fault, Instant pause)
{
    std::vector<DatagramEp *> fit;
    for (DatagramEp *ep : world_.datagrams()) {
        if (ep->is_bulk()) {
            fit.push_back(ep);
        }
    }
    if (!fit.empty()) {
        world_.count(Count::DatagramErrors);
        fit[fault.amount % fit.size()]->lose();
    } else if (pause < kLongestPause) {
        world_.time().after(pause, [this, &fault, pause] {
            if (!over_) {
                break_datagrams(fault, pause * 5 / 4);
            }
        });
    }
}

void Faults::break_all(Process &process)
{
    world_.lanes_may_fail = true;
    note_loss();
    const auto streams = world_.streams(); /* more may come meanwhile */
    for (const auto &stream : streams) {
        for (unsigned side : {0u, 1u}) {
            if (stream->ends[side].iface != nullptr &&
                &stream->ends[side].iface->process() == &process) {
                stream->reset(1 - side);
                break;
            }
        }
    }
    const auto pairs = world_.queue_pairs();
    for (const auto &[number, pair] : pairs) {
        if (&pair->process == &process &&
            pair->state == QueuePair::State::Connected) {
            pair->fail(true);
        }
    }
}

bool Faults::break_pair(const Fault &fault, bool bulk_only)
{
    const auto fit = connected_pairs(world_, [&](QueuePair &pair, QueuePair &peer) {
        return !bulk_only || is_bulk(pair, peer);
    });
    if (fit.empty()) {
        return false;
    }
    const auto &pair = fit[fault.amount / 2 % fit.size()];
    pair->fail_in = fault.amount;
    if (!bulk_only && fault.amount % 3 == 0) {
        pair->late_by = 1 + fault.time % kLongestDelay;
    }
    return true;
}

/* One pair after the other, so many times in all, each when all that the process has have
 * carried data: of several at once bytes would be blamed that happen to be on three. Those
 * that break again when they are made rest for longer: two are enough then. */
void Faults::break_own(const Fault &fault, uint64_t times)
{
    constexpr Instant kPause = 20 * kMillisecond;
    const Process    &process = *world_.processes()[fault.process];
    const auto     fit     = connected_pairs(world_, [&](QueuePair &pair, QueuePair &peer) {
        return &pair.process == &process && pair.has_carried && pair.fail_in == SIZE_MAX &&
               is_bulk(pair, peer);
    });
    if (fit.size() == scenario_.nics || (fault.time != 0 && fit.size() > 1)) {
        fit[times % fit.size()]->fail_in = 0;
        world_.count(Count::BrokenOwn);
        world_.breaks_new = fault.time != 0 ? 1 : 0;
        --times;
    }
    if (times != 0) {
        world_.time().after(kPause, [this, &fault, times] {
            if (!over_) {
                break_own(fault, times);
            }
        });
    }
}

/* Null: it has gone. */
Actor *Faults::find(uint64_t uuid) const
{
    auto it = std::find_if(programs_.begin(), programs_.end(), [&](Actor *each) {
        return !each->gone() && each->rails()->engine().table().uuid == uuid;
    });
    return it != programs_.end() ? *it : nullptr;
}

/* They may lose each other, and who cannot be reached cannot be told that it was given
 * up. */
bool Faults::excused(Actor &one, uint64_t other) const
{
    Actor *peer = find(other);
    return peer != nullptr &&
           ledger_.excused(one.process().index(), peer->process().index());
}

/* All cables are plugged in, and nothing is under way. */
std::string Faults::not_calm(Actor &program) const
{
    const bool cables = world_.counts()[static_cast<size_t>(Count::Unplugged)] != 0;
    for (const auto &[uuid, peer] : program.rails()->engine().peers().peers()) {
        if (peer->failed() || (cables && find(uuid) == nullptr)) {
            continue; /* who has gone while a NIC had no link may be waited for */
        }
        if (!peer->all_seen() && !excused(program, uuid)) {
            return " has messages that are not acknowledged";
        }
        Actor *other = find(uuid);
        if (other != nullptr && peer->bulk().ready() && !excused(program, uuid) &&
            peer->table().rails.size() != other->rails()->engine().rails().size()) {
            return " does not know all rails of process " +
                   std::to_string(other->process().index());
        }
        for (const auto &path : peer->bulk().paths()) {
            if (!path->has_link()) {
                return " believes that a path over " + path->rail.name() +
                       " has no link";
            }
            if (path->pair && path->pair->ready() && path->recovery.out &&
                !path->recovery.ours) {
                return " holds a path over " + path->rail.name() +
                       " to be out, which was not used and is connected again";
            }
        }
    }
    return {};
}

/* What is counted is zero again when nobody uses it. Else who counts what. */
std::string Faults::not_calm() const
{
    /* A kernel that only receives hears of a long silence when it has asked. */
    if (world_.counts()[static_cast<size_t>(Count::GaveUp)] != 0) {
        return {};
    }
    /* Over RDMA nobody hears at once that somebody has gone, who was served. */
    if (world_.profile().rdma &&
        std::any_of(programs_.begin(), programs_.end(),
                    [](const auto &program) { return program->gone(); })) {
        return {};
    }
    for (const auto &program : programs_) {
        if (program->gone()) {
            continue;
        }
        const Engine     &engine = program->rails()->engine();
        const std::string links  = not_calm(*program);
        if (!links.empty()) {
            return "process " + std::to_string(program->process().index()) +
                   links;
        }
        if (engine.near().any()) {
            return "process " + std::to_string(program->process().index()) +
                   " has slots of another GPU, of which it makes no use";
        }
        for (const auto &rail : engine.rails()) {
            if (!rail->nic.shared().in_flight.is_zero()) {
                return "process " + std::to_string(program->process().index()) +
                       " counts bytes in flight on " + rail->name() +
                       " that are not";
            }
            const auto &pairs = world_.queue_pairs();
            const auto  there = static_cast<unsigned>(std::count_if(
                pairs.begin(), pairs.end(), [&](const auto &one) {
                    return &one.second->process == &program->process() &&
                           rail->control().device() ==
                               one.second->nic.rdma_device;
                }));
            if (rail->by_ep() && rail->qps != there) {
                return "process " + std::to_string(program->process().index()) +
                       " counts " + std::to_string(rail->qps) +
                       " queue pairs on " + rail->name() + " and has " +
                       std::to_string(there);
            }
        }
    }
    return {};
}

void Faults::check_calm() const
{
    const std::string what = not_calm();
    if (world_.journal().violations().empty() && !what.empty()) {
        world_.journal().violate(what);
    }
}

} // namespace fuselink::sim

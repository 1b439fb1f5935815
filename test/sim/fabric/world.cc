/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "world.h"

#include "../uct/iface.h"
#include "carrier.h"
#include "queue_pair.h"
#include "stream.h"

#include <algorithm>

namespace fuselink::sim {

World *World::current = nullptr;

const char *name_of(Count count)
{
    static const char *const names[] = {
        "messages", "puts", "gets", "fences", "flushes", "cancels",
        "streams", "streams_taken_over", "streams_crossed", "eps_to_eps", "queue_pairs",
        "refused", "resets", "qp_errors", "silences", "gave_up",
        "no_resource", "no_memory", "stops", "waits", "deaths", "leaves",
        "eps_closed", "peers_failed", "ops_failed", "bad_keys", "slept",
        "paths_broken", "paths_mended", "lanes_failed", "lanes_moved", "unheard", "warnings",
        "notices_held", "notices_silenced", "silent_again", "broken_again", "broken_own", "broken_new", "lags", "lags_left", "held_back", "puts_again",
        "datagram_errors", "quick_puts", "kept", "from_ends",
        "messages_write", "aside", "gpu_messages",
        "gpu_puts", "gpu_gets", "copies_out", "copies_in",
        "copies_short", "copies_between", "agent_rounds",
        "copies_failed", "slot_puts", "direct_puts", "near_reads", "near_writes",
        "unplugged", "late_bytes", "late_received", "introduced", "ports_down", "outlived_loss", "outlived_all", "answered_soon", "lost_unread", "rests", "streams_ended", "ended_from",
        "heavy", "load_asks", "load_grants", "load_others", "rails_kept", "traced", "reports",
        "bytes_resent", "calls_held", "resting", "bytes_dropped",
        "eager", "rendezvous", "rendezvous_gets", "rendezvous_puts", "atomics",
        "wildcards", "keepalives", "failovers", "revoked", "keys_ended",
        "checked_puts",
        "allowed"};
    static_assert(std::size(names) == static_cast<size_t>(Count::kCount));
    return names[static_cast<size_t>(count)];
}

World::World(uint64_t seed, const Profile &profile)
    : seed_(seed), profile_(profile), chance_(seed, 1), costs_(seed, 2)
{
}

unsigned World::add_node(unsigned count)
{
    const auto       node = static_cast<unsigned>(nodes_.size());
    std::vector<Nic> nics(count);
    for (unsigned i = 0; i < count; ++i) {
        nics[i].node        = node;
        nics[i].index       = i;
        nics[i].ip_device   = "eth" + std::to_string(i);
        nics[i].rdma_device = "rdma" + std::to_string(i) + ":1";
    }
    nodes_.push_back(std::move(nics));
    return node;
}

Process &World::add_process(unsigned node, size_t arena, size_t gpu)
{
    processes_.push_back(std::make_unique<Process>(
        *this, static_cast<unsigned>(processes_.size()), node, seed_, arena,
        gpu));
    return *processes_.back();
}

/* Connections keep themselves alive by what is under way on them. */
World::~World()
{
    for (auto &stream : streams_) {
        for (auto &end : stream->ends) {
            if (end.out) {
                end.out->cut();
                end.out->on_give_up = nullptr;
            }
        }
    }
}

void World::kill(Process &process)
{
    process.alive = false;
    for (auto &[id, iface] : ifaces_) {
        if (&iface->process() == &process) {
            iface->die();
        }
    }
}

void World::plug(Nic &nic, bool plugged)
{
    if (nic.plugged == plugged) {
        return;
    }
    nic.plugged = plugged;
    count(Count::Unplugged, !plugged);
    if (!plugged) {
        nic.pulled_at = time().now();
        nic.seeks     = 0;
    } else if (profile().resolves && !profile().rdma) {
        seek(nic);
    }
    for (SimCarrier *carrier : carriers_) {
        carrier->raise(nic.node);
    }
}

/* A kernel that had something to send when the cable was pulled has forgotten where the
 * others are (neigh_carrier_down()), and asks three times, once a second, also when there
 * is a link again in between. Later it asks when there is something to send. */
void World::seek(Nic &nic)
{
    const Instant pulled = nic.pulled_at, out = time().now() - pulled;
    if (out >= 3 * kSecond) {
        return;
    }
    nic.seeks = ~uint64_t{0};
    time().at(pulled + (out / kSecond + 1) * kSecond, [&nic, pulled] {
        nic.seeks = nic.pulled_at == pulled ? 0 : nic.seeks;
    });
}

void World::introduce(const Nic &nic)
{
    if (!nic.sends()) {
        return;
    }
    for (auto &others : nodes_) {
        for (Nic &other : others) {
            if (other.index == nic.index && other.node != nic.node && other.hears()) {
                count(Count::Introduced, !other.finds(nic));
                other.seeks &= ~(uint64_t{1} << nic.node);
            }
        }
    }
}

uint32_t World::add_iface(SimIface &iface)
{
    ifaces_[++last_iface_] = &iface;
    return last_iface_;
}

bool World::has_heard(uint32_t iface, unsigned process) const
{
    constexpr Instant kJust  = 10'000;       /* a few calls */
    constexpr Instant kLooks = kMillisecond; /* as often at least, unless it computes */
    const auto        it     = heard_.find({iface, process});
    if (it == heard_.end()) {
        return false;
    }
    const auto removed = removed_.find(iface);
    const bool lately  = removed != removed_.end() &&
                         time_.now() - removed->second <= kLooks;
    const unsigned from = it->second.from;
    const bool     just = std::any_of(heard_.begin(), heard_.end(), [&](const auto &one) {
        return one.first.second == process && one.second.from == from &&
               time_.now() - one.second.at <= kJust;
    });
    return !(just || lately) ||
           std::none_of(streams_.begin(), streams_.end(), [&](const auto &stream) {
               return stream->brings(from, process);
           });
}

SimIface *World::find_iface(uint32_t id) const
{
    auto it = ifaces_.find(id);
    return it != ifaces_.end() ? it->second : nullptr;
}

uint32_t World::add_queue_pair(std::shared_ptr<QueuePair> pair)
{
    count(Count::QueuePairs);
    pairs_[++last_pair_] = std::move(pair);
    return last_pair_;
}

std::shared_ptr<QueuePair> World::find_queue_pair(uint32_t number) const
{
    auto it = pairs_.find(number);
    return it != pairs_.end() ? it->second : nullptr;
}

} // namespace fuselink::sim

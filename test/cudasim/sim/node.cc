/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "node.h"

#include <algorithm>
#include <csignal>
#include <cerrno>
#include <ctime>
#include <unistd.h>

#include "sim/clock.h"
#include "ucs_ext/hash.h"
#include "ucs_ext/process.h"

namespace cudasim {

using fuselink::ProcessId;

Node::Node(const Topology &topology,
           std::unique_ptr<fuselink::SharedSegment> segment)
    : segment_(std::move(segment)),
      shared_(static_cast<Shared *>(segment_->memory()))
{
    for (const Link &link : topology.links()) {
        rates_.push_back(link.rate);
    }
    for (const Gpu &gpu : topology.gpus()) {
        memory_.push_back(gpu.memory);
    }
}

std::unique_ptr<Node> Node::open(const Topology &topology, Role role,
                                 std::string &error)
{
    /* Others may use another file at the same time: that is another node. */
    fuselink::Hash magic(topology.hash());
    magic.add(std::string_view("cudasim 1"));
    auto segment = fuselink::SharedSegment::open(magic.nonzero(),
                                                 sizeof(Shared), error);
    if (segment == nullptr) {
        return nullptr;
    }
    auto node = std::unique_ptr<Node>(new Node(topology, std::move(segment)));
    if (role == Role::User && !node->sit_down()) {
        error = "more than " + std::to_string(kSeats) + " processes on a host";
        return nullptr;
    }
    return node;
}

bool Node::sit_down()
{
    const uint64_t self = ProcessId::self().word();
    bool           seated = false;
    lock_memory();
    for (Seat &seat : shared_->seats) {
        uint64_t there = seat.process.load();
        if (there == 0 || there == self ||
            ProcessId(there).life() == ProcessId::Life::Gone) {
            for (auto &taken : seat.taken) {
                taken.store(0);
            }
            seat.process.store(self);
            seat_  = &seat;
            seated = true;
            break;
        }
    }
    unlock_memory();
    return seated;
}

uint64_t Node::reserve(const Route &route, uint64_t bytes, uint64_t ready)
{
    uint64_t finish = ready;
    for (unsigned i = 0; i < route.length; ++i) {
        LinkState &link = shared_->links[route.links[i]];
        uint64_t   rate = rates_[route.links[i]];
        link.bytes.fetch_add(bytes, std::memory_order_relaxed);
        if (rate == 0) {
            continue;
        }
        uint64_t duration = static_cast<uint64_t>(
            static_cast<double>(bytes) * 1e9 / static_cast<double>(rate));
        uint64_t free = link.free_ns.load(std::memory_order_relaxed);
        uint64_t end;
        do {
            end = std::max(free, ready) + duration;
        } while (!link.free_ns.compare_exchange_weak(free, end));
        finish = std::max(finish, end);
    }
    return finish;
}

size_t Node::bytes_in(const Route &route, uint64_t ns) const
{
    constexpr size_t kLeast = 1024, kMost = 1 << 20;
    size_t           bytes  = kMost;
    for (unsigned i = 0; i < route.length; ++i) {
        uint64_t rate = rates_[route.links[i]];
        if (rate != 0) {
            bytes = std::min<size_t>(bytes, static_cast<double>(rate) *
                                                static_cast<double>(ns) / 1e9);
        }
    }
    return std::max(bytes, kLeast);
}

uint64_t Node::carried(unsigned link) const
{
    return shared_->links[link].bytes.load(std::memory_order_relaxed);
}

/* Held for microseconds; a holder that was killed is seen by its pid. */
void Node::lock_memory()
{
    const uint32_t     self   = static_cast<uint32_t>(getpid());
    constexpr timespec kPause = {0, 100000};
    uint32_t           holder = 0;
    while (!shared_->memory_lock.compare_exchange_strong(holder, self)) {
        if (kill(static_cast<pid_t>(holder), 0) != 0 && errno == ESRCH &&
            shared_->memory_lock.compare_exchange_strong(holder, self)) {
            return;
        }
        nanosleep(&kPause, nullptr);
        holder = 0;
    }
}

void Node::unlock_memory()
{
    shared_->memory_lock.store(0);
}

/* By all that live; frees the seats of those that do not. Under the lock. */
uint64_t Node::taken(unsigned gpu)
{
    uint64_t sum = 0;
    for (Seat &seat : shared_->seats) {
        uint64_t there = seat.process.load();
        uint64_t bytes = seat.taken[gpu].load();
        if (there == 0 || bytes == 0) {
            continue;
        }
        if (&seat != seat_ &&
            ProcessId(there).life() == ProcessId::Life::Gone) {
            seat.process.store(0);
            continue;
        }
        sum += bytes;
    }
    return sum;
}

bool Node::take_memory(unsigned gpu, uint64_t bytes)
{
    lock_memory();
    bool fits = bytes <= memory_[gpu] && taken(gpu) <= memory_[gpu] - bytes;
    if (fits) {
        seat_->taken[gpu].fetch_add(bytes);
    }
    unlock_memory();
    return fits;
}

void Node::return_memory(unsigned gpu, uint64_t bytes)
{
    seat_->taken[gpu].fetch_sub(bytes);
}

uint64_t Node::free_memory(unsigned gpu)
{
    lock_memory();
    uint64_t used = taken(gpu);
    unlock_memory();
    return memory_[gpu] - std::min(used, memory_[gpu]);
}

} // namespace cudasim

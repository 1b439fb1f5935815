/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ledger.h"

#include <cstring>

namespace fuselink::sim {

namespace {

/* pattern() of eight places in a row, as memory has them: a run does little else with
 * its megabytes. `product` is that of the first place. */
constexpr size_t kRow = 8;

uint64_t row(uint64_t product)
{
    constexpr uint64_t kTop = 0xffull << 56;
    uint64_t           bytes = 0;
    for (unsigned i = 0; i < kRow; ++i) {
        bytes |= ((product + i * kPatternFactor) & kTop) >> (56 - 8 * i);
    }
    return bytes;
}

} // namespace

void fill(uint8_t *to, size_t length, uint64_t seed)
{
    size_t i = 0;
    for (; i + kRow <= length; i += kRow) {
        const uint64_t bytes = row((seed + i) * kPatternFactor);
        memcpy(to + i, &bytes, kRow);
    }
    for (; i < length; ++i) {
        to[i] = pattern(seed, i);
    }
}

size_t differs(const uint8_t *at, size_t length, uint64_t seed)
{
    size_t i = 0;
    for (; i + kRow <= length; i += kRow) {
        uint64_t bytes;
        memcpy(&bytes, at + i, kRow);
        if (bytes != row((seed + i) * kPatternFactor)) {
            break;
        }
    }
    for (; i < length; ++i) {
        if (at[i] != pattern(seed, i)) {
            return i;
        }
    }
    return length;
}

uint32_t Ledger::begin_flow(unsigned from, unsigned to)
{
    Flow &flow = flows_[++last_];
    flow.from  = from;
    flow.to    = to;
    return last_;
}

/* In front: the flow, and the message's number in it. */
void Ledger::deliver(unsigned at, const uint8_t *data, size_t length)
{
    uint32_t head[2];
    if (length < sizeof(head)) {
        world_.journal().violate("a message that nobody sent: too short");
        return;
    }
    memcpy(head, data, sizeof(head));
    auto it = flows_.find(head[0]);
    if (it == flows_.end() || it->second.to != at) {
        world_.journal().violate("a message that nobody sent to process " +
                                 std::to_string(at));
        return;
    }
    Flow             &flow = it->second;
    const std::string name = "message " + std::to_string(head[1]) + " of flow " +
                             std::to_string(head[0]) + " (" +
                             std::to_string(flow.from) + " to " +
                             std::to_string(flow.to) + ")";
    world_.journal().note("message", at, head[0], head[1], length);
    if (head[1] != flow.delivered) {
        world_.journal().violate(name + " comes after " +
                                 std::to_string(flow.delivered) + " others");
        flow.delivered = head[1];
    }
    if (head[1] >= flow.sent.size()) {
        world_.journal().violate(name + " was not sent");
        return;
    }
    ++flow.delivered;
    const Message &message = flow.sent[head[1]];
    if (message.length != length - sizeof(head)) {
        world_.journal().violate(name + " has another length");
    } else if (differs(data + sizeof(head), message.length, message.seed) !=
               message.length) {
        world_.journal().violate(name + " has other bytes");
    }
    for (const auto &landing : message.after) {
        if (!landing->failed && !landing->replaced &&
            !landing->process->gpu.broken &&
            differs(landing->process->arena() + landing->at, landing->length,
                    landing->seed) != landing->length) {
            world_.journal().violate(name + " overtakes a put of " +
                                     std::to_string(landing->length) +
                                     " bytes in front of a fence");
        }
    }
    if (message.written) {
        Landing &landing = *message.written;
        fill(landing.process->arena() + landing.at, landing.length, landing.seed);
        landing.known = true;
    }
}

void Ledger::excuse(unsigned a, unsigned b)
{
    excused_.insert({std::min(a, b), std::max(a, b)});
}

void Ledger::excuse_all(unsigned process)
{
    for (unsigned other = 0; other < world_.processes().size(); ++other) {
        excuse(process, other);
    }
}

bool Ledger::excused(unsigned a, unsigned b) const
{
    return world_.stalled ||
           excused_.count({std::min(a, b), std::max(a, b)}) != 0;
}

void Ledger::keep(Process &process, size_t at, size_t length, uint64_t seed)
{
    kept_.push_back({&process, at, length, seed});
}

void Ledger::revoke(Process &process)
{
    for (const auto &landing : revocable_) {
        if (landing->process != &process || landing->known || landing->failed) {
            continue;
        }
        landing->failed = true;
        process.close(process.arena() + landing->at, landing->length);
        fill(process.arena() + landing->at, landing->length, kGarbage);
        keep(process, landing->at, landing->length, kGarbage);
    }
}

void Ledger::check()
{
    for (const auto &[instance, flow] : flows_) {
        if (flow.delivered != flow.sent.size() && !flow.may_lose &&
            !excused(flow.from, flow.to)) {
            world_.journal().violate(
                std::to_string(flow.sent.size() - flow.delivered) +
                " messages of flow " + std::to_string(instance) + " (" +
                std::to_string(flow.from) + " to " + std::to_string(flow.to) +
                ") never came");
        }
    }
    for (const Kept &kept : kept_) {
        const size_t at = differs(kept.process->arena() + kept.at, kept.length,
                                  kept.seed);
        if (at != kept.length) {
            world_.journal().violate(
                "memory that its user has back was written: byte " +
                std::to_string(at) + " of " + std::to_string(kept.length) +
                " at " + std::to_string(kept.at) + " of process " +
                std::to_string(kept.process->index()));
        }
    }
    for (const auto &landing : landings_) {
        const bool stays = landing->known || (landing->flushed && !landing->failed);
        if (stays && !landing->replaced &&
            differs(landing->process->arena() + landing->at, landing->length,
                    landing->seed) != landing->length) {
            world_.journal().violate(
                "what a put of " + std::to_string(landing->length) +
                " bytes has left at " + std::to_string(landing->at) +
                " of process " + std::to_string(landing->process->index()) +
                " is not there any more");
        }
    }
}

} // namespace fuselink::sim

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "board_wires.h"

#include "board_layout.h"
#include "hash.h"

#include <string_view>

namespace fuselink {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/* Who has read the clock may lose its processor before it writes, or be stopped. */
constexpr int64_t kAhead = 10'000'000'000;

} // namespace

BoardWires::Place BoardWires::place(const std::string          &device,
                                    const std::vector<uint8_t> &remote) const
{
    Hash hash(network_);
    hash.add(std::string_view(device));
    hash.add(std::string_view(reinterpret_cast<const char *>(remote.data()),
                              remote.size()));
    return static_cast<Place>((hash.value() ^ hash.value() >> 32) % board::kWires);
}

void BoardWires::heard(Place place, int64_t at, int64_t now) const
{
    board::Word &word = board_->segment_->wires[place].heard;
    uint64_t     was  = word.load(kRelaxed);
    while (at > board::past_instant(was, now + kAhead) &&
           !word.compare_exchange_weak(was, static_cast<uint64_t>(at), kRelaxed)) {
    }
}

int64_t BoardWires::heard_at(Place place, int64_t now) const
{
    return board::past_instant(board_->segment_->wires[place].heard, now);
}

void BoardWires::proved_silent(Place place, int64_t at) const
{
    board_->segment_->wires[place].silent.store(static_cast<uint64_t>(at), kRelaxed);
}

int64_t BoardWires::silent_at(Place place, int64_t now) const
{
    return board::past_instant(board_->segment_->wires[place].silent, now);
}

void BoardWires::drops(Place place, int64_t at) const
{
    board_->segment_->wires[place].drops.store(static_cast<uint64_t>(at), kRelaxed);
}

int64_t BoardWires::dropped_at(Place place, int64_t now) const
{
    return board::past_instant(board_->segment_->wires[place].drops, now);
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_WORLD_RANDOM_H
#define FUSELINK_TEST_SIM_WORLD_RANDOM_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace fuselink::sim {

/**
 * Chance that comes again: xoshiro256** (Blackman, Vigna), seeded by splitmix64.
 * Whoever draws has a generator of his own, made from the run's seed and a name
 * that is his alone: what one draws more or less changes nothing for the others.
 */
class Random {
public:
    Random(uint64_t seed, uint64_t name)
    {
        uint64_t x = seed * 0x9e3779b97f4a7c15u ^ (name + 0x632be59bd9b4e019u);
        for (auto &word : state_) {
            x         += 0x9e3779b97f4a7c15u;
            uint64_t z = x;
            z          = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
            z          = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            word       = z ^ (z >> 31);
        }
    }

    uint64_t next()
    {
        auto &s               = state_;
        const uint64_t result = std::rotl(s[1] * 5, 7) * 9;
        const uint64_t t      = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3]  = std::rotl(s[3], 45);
        return result;
    }

    /** 0 to n - 1; n > 0. */
    uint64_t below(uint64_t n) { return next() % n; }
    /** low to high, both included. */
    uint64_t between(uint64_t low, uint64_t high)
    {
        return low + below(high - low + 1);
    }
    /** True once in n times. */
    bool one_in(uint64_t n) { return below(n) == 0; }
    /** True that many times in a hundred. */
    bool percent(unsigned p) { return below(100) < p; }

    /** Between low and high, each order of magnitude as likely as another. */
    uint64_t scaled(uint64_t low, uint64_t high)
    {
        const auto bits = [](uint64_t x) {
            return static_cast<unsigned>(std::bit_width(x));
        };
        const unsigned width = static_cast<unsigned>(
            between(bits(low), bits(high)));
        const uint64_t top = width == 0 ? 0 : uint64_t{1} << (width - 1);
        const uint64_t x   = top + (top > 1 ? below(top) : 0);
        return x < low ? low : x > high ? high : x;
    }

    template <typename T, size_t N> T pick(const T (&from)[N])
    {
        return from[below(N)];
    }

private:
    std::array<uint64_t, 4> state_;
};

} // namespace fuselink::sim

#endif

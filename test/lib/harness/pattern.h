/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_PATTERN_H
#define FUSELINK_TEST_PATTERN_H

#include <cstddef>
#include <cstdint>

namespace fltest {

/** Well mixed 64 bits of any 64 bits: all "random" choices of the tests come
 *  from it, so that both processes make the same ones and a run repeats. */
constexpr uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/** Numbers by a seed. */
class Random {
public:
    explicit Random(uint64_t seed) : state_(mix(seed)) {}

    uint64_t next() { return mix(state_++); }
    /** 0 to limit - 1. */
    uint64_t below(uint64_t limit) { return next() % limit; }
    /** low to high, both included. */
    uint64_t between(uint64_t low, uint64_t high)
    {
        return low + below(high - low + 1);
    }

private:
    uint64_t state_;
};

/** Writes bytes [from, from + length) of the endless pattern `seed`. No two
 *  places and no two seeds look alike, so that a piece that is missing, old,
 *  or in the wrong place is seen. */
void fill(void *data, size_t length, uint64_t seed, uint64_t from = 0);

/** Index of the first byte that is not the pattern's; -1 if there is none. */
ptrdiff_t mismatch(const void *data, size_t length, uint64_t seed,
                   uint64_t from = 0);

/** Fails, naming `what`, if the bytes are not the pattern's. */
void require_pattern(const void *data, size_t length, uint64_t seed,
                     const char *what, uint64_t from = 0);

} // namespace fltest

#endif

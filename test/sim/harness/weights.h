/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_WEIGHTS_H
#define FUSELINK_TEST_SIM_HARNESS_WEIGHTS_H

#include "../world/random.h"

#include <cstddef>
#include <cstdint>

namespace fuselink::sim {

template <typename Kind> struct Weight {
    Kind     kind;
    unsigned parts;
};

/** One of them, as often as its parts are of all. */
template <typename Kind, size_t N>
Kind draw_weighted(Random &chance, const Weight<Kind> (&weights)[N])
{
    unsigned sum = 0;
    for (const auto &one : weights) {
        sum += one.parts;
    }
    uint64_t at   = chance.below(sum);
    size_t   kind = 0;
    while (at >= weights[kind].parts) {
        at -= weights[kind++].parts;
    }
    return weights[kind].kind;
}

} // namespace fuselink::sim

#endif

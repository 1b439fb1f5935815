/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_RANDOM_NUMBERS_H
#define FUSELINK_HOST_RANDOM_NUMBERS_H

#include "host.h"

#include <cstdint>

namespace fuselink {

/** Numbers that nobody can guess, for names that peers see: who has seen many
 *  of them must not be able to compute others. Asks Host::random() for many at
 *  once. One thread at a time. */
class RandomNumbers {
public:
    explicit RandomNumbers(Host &host) : host_(host) {}

    uint32_t next32()
    {
        if (left_ == 0) {
            host_.random(numbers_, sizeof(numbers_));
            left_ = kNumbers;
        }
        return numbers_[--left_];
    }
    uint64_t next64()
    {
        const uint64_t high = next32();
        return high << 32 | next32();
    }

private:
    static constexpr unsigned kNumbers = 64;

    Host    &host_;
    uint32_t numbers_[kNumbers];
    unsigned left_ = 0;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_FUZZ_SCRIPT_H
#define FUSELINK_TEST_FUZZ_SCRIPT_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

/* The input of a fuzzer as a script of operations of 11 bytes: which one, where,
 * a number. */

struct Operation {
    uint8_t  kind;
    uint16_t where;
    uint64_t number;
} __attribute__((packed));
static_assert(sizeof(Operation) == 11);

class Script {
public:
    Script(const uint8_t *data, size_t size) : data_(data), left_(size) {}

    bool next(Operation &operation)
    {
        if (left_ < sizeof(operation)) {
            return false;
        }
        memcpy(&operation, data_, sizeof(operation));
        data_ += sizeof(operation);
        left_ -= sizeof(operation);
        return true;
    }

private:
    const uint8_t *data_;
    size_t         left_;
};

inline void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

#endif

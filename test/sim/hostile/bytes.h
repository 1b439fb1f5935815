/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HOSTILE_BYTES_H
#define FUSELINK_TEST_SIM_HOSTILE_BYTES_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fuselink::sim {

/** A script as bytes, from a fuzzer or from chance: what is drawn behind its end
 *  is 0. */
class Bytes {
public:
    Bytes(const uint8_t *data, size_t size) : data_(data), left_(size) {}

    bool empty() const { return left_ == 0; }

    template <typename T> T take()
    {
        T            value{};
        const size_t size = left_ < sizeof(T) ? left_ : sizeof(T);
        if (size != 0) {
            memcpy(&value, data_, size);
            data_ += size;
            left_ -= size;
        }
        return value;
    }
    uint8_t byte() { return take<uint8_t>(); }
    /** 0 to n - 1; n from 1 to 256. */
    unsigned below(unsigned n) { return byte() % n; }

private:
    const uint8_t *data_;
    size_t         left_;
};

} // namespace fuselink::sim

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_HASH_H
#define FUSELINK_UCS_EXT_HASH_H

#include <cstdint>
#include <string_view>

namespace fuselink {

/** FNV-1a, 64 bit: tells things apart that nobody chooses to our harm. */
class Hash {
public:
    /** @param from the value of another hash, to go on from there */
    explicit Hash(uint64_t from = 0xcbf29ce484222325u) : value_(from) {}

    void add(uint64_t value)
    {
        for (int i = 0; i < 8; ++i) {
            byte(static_cast<uint8_t>(value >> (8 * i)));
        }
    }
    void add(std::string_view text)
    {
        for (char c : text) {
            byte(static_cast<uint8_t>(c));
        }
    }
    uint64_t value() const { return value_; }
    /** For those to whom 0 means none. */
    uint64_t nonzero() const { return value_ != 0 ? value_ : 1; }

private:
    void byte(uint8_t b) { value_ = (value_ ^ b) * 0x100000001b3u; }

    uint64_t value_;
};

} // namespace fuselink

#endif

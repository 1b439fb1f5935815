/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIRE_PACKED_KEY_H
#define FUSELINK_WIRE_PACKED_KEY_H

#include "address.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

/*
 * A remote key as bytes, which UCP carries to the peer together with those of
 * other transports: docs/protocol.md has the layout. The keys of some NICs go
 * with it, as many as fit.
 */
namespace fuselink::wire {

/** UCP has 255 bytes for the keys of a region: room for what it adds, and for
 *  another transport's. */
inline constexpr size_t kMostKeyBytes = 200;
/** One without NICs' keys. */
inline constexpr size_t kLeastKeyBytes = 16;

/** What a NIC's key of `size` bytes takes, or the word that there is none. */
constexpr size_t nic_key_bytes(size_t size)
{
    return 2 + size;
}

struct PackedKey {
    struct Nic {
        uint8_t                  slot; /* of the NIC at the key's owner */
        std::span<const uint8_t> key;  /* empty: the NIC has no access */
    };

    uint32_t id     = 0;
    uint64_t key    = 0;
    bool     on_gpu = false; /* the CPU does not write it */
    bool     revocable = false; /* see RemoteKey */

    std::span<const Nic> nics() const { return {nics_.data(), count_}; }
    /** False if there are too many or there is one of that slot. */
    [[nodiscard]] bool add(const Nic &nic);

private:
    std::array<Nic, kMaxRails> nics_{};
    size_t                     count_ = 0;
};

/** Writes a key to `out`, of at least kLeastKeyBytes. NICs' keys that do not fit
 *  any more are left out. Returns the bytes used. */
size_t pack(const PackedKey &key, std::span<uint8_t> out);

/** Reads one. `bytes` is anybody's, and nobody says how many there are: not more
 *  are read than a shortest key has, and then not more than the key itself says,
 *  at most kMostKeyBytes. The NICs' keys in `key` are parts of `bytes`. False if
 *  it is no key of this version, or if it contradicts itself. */
[[nodiscard]] bool parse(const uint8_t *bytes, PackedKey &key);

} // namespace fuselink::wire

#endif

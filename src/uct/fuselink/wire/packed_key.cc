/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "packed_key.h"

#include <algorithm>
#include <cstring>

namespace fuselink::wire {
namespace {

constexpr uint8_t kMagic   = 0xf6;
constexpr uint8_t kVersion = 5;

struct Head {
    uint8_t  magic;
    uint8_t  version;
    uint8_t  length; /* of all, this head included */
    uint8_t  nics;   /* how many keys follow, and kOnGpu, kRevocable */
    uint32_t id;
    uint64_t key;
} __attribute__((packed));
static_assert(sizeof(Head) == kLeastKeyBytes);

constexpr uint8_t kOnGpu     = 0x80;
constexpr uint8_t kRevocable = 0x40;
static_assert(kMaxRails < kRevocable);

struct NicHead { /* then the key itself */
    uint8_t slot;
    uint8_t length; /* 0: the memory is not registered with this NIC */
} __attribute__((packed));
static_assert(sizeof(NicHead) == nic_key_bytes(0));
static_assert(kMostKeyBytes <= UINT8_MAX);

} // namespace

bool PackedKey::add(const Nic &nic)
{
    auto known = nics();
    if (count_ == nics_.size() ||
        std::any_of(known.begin(), known.end(), [&](const Nic &one) {
            return one.slot == nic.slot;
        })) {
        return false;
    }
    nics_[count_++] = nic;
    return true;
}

size_t pack(const PackedKey &key, std::span<uint8_t> out)
{
    const size_t room = std::min(out.size(), kMostKeyBytes);
    size_t       at   = sizeof(Head);
    uint8_t      nics = 0;
    for (const PackedKey::Nic &nic : key.nics()) {
        if (at + nic_key_bytes(nic.key.size()) > room) {
            break;
        }
        const NicHead head{nic.slot, static_cast<uint8_t>(nic.key.size())};
        memcpy(&out[at], &head, sizeof(head));
        std::copy(nic.key.begin(), nic.key.end(),
                  out.begin() + static_cast<ptrdiff_t>(at + sizeof(head)));
        at += nic_key_bytes(nic.key.size());
        ++nics;
    }
    const Head head{kMagic, kVersion, static_cast<uint8_t>(at),
                    static_cast<uint8_t>(nics | (key.on_gpu ? kOnGpu : 0) |
                                         (key.revocable ? kRevocable : 0)),
                    key.id, key.key};
    memcpy(out.data(), &head, sizeof(head));
    return at;
}

bool parse(const uint8_t *bytes, PackedKey &key)
{
    Head head;
    memcpy(&head, bytes, sizeof(head));
    const unsigned nics = head.nics & ~unsigned{kOnGpu | kRevocable};
    /* All that can be known to be wrong before anything else is read. */
    if (head.magic != kMagic || head.version != kVersion || nics > kMaxRails ||
        head.length > kMostKeyBytes ||
        head.length < sizeof(head) + nics * sizeof(NicHead) ||
        (nics == 0 && head.length != sizeof(head))) {
        return false;
    }
    key           = PackedKey();
    key.id        = head.id;
    key.key       = head.key;
    key.on_gpu    = (head.nics & kOnGpu) != 0;
    key.revocable = (head.nics & kRevocable) != 0;
    size_t at     = sizeof(head);
    for (unsigned i = 0; i < nics; ++i) {
        NicHead nic;
        if (head.length - at < sizeof(nic)) {
            return false;
        }
        memcpy(&nic, bytes + at, sizeof(nic));
        at += sizeof(nic);
        if (nic.slot >= kMaxRails || head.length - at < nic.length ||
            !key.add({nic.slot, {bytes + at, nic.length}})) {
            return false;
        }
        at += nic.length;
    }
    return at == head.length;
}

} // namespace fuselink::wire

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIRE_ADDRESS_H
#define FUSELINK_WIRE_ADDRESS_H

/*
 * Addresses: what is published through UCX (small, size limits of UCP's
 * worker address) and what travels in band (complete).
 *
 * UCP's default worker address has room for 31 bytes of device address and
 * 63 of interface address (1.13 aborts above that). So the device address
 * carries only who can talk to whom, the interface address a few rails to
 * say hello on, and the whole table follows in the hello.
 */

#include "messages.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fuselink::wire {

inline constexpr size_t kMaxDeviceAddress = 31;
inline constexpr size_t kMaxIfaceAddress  = 63;
inline constexpr size_t kMaxRails         = 16;
inline constexpr size_t kMaxRailAddress   = 64; /* per part, in the table */

/* Gpu and Gpus are UCX's own transports under our name: their addresses are
 * followed by those that these have. */
enum class DeviceKind : uint8_t {
    Rails = 1,
    Node  = 2,
    Self  = 3,
    Gpu   = 4, /* copies between this process's memories */
    Gpus  = 5  /* memory of other processes' GPUs on this node */
};

/* The device address: fixed size, the same on each device kind. */
struct DeviceAddress {
    uint8_t  magic;    /* kDeviceMagic */
    uint8_t  version;  /* kProtocolVersion */
    uint8_t  kind;     /* DeviceKind */
    uint8_t  reserved;
    uint64_t node;     /* equal in two processes that share the node's lanes */
} __attribute__((packed));
static_assert(sizeof(DeviceAddress) <= kMaxDeviceAddress);

inline constexpr uint8_t kDeviceMagic = 0xf5;

/* Node of a peer that is known by socket address alone, which says nothing of that. */
inline constexpr uint64_t kAnyNode = 0;

/* An IPv4 or IPv6 address without port; family 0 means none. */
struct NetAddress {
    uint8_t                 family = 0; /* 4 or 6 */
    std::array<uint8_t, 16> bytes{};

    size_t size() const { return family == 4 ? 4 : family == 6 ? 16 : 0; }
    bool operator==(const NetAddress &) const = default;
};

/* One rail as its owner describes it. */
struct RailRecord {
    uint8_t              index = 0;      /* at its owner */
    uint32_t             tl_hash = 0;    /* hash_name(transport name) */
    NetAddress           net;            /* for rails that the IP route picks */
    std::vector<uint8_t> device_address; /* UCT device address */
    std::vector<uint8_t> iface_address;  /* UCT interface address */
    std::string          name;           /* "tcp/eth0", table only */
    uint64_t             bytes_per_second = 0; /* reported, table only */
    /* Table only: device address to connect endpoints to, if not the above. */
    std::vector<uint8_t> lane_address;
    /* Table only: slot of its keys, kNoKeys if it needs none. */
    uint8_t              memory = kNoKeys;

    static constexpr uint8_t kNoKeys = 0xff;
};

/* All rails of one interface, or the part that fits an interface address. */
struct RailTable {
    uint64_t                uuid = 0; /* of the interface; see make_uuid() */
    std::vector<RailRecord> rails;
};

/** The identity of an interface: random, but for kUuidNetworkBits that say
 *  which network namespace it is in. Those let a peer see that an address
 *  which is also its own (every container host has a 172.17.0.1) is not the
 *  way to it. Never 0. */
inline constexpr unsigned kUuidNetworkBits = 20;
constexpr uint64_t make_uuid(uint64_t network_signature, uint64_t random)
{
    constexpr uint64_t low = ~uint64_t{0} >> kUuidNetworkBits;
    uint64_t uuid          = (network_signature & ~low) | (random & low);
    return uuid != 0 ? uuid : 1;
}
constexpr bool same_network(uint64_t uuid_a, uint64_t uuid_b)
{
    return ((uuid_a ^ uuid_b) >> (64 - kUuidNetworkBits)) == 0;
}

/** 32-bit FNV-1a; names transports on the wire. */
uint32_t hash_name(const char *name);

/** Packs as many rails as fit into kMaxIfaceAddress bytes, lowest index
 *  first: with IPv4 over tcp eight. Returns the bytes used. `out` must hold
 *  kMaxIfaceAddress bytes. */
size_t pack_iface_address(const RailTable &table, std::span<uint8_t> out);

/** Reads an interface address. False if it is malformed: wrong lengths, no
 *  rail, more than kMaxRails, an index out of range. */
[[nodiscard]] bool unpack_iface_address(std::span<const uint8_t> in,
                                        RailTable &table);

/** The complete table, for the hello message. */
void pack_rail_table(const RailTable &table, std::vector<uint8_t> &out);

/** Reads a complete table from untrusted bytes; same rules as above. */
[[nodiscard]] bool unpack_rail_table(std::span<const uint8_t> in,
                                     RailTable &table);

} // namespace fuselink::wire

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIRE_CM_DATA_H
#define FUSELINK_WIRE_CM_DATA_H

#include "messages.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fuselink::wire {

/* Behind the private data of a connection by socket address, which are UCP's. UCP reads its
 * own from the front and passes over what follows, also where the peer has no fuselink. */
struct CmTrailer {
    uint32_t magic;   /* kCmMagic */
    uint8_t  version; /* kProtocolVersion */
    uint8_t  reserved[3];
} __attribute__((packed));

inline constexpr uint32_t kCmMagic = 0x6b6c7366;

/** The one of this process. */
CmTrailer cm_trailer();

/** Private data with it. */
std::vector<uint8_t> with_cm_trailer(std::span<const uint8_t> data);

/** Private data that have come. */
struct CmData {
    /** Without it, and with room behind for who reads an address of full length at the end:
     *  UCP knows no length where it reads them. */
    std::vector<uint8_t> data;
    /** Of the peer's fuselink; 0: it has none, or does not speak for it. */
    uint8_t version = 0;
};

/** Reads untrusted bytes. */
CmData read_cm_data(std::span<const uint8_t> data);

} // namespace fuselink::wire

#endif

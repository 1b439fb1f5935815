/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "cm_data.h"

#include "address.h"

#include <cstring>

namespace fuselink::wire {

CmTrailer cm_trailer()
{
    return {kCmMagic, kProtocolVersion, {}};
}

std::vector<uint8_t> with_cm_trailer(std::span<const uint8_t> data)
{
    const CmTrailer      trailer = cm_trailer();
    std::vector<uint8_t> result(data.size() + sizeof(trailer));
    if (!data.empty()) {
        memcpy(result.data(), data.data(), data.size());
    }
    memcpy(result.data() + data.size(), &trailer, sizeof(trailer));
    return result;
}

CmData read_cm_data(std::span<const uint8_t> data)
{
    CmData    result;
    CmTrailer trailer;
    if (data.size() >= sizeof(trailer)) {
        memcpy(&trailer, data.data() + data.size() - sizeof(trailer), sizeof(trailer));
        if (trailer.magic == kCmMagic) {
            result.version = trailer.version;
            data           = data.first(data.size() - sizeof(trailer));
        }
    }
    result.data.assign(data.begin(), data.end());
    result.data.resize(data.size() + kMaxIfaceAddress);
    return result;
}

} // namespace fuselink::wire

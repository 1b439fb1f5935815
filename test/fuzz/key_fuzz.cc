/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * A remote key, of which nobody says how long it is: no more is read than it says
 * itself, and what is taken for a key is written again as the same bytes.
 */

#include "script.h"
#include "wire/packed_key.h"

#include <algorithm>
#include <memory>

using namespace fuselink::wire;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t said  = size > 2 ? data[2] : 0;
    const size_t bytes = said <= kMostKeyBytes ? std::max(said, kLeastKeyBytes) :
                                                 kLeastKeyBytes;
    /* So long and no longer, for the sanitizer. */
    auto buffer = std::make_unique<uint8_t[]>(bytes);
    std::copy_n(data, std::min(size, bytes), buffer.get());

    PackedKey key;
    if (!parse(buffer.get(), key)) {
        return 0;
    }
    require(key.nics().size() <= kMaxRails);
    for (const PackedKey::Nic &nic : key.nics()) {
        require(nic.slot < kMaxRails);
        require(nic.key.data() >= buffer.get() + kLeastKeyBytes &&
                nic.key.data() + nic.key.size() <= buffer.get() + bytes);
    }
    auto again = std::make_unique<uint8_t[]>(bytes);
    require(pack(key, {again.get(), bytes}) == said);
    require(std::equal(again.get(), again.get() + said, buffer.get()));
    return 0;
}

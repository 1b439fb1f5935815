/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * Addresses come from other processes. Whatever the bytes, reading them stays
 * in bounds, and what was accepted survives being written and read again.
 */

#include "wire/address.h"

#include <cstdlib>

using namespace fuselink::wire;

namespace {

void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

void check_table(const RailTable &table)
{
    require(!table.rails.empty());
    require(table.rails.size() <= kMaxRails);
    for (const RailRecord &rail : table.rails) {
        require(rail.index < kMaxRails);
        require(rail.device_address.size() <= kMaxRailAddress);
        require(rail.iface_address.size() <= kMaxRailAddress);
    }
}

void complete_table(std::span<const uint8_t> bytes)
{
    RailTable table;
    if (!unpack_rail_table(bytes, table)) {
        return;
    }

    check_table(table);
    std::vector<uint8_t> once, twice;
    pack_rail_table(table, once);
    RailTable again;
    require(unpack_rail_table(once, again));
    require(again.uuid == table.uuid);
    require(again.rails.size() == table.rails.size());
    pack_rail_table(again, twice);
    require(once == twice);
}

void iface_address(std::span<const uint8_t> bytes)
{
    RailTable table;
    if (!unpack_iface_address(bytes, table)) {
        return;
    }

    check_table(table);
    if (bytes.size() > kMaxIfaceAddress) {
        return; /* not one of ours: no rail of it need fit when packed */
    }
    std::array<uint8_t, kMaxIfaceAddress> packed;
    size_t length = pack_iface_address(table, packed);
    require(length <= packed.size());
    RailTable again;
    require(unpack_iface_address(std::span(packed).first(length), again));
    require(again.uuid == table.uuid);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    complete_table({data, size});
    iface_address({data, size});
    return 0;
}

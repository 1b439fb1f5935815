/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * Addresses come from other processes. Whatever the bytes, reading them stays
 * in bounds, and what was accepted survives being written and read again.
 *
 * So does what peers say of load: whatever it is, a policy that is shown it
 * keeps its promises.
 */

#include "sched/policy.h"
#include "transfer/receiver_view.h"
#include "wire/address.h"
#include "wire/messages.h"

#include <cstdlib>

using namespace fuselink::wire;
using namespace fuselink::sched;

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

/* What a peer brings to our NICs. */
void load_ask(std::span<const uint8_t> bytes)
{
    LoadAsk ask;
    if (!parse(bytes.data(), bytes.size(), ask)) {
        return;
    }
    Bytes sum;
    for (uint32_t load : ask.load) {
        const Bytes one = Bytes::kib(load);
        require(one.count() >> 10 == load);
        sum += one;
        require(sum >= one);
    }
}

/* What others bring to a peer's NICs, and which of them we are to use. */
void load_grant(std::span<const uint8_t> bytes)
{
    LoadGrant grant;
    if (!parse(bytes.data(), bytes.size(), grant)) {
        return;
    }
    const Nanos now = Nanos::millis(1);
    fuselink::ReceiverView receiver;
    receiver.take(grant, now);
    require(!receiver.valid(now + fuselink::ReceiverView::kLongest));

    PathView paths[kLoads + 1];
    for (uint8_t i = 0; i <= kLoads; ++i) { /* one that is no rail, too */
        paths[i] = {.rate = Rate::mbit(100 * (i + 1)), .overhead = {},
                    .in_flight = {}, .window = Bytes::mib(1)};
        receiver.show(i, Limits{}, paths[i]);
    }
    for (const PolicyInfo &info : policies()) {
        Demand demand{.remaining = Bytes::mib(1), .total = Bytes::mib(1)};
        const Choice choice = info.policy->next(paths, demand, Limits{});
        require(bool(choice)); /* nothing is in flight that would wake it */
        require(choice.path <= kLoads && choice.length <= demand.remaining);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    complete_table({data, size});
    iface_address({data, size});
    load_ask({data, size});
    load_grant({data, size});
    return 0;
}

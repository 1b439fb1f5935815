/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rdma_iface.h"

#include <cstring>

namespace fuselink::sim {
namespace {

/* UCX looks at so many at a time. */
constexpr unsigned kMostMessages = 16;

} // namespace

size_t RdmaIface::write_device_address(uint8_t *out) const
{
    RdmaAddress address;
    address.node  = static_cast<uint16_t>(nic().node);
    address.index = static_cast<uint16_t>(nic().index);
    memcpy(out, &address, sizeof(address));
    return sizeof(address);
}

bool RdmaIface::reaches(const uint8_t *device) const
{
    return device[0] == RdmaAddress{}.kind;
}

Nic *RdmaIface::find_nic(const uct_device_addr_t *address) const
{
    RdmaAddress device;
    memcpy(static_cast<void *>(&device), address, sizeof(device));
    if (device.node >= world().nodes() ||
        device.index >= world().nics(device.node).size()) {
        return nullptr;
    }
    return &world().nics(device.node)[device.index];
}

void RdmaIface::receive(uint8_t id, std::vector<uint8_t> bytes)
{
    if (process().alive) {
        world().journal().note("nic receives", process().index(), id,
                               bytes.size(), bytes.empty() ? 0 : bytes[0]);
        messages_.push_back({id, std::move(bytes)});
        tell();
    }
}

void RdmaIface::tell()
{
    process().last_event = world().time().now();
    if (armed_) {
        armed_ = false;
        bell().ring();
    }
}

ucs_status_t RdmaIface::arm()
{
    if (!world().profile().deaf_events && (has_messages() || has_more())) {
        return UCS_ERR_BUSY;
    }
    if (bell().is_rung()) { /* since it was armed: as UCX, which takes it first */
        bell().hush();
        return UCS_ERR_BUSY;
    }
    armed_ = true;
    return UCS_OK;
}

unsigned RdmaIface::take_messages()
{
    unsigned count = 0;
    while (!messages_.empty() && count < kMostMessages) {
        Message message = std::move(messages_.front());
        messages_.pop_front();
        ++count;
        deliver(message.id, message.bytes, true);
    }
    return count;
}

void RdmaIface::describe_base(uct_iface_attr_t &attr) const
{
    attr.cap.flags = UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_AM_BCOPY |
                     UCT_IFACE_FLAG_AM_ZCOPY | UCT_IFACE_FLAG_PENDING |
                     UCT_IFACE_FLAG_CB_SYNC | UCT_IFACE_FLAG_EP_CHECK |
                     UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE;
    attr.cap.event_flags = UCT_IFACE_FLAG_EVENT_SEND_COMP |
                           UCT_IFACE_FLAG_EVENT_RECV | UCT_IFACE_FLAG_EVENT_FD;
    attr.device_addr_len     = sizeof(RdmaAddress);
    attr.bandwidth.dedicated = 0;
    attr.bandwidth.shared    = nic().rate;
    attr.latency             = ucs_linear_func_make(1e-6, 0);
    attr.overhead            = 100e-9;
}

} // namespace fuselink::sim

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "carrier.h"

#include <cerrno>
#include <cstdlib>

namespace fuselink::sim {

SimCarrier::SimCarrier(World &world, unsigned node)
    : world_(world), node_(node)
{
    if (bell_.fd() < 0) {
        abort(); /* no descriptor left for the test itself */
    }
    for (const Nic &nic : world_.nics(node_)) {
        plugged_.push_back(nic.plugged);
    }
    world_.carriers().push_back(this);
}

SimCarrier::~SimCarrier()
{
    std::erase(world_.carriers(), this);
}

bool SimCarrier::look(sched::Nanos now)
{
    if (now < next_) {
        return false;
    }
    next_ = now + kPause;
    bell_.hush();
    bool changed = false;
    for (const Nic &nic : world_.nics(node_)) {
        changed            |= plugged_[nic.index] != nic.plugged;
        plugged_[nic.index] = nic.plugged;
    }
    return changed;
}

bool SimCarrier::carries(int ifindex) const
{
    const auto index = static_cast<size_t>(ifindex) - 1;
    return ifindex == 0 || (index < plugged_.size() && plugged_[index]);
}

/* Addresses stay, here. */
bool SimCarrier::has(int ifindex, uint8_t, const std::array<uint8_t, 16> &) const
{
    return ifindex > 0 && static_cast<size_t>(ifindex) <= plugged_.size();
}

std::vector<int> SimCarrier::ready() const
{
    std::vector<int> all;
    for (size_t i = 0; i < plugged_.size(); ++i) {
        if (plugged_[i]) {
            all.push_back(static_cast<int>(i) + 1);
        }
    }
    return all;
}

std::optional<bool> SimCarrier::port_carries(const std::string &port) const
{
    for (const Nic &nic : world_.nics(node_)) {
        if (nic.rdma_device == port) {
            world_.count(Count::PortsDown, !nic.plugged);
            return nic.plugged;
        }
    }
    return {};
}

void SimCarrier::raise(unsigned node)
{
    if (node == node_) {
        bell_.ring();
    }
}

int SimCarrier::holder(uint8_t                        family,
                       const std::array<uint8_t, 16> &address) const
{
    const int ifindex = address[1] + 1;
    return has(ifindex, family, address) ? ifindex : 0;
}

} // namespace fuselink::sim

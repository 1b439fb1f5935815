/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_FABRIC_CARRIER_H
#define FUSELINK_TEST_SIM_FABRIC_CARRIER_H

#include "bell.h"
#include "host/carrier.h"
#include "world.h"

#include <vector>

namespace fuselink::sim {

/** What the kernel of a node says of the cables of its own NICs. Interfaces have
 *  their NIC's number, and one more. */
class SimCarrier final : public Carrier {
public:
    SimCarrier(World &world, unsigned node);
    ~SimCarrier() override;
    SimCarrier(const SimCarrier &)            = delete;
    SimCarrier &operator=(const SimCarrier &) = delete;

    bool look(sched::Nanos now) override;
    bool carries(int ifindex) const override;
    int  holder(uint8_t                        family,
                const std::array<uint8_t, 16> &address) const override;
    bool has(int ifindex, uint8_t family,
             const std::array<uint8_t, 16> &address) const override;
    std::vector<int> ready() const override;
    std::optional<bool> port_carries(const std::string &port) const override;
    int  event_fd() const override { return bell_.fd(); }

    /** A cable of that node has changed. */
    void raise(unsigned node);

private:
    World            &world_;
    const unsigned    node_;
    Bell              bell_;
    std::vector<bool> plugged_; /* as heard, by NIC */
    sched::Nanos      next_;
};

} // namespace fuselink::sim

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCT_RDMA_IFACE_H
#define FUSELINK_TEST_SIM_UCT_RDMA_IFACE_H

#include "iface.h"

#include <deque>

namespace fuselink::sim {

/** The device address of RDMA NICs: all are on one fabric. */
struct RdmaAddress {
    uint8_t  kind = 0xb1;
    uint8_t  reserved[3] = {};
    uint16_t node = 0, index = 0;
};

/** What both transports of an RDMA NIC have: messages that wait to be looked at,
 *  and an event descriptor that tells of what comes after it was armed. */
class RdmaIface : public NicIface {
public:
    size_t       write_device_address(uint8_t *out) const override;
    bool         reaches(const uint8_t *device) const override;
    ucs_status_t arm() override;
    void         die() override {}

    /** A message has come. */
    void receive(uint8_t id, std::vector<uint8_t> bytes);

    /** The NIC that a device address names; null if there is none. */
    Nic *find_nic(const uct_device_addr_t *address) const;

protected:
    using NicIface::NicIface;

    /** Hands messages to the user. */
    unsigned take_messages();
    void     tell();
    bool     has_messages() const { return !messages_.empty(); }
    virtual bool has_more() const = 0;
    void     describe_base(uct_iface_attr_t &attr) const;

private:
    struct Message {
        uint8_t              id;
        std::vector<uint8_t> bytes;
    };
    std::deque<Message> messages_;
    bool                armed_ = false;
};

} // namespace fuselink::sim

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCT_STREAM_IFACE_H
#define FUSELINK_TEST_SIM_UCT_STREAM_IFACE_H

#include "../fabric/stream.h"
#include "iface.h"

#include <deque>
#include <list>
#include <map>

namespace fuselink::sim {

/** What the addresses of stream NICs are made of: found by fuselink by its
 *  bytes. */
struct StreamAddress {
    uint8_t family = 4;
    uint8_t reserved[3] = {};
    uint8_t ip[4] = {};
};

/** The IPv4 address of a NIC: 10, its subnet, 0, its node plus one. */
inline void ip_of(const Nic &nic, uint8_t (&ip)[4])
{
    ip[0] = 10;
    ip[1] = static_cast<uint8_t>(nic.index);
    ip[2] = 0;
    ip[3] = static_cast<uint8_t>(nic.node + 1);
}

/**
 * As UCX's TCP, in what has mattered: a connection that two interfaces make to each
 * other is one; only who sends on one hears of its end; puts are executed when the
 * peer's program looks; an event a poll.
 */
class StreamIface final : public NicIface {
public:
    StreamIface(Process &process, Nic &nic);
    ~StreamIface() override;

    unsigned     progress() override;
    void         describe(uct_iface_attr_t &attr) const override;
    size_t       write_device_address(uint8_t *out) const override;
    bool         reaches(const uint8_t *device) const override;
    ucs_status_t create_ep(const uct_ep_params_t *params,
                           uct_ep_h *ep) override;
    ucs_status_t arm() override { return UCS_OK; }
    void         die() override;
    StreamIface *as_stream() override { return this; }

    void is_ready(std::shared_ptr<Stream> stream, unsigned side);
    void adopt(const std::shared_ptr<Stream> &stream);
    /** Those that have an end here. */
    const std::list<std::shared_ptr<Stream>> &streams() const { return streams_; }

    bool listening = true;
    /** Not the first of its process on this NIC: fuselink's for bulk data. */
    bool second() const { return second_; }

private:
    unsigned handle(Stream &stream, unsigned side);
    bool     take(Stream &stream, unsigned side, Stream::Segment &segment);
    void     greet(Stream &stream, unsigned side);
    void     connect_again(Stream &stream, StreamEp &ep);
    StreamEp *find_own(const Stream &stream, uint32_t peer) const;
    std::shared_ptr<Stream> connect(uint32_t remote, Nic &remote_nic,
                                    StreamEp &ep, uint32_t target);
    void     fail_if_not_found(const std::shared_ptr<Stream> &stream, Nic &remote);
    void     drop(const Stream &stream);
    bool     has_socket();

    struct Ready {
        std::shared_ptr<Stream> stream;
        unsigned                side;
    };
    const bool                         second_;
    uint32_t                           last_ep_ = 0;
    std::map<const Nic *, Instant>     looks_until_; /* for hosts that are not found */
    std::map<uint32_t, StreamEp *>     named_; /* to be connected to endpoints */
    friend class StreamEp;
    std::deque<Ready>                  ready_;
    std::list<std::shared_ptr<Stream>> streams_;
};

} // namespace fuselink::sim

#endif

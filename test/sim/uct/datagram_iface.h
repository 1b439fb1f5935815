/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCT_DATAGRAM_IFACE_H
#define FUSELINK_TEST_SIM_UCT_DATAGRAM_IFACE_H

#include "../fabric/channel.h"
#include "rdma_iface.h"

#include <deque>
#include <memory>
#include <vector>

namespace fuselink::sim {

class DatagramEp;

/** As UCX's ud: messages only, in order and again until they are acknowledged,
 *  which UCX's own thread does at the other end whatever the program is at. */
class DatagramIface final : public RdmaIface {
public:
    DatagramIface(Process &process, Nic &nic) : RdmaIface(process, nic) {}
    ~DatagramIface() override;

    unsigned     progress() override;
    void         describe(uct_iface_attr_t &attr) const override;
    ucs_status_t create_ep(const uct_ep_params_t *params,
                           uct_ep_h *ep) override;

    /** Something has changed for an endpoint: the next progress looks. */
    void changed(DatagramEp &ep);
    void drop(DatagramEp &ep) { std::erase(changed_, &ep); }

protected:
    bool has_more() const override { return !changed_.empty(); }

private:
    std::vector<DatagramEp *> changed_;
};

class DatagramEp final : public SimEp {
public:
    DatagramEp(DatagramIface &owner, uint32_t remote, Nic &remote_nic);
    ~DatagramEp() override;

    ucs_status_t create();

    ucs_status_t am_short(uint8_t id, uint64_t header, const void *data,
                          unsigned length) override;
    ssize_t am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg) override;
    ucs_status_t am_zcopy(uint8_t id, const void *header,
                          unsigned header_length, const uct_iov_t *iov,
                          size_t count, uct_completion_t *comp) override;
    ucs_status_t flush(unsigned flags, uct_completion_t *comp) override;
    ucs_status_t check() override;
    ucs_status_t room() const override;

    /** What its interface does for it in progress. */
    unsigned look();

    /** The NIC has given it up, as after too many losses. */
    void lose();
    /** It has sent bulk data alone. */
    bool is_bulk() const { return has_data_ && !has_messages_ && !failed; }
    Process &process() const { return iface_.process(); }

private:
    /** What outlives the endpoint: packets refer to it. */
    struct Link {
        DatagramEp *ep;
        unsigned    acknowledged = 0;
        bool        answered = false;
        bool        lost     = false;
    };
    struct Waiting {
        uint64_t          until; /* so many acknowledged in all */
        uct_completion_t *comp;
    };

    ucs_status_t send(uint8_t id, std::vector<uint8_t> bytes,
                      uct_completion_t *comp);
    void         shake_hands();
    void         end_waiting(ucs_status_t status);

    DatagramIface           &iface_;
    const uint32_t           remote_;
    Nic                     &remote_nic_;
    std::shared_ptr<Channel> out_, back_;
    std::shared_ptr<Link>    link_;
    uint64_t                 sent_ = 0;
    bool                     has_data_ = false, has_messages_ = false;
    std::deque<Waiting>      waiting_;
};

} // namespace fuselink::sim

#endif

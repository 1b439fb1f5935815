/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_ENDPOINTS_H
#define FUSELINK_CONN_ENDPOINTS_H

#include "../rail/lanes.h"
#include "../rail/poller.h"
#include "../rail/rail.h"
#include "../ucx.h"

#include <cstdint>
#include <set>
#include <utility>

namespace fuselink {

/**
 * The endpoints that one connection has on rails: each is made for the same
 * owner, who hears when it breaks, and those that are queue pairs are counted
 * against the limit of their rail.
 *
 * One thread at a time (the worker's).
 */
class Endpoints {
public:
    /** All outlive this.
     *  @param max_qps queue pairs that may exist on one rail, of all
     *                 connections */
    Endpoints(LaneOwner &owner, Lanes &lanes, Poller &poller, unsigned max_qps)
        : owner_(owner), lanes_(lanes), poller_(poller), max_qps_(max_qps)
    {
    }
    Endpoints(const Endpoints &)            = delete;
    Endpoints &operator=(const Endpoints &) = delete;

    /** As those of Lanes, for the owner. */
    ucs_status_t create(const UctIface &iface, const wire::RailRecord &remote,
                        uct_ep_h &ep)
    {
        return lanes_.create(owner_, iface, remote, ep);
    }
    void add(uct_ep_h ep) { lanes_.add(owner_, ep); }
    void destroy(uct_ep_h ep) { lanes_.destroy(ep); }

    Poller &poller() { return poller_; }

    /** The rail may have one more queue pair. */
    bool may_add_qp(const Rail &rail) const { return rail.qps < max_qps_; }

    /** A queue pair of rail `own` with the peer's rail `remote` moves no data.
     *  True the first time: there may be two of them. */
    bool note_no_data(uint8_t own, uint8_t remote)
    {
        return no_data_.insert({own, remote}).second;
    }

private:
    LaneOwner     &owner_;
    Lanes         &lanes_;
    Poller        &poller_;
    const unsigned max_qps_;
    std::set<std::pair<uint8_t, uint8_t>> no_data_;
};

} // namespace fuselink

#endif

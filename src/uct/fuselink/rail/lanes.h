/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_LANES_H
#define FUSELINK_RAIL_LANES_H

#include "../ucx.h"
#include "../wire/address.h"
#include "uct_objects.h"

#include <unordered_map>

namespace fuselink {

/** Whose endpoints on rails may fail. */
class LaneOwner {
public:
    /** A rail reports that `ep` is broken, perhaps from inside a call on it: the
     *  endpoint is not destroyed in here. */
    virtual void on_lane_error(uct_ep_h ep, ucs_status_t status) = 0;

protected:
    ~LaneOwner() = default;
};

/**
 * The endpoints that one interface has on its rails, and who hears when one of
 * them breaks: UCT tells the rail's error handler the endpoint and nothing else.
 *
 * One thread at a time (the worker's).
 */
class Lanes {
public:
    /** A new endpoint of `iface`, connected to the interface of `remote` from
     *  now on. On failure `ep` is null. */
    ucs_status_t create(LaneOwner &owner, const UctIface &iface,
                        const wire::RailRecord &remote, uct_ep_h &ep)
    {
        ucs_status_t status = iface.create_ep(remote.device_address,
                                              remote.iface_address, &ep);
        if (status == UCS_OK) {
            add(owner, ep);
        } else {
            ep = nullptr;
        }
        return status;
    }

    /** One that the caller has made. Until destroy() `owner` stays. */
    void add(LaneOwner &owner, uct_ep_h ep) { owners_[ep] = &owner; }

    /** Destroys the endpoint; what waits there for room is forgotten. Not from a
     *  rail's callback. */
    void destroy(uct_ep_h ep)
    {
        uct_ep_pending_purge(ep, [](uct_pending_req_t *, void *) {}, nullptr);
        owners_.erase(ep);
        uct_ep_destroy(ep);
    }

    /** A rail's error handler was called. */
    void on_error(uct_ep_h ep, ucs_status_t status)
    {
        auto it = owners_.find(ep);
        if (it != owners_.end()) {
            it->second->on_lane_error(ep, status);
        }
    }

private:
    std::unordered_map<uct_ep_h, LaneOwner *> owners_;
};

} // namespace fuselink

#endif

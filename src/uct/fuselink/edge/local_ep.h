/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_LOCAL_EP_H
#define FUSELINK_EDGE_LOCAL_EP_H

#include "../ucx.h"
#include "am_gate.h"
#include "local_iface.h"

namespace fuselink {

/** An endpoint to a peer of this node, or to this process. */
class LocalEp : public uct_base_ep_t {
public:
    static ucs_status_t create(const uct_ep_params_t *params, uct_ep_h *ep);

    static LocalEp &from(uct_ep_h ep)
    {
        return *static_cast<LocalEp *>(reinterpret_cast<uct_base_ep_t *>(ep));
    }

    /* Fills in the endpoint operations of one of the two devices. */
    static void set_ops(uct_iface_ops_t &ops, bool is_self);

private:
    LocalEp() = default;
    ~LocalEp();

    static ucs_status_t am_short(uct_ep_h ep, uint8_t id, uint64_t header,
                                 const void *payload, unsigned length);
    static ucs_status_t am_short_iov(uct_ep_h ep, uint8_t id,
                                     const uct_iov_t *iov, size_t iovcnt);
    static ssize_t am_bcopy(uct_ep_h ep, uint8_t id, uct_pack_callback_t pack,
                            void *arg, unsigned flags);
    template <typename Operation>
    static ucs_status_t bulk_zcopy(Operation operation, Moved Traffic::*moved,
                                   uct_ep_h ep, const uct_iov_t *iov,
                                   size_t iovcnt, uint64_t remote_addr,
                                   uct_completion_t *comp);
    static ucs_status_t put_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                  size_t iovcnt, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp);
    static ucs_status_t get_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                  size_t iovcnt, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp);
    static ucs_status_t self_put_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                       size_t iovcnt, uint64_t remote_addr,
                                       uct_rkey_t rkey,
                                       uct_completion_t *comp);
    static ucs_status_t self_get_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                       size_t iovcnt, uint64_t remote_addr,
                                       uct_rkey_t rkey,
                                       uct_completion_t *comp);
    static ucs_status_t pending_add(uct_ep_h ep, uct_pending_req_t *req,
                                    unsigned flags);
    static void pending_purge(uct_ep_h ep, uct_pending_purge_callback_t cb,
                              void *arg);
    static ucs_status_t flush(uct_ep_h ep, unsigned flags,
                              uct_completion_t *comp);
    static ucs_status_t fence(uct_ep_h ep, unsigned flags);
    static ucs_status_t check(uct_ep_h ep, unsigned flags,
                              uct_completion_t *comp);
    static void destroy(uct_ep_h ep);

    friend class LocalIface;

    void fence_bulk();

    uct_ep_h messages_ = nullptr; /* lane_, unless the gate is closed */
    uct_ep_h lane_     = nullptr;
    AmGate     gate_;
    uct_ep_h bulk_     = nullptr;
};

} // namespace fuselink

#endif

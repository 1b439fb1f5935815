/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "local_ep.h"

#include "iface.h"

#include <cstring>
#include <memory>
#include <vector>

namespace fuselink {


ucs_status_t LocalEp::create(const uct_ep_params_t *params, uct_ep_h *ep_p)
{
    LocalIface &iface = LocalIface::from(params->iface);
    UCT_EP_PARAMS_CHECK_DEV_IFACE_ADDRS(params);

    std::vector<uint8_t> device, message, bulk;
    if (!LocalIface::split_address(params->iface_addr, device, message, bulk)) {
        ucs_error("fuselink: malformed address of a node-local peer");
        return UCS_ERR_INVALID_ADDR;
    }
    struct Deleter {
        void operator()(LocalEp *ep) const { delete ep; }
    };
    std::unique_ptr<LocalEp, Deleter> ep(new LocalEp);
    ucs_status_t status = init_base_ep(ep.get(), &iface);
    if (status != UCS_OK) {
        ep->super.iface = nullptr;
        return status;
    }
    status = iface.messages_->create_ep(device, message, &ep->lane_);
    if (status != UCS_OK) {
        ep->lane_ = nullptr;
        return status;
    }
    if (iface.bulk_) {
        status = iface.bulk_->create_ep(device, bulk, &ep->bulk_);
        if (status != UCS_OK) {
            ep->bulk_ = nullptr;
            return status;
        }
        iface.eps_[ep->bulk_] = ep.get();
    }
    ep->messages_          = ep->lane_;
    iface.eps_[ep->lane_]  = ep.get();
    *ep_p = &ep.release()->super;
    return UCS_OK;
}

LocalEp::~LocalEp()
{
    if (super.iface == nullptr) {
        return;
    }
    LocalIface &iface = LocalIface::from(super.iface);
    iface.closed_ -= gate_.closed();
    for (uct_ep_h lower : {bulk_, lane_}) {
        if (lower != nullptr) {
            iface.eps_.erase(lower);
            uct_ep_destroy(lower);
        }
    }
    cleanup_base_ep(this);
}

void LocalEp::destroy(uct_ep_h ep)
{
    delete &from(ep);
}

ucs_status_t LocalEp::am_short(uct_ep_h ep, uint8_t id, uint64_t header,
                               const void *payload, unsigned length)
{
    return uct_ep_am_short(from(ep).messages_, id, header, payload, length);
}

ucs_status_t LocalEp::am_short_iov(uct_ep_h ep, uint8_t id,
                                   const uct_iov_t *iov, size_t iovcnt)
{
    return uct_ep_am_short_iov(from(ep).messages_, id, iov, iovcnt);
}

ssize_t LocalEp::am_bcopy(uct_ep_h ep, uint8_t id, uct_pack_callback_t pack,
                          void *arg, unsigned flags)
{
    return uct_ep_am_bcopy(from(ep).messages_, id, pack, arg, flags);
}

/* A put or get of the bulk lane, which is UCT's `operation` there. */
template <typename Operation>
ucs_status_t LocalEp::bulk_zcopy(Operation operation, Moved Traffic::*moved,
                                 uct_ep_h ep, const uct_iov_t *iov,
                                 size_t iovcnt, uint64_t remote_addr,
                                 uct_completion_t *comp)
{
    LocalIface &iface      = LocalIface::from(ep->iface);
    uct_completion_t *mine = iface.begin_bulk(comp);
    ucs_status_t status    = operation(from(ep).bulk_, iov, iovcnt,
                                       remote_addr, UCT_INVALID_RKEY, mine);
    return iface.settle_bulk(mine, iface.count(iface.traffic_.*moved, iov,
                                               iovcnt, status));
}

ucs_status_t LocalEp::put_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                size_t iovcnt, uint64_t remote_addr,
                                uct_rkey_t, uct_completion_t *comp)
{
    return bulk_zcopy(uct_ep_put_zcopy, &Traffic::sent, ep, iov, iovcnt,
                      remote_addr, comp);
}

ucs_status_t LocalEp::get_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                size_t iovcnt, uint64_t remote_addr,
                                uct_rkey_t, uct_completion_t *comp)
{
    return bulk_zcopy(uct_ep_get_zcopy, &Traffic::received, ep, iov, iovcnt,
                      remote_addr, comp);
}

ucs_status_t LocalEp::self_put_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                     size_t iovcnt, uint64_t remote_addr,
                                     uct_rkey_t, uct_completion_t *)
{
    auto *to = reinterpret_cast<char *>(static_cast<uintptr_t>(remote_addr));
    for (size_t i = 0; i < iovcnt; ++i) {
        size_t length = iov[i].length * iov[i].count;
        memmove(to, iov[i].buffer, length);
        to += length;
    }
    LocalIface &iface = LocalIface::from(ep->iface);
    return iface.count(iface.traffic_.sent, iov, iovcnt, UCS_OK);
}

ucs_status_t LocalEp::self_get_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                     size_t iovcnt, uint64_t remote_addr,
                                     uct_rkey_t, uct_completion_t *)
{
    auto *at = reinterpret_cast<char *>(static_cast<uintptr_t>(remote_addr));
    for (size_t i = 0; i < iovcnt; ++i) {
        size_t length = iov[i].length * iov[i].count;
        memmove(iov[i].buffer, at, length);
        at += length;
    }
    LocalIface &iface = LocalIface::from(ep->iface);
    return iface.count(iface.traffic_.received, iov, iovcnt, UCS_OK);
}

ucs_status_t LocalEp::pending_add(uct_ep_h ep, uct_pending_req_t *req,
                                  unsigned flags)
{
    /* Only the message lane ever runs out of room; cma queues. */
    LocalEp &self = from(ep);
    if (self.gate_.closed()) {
        self.gate_.add(req);
        return UCS_OK;
    }
    return uct_ep_pending_add(self.lane_, req, flags);
}

void LocalEp::pending_purge(uct_ep_h ep, uct_pending_purge_callback_t cb,
                            void *arg)
{
    from(ep).gate_.purge(cb, arg);
    uct_ep_pending_purge(from(ep).lane_, cb, arg);
}

ucs_status_t LocalEp::flush(uct_ep_h tl_ep, unsigned flags,
                            uct_completion_t *comp)
{
    LocalEp &ep = from(tl_ep);
    if (ep.bulk_ == nullptr) {
        return uct_ep_flush(ep.lane_, flags, comp);
    }
    /* Messages first: if they are refused, nothing has been promised. */
    ucs_status_t messages = uct_ep_flush(ep.lane_, flags, comp);
    if (UCS_STATUS_IS_ERR(messages)) {
        return messages;
    }
    if (messages == UCS_INPROGRESS && comp != nullptr) {
        ++comp->count;
    }
    LocalIface &iface      = LocalIface::from(tl_ep->iface);
    uct_completion_t *mine = iface.begin_bulk(comp);
    ucs_status_t bulk      = iface.settle_bulk(
        mine, uct_ep_flush(ep.bulk_, flags, mine));
    if (bulk == UCS_INPROGRESS) {
        return UCS_INPROGRESS;
    }
    if (messages == UCS_INPROGRESS && comp != nullptr) {
        /* The messages' end will complete it; an error of the bulk lane is
         * the status then. */
        if (UCS_STATUS_IS_ERR(bulk)) {
            uct_completion_update_status(comp, bulk);
        }
        --comp->count;
        return UCS_INPROGRESS;
    }
    return messages == UCS_OK || UCS_STATUS_IS_ERR(bulk) ? bulk : messages;
}

ucs_status_t LocalEp::fence(uct_ep_h tl_ep, unsigned flags)
{
    LocalEp &ep = from(tl_ep);
    if (ep.bulk_ != nullptr) {
        ep.fence_bulk();
    }
    return uct_ep_fence(ep.lane_, flags);
}

/* cma copies when it is progressed, so a message could overtake it. The copy is
 * this process's own work and waits for nobody: do it. In a completion of cma's
 * that cannot be: then messages wait. */
void LocalEp::fence_bulk()
{
    LocalIface &iface = LocalIface::from(super.iface);
    while (uct_ep_flush(bulk_, 0, nullptr) == UCS_INPROGRESS) {
        if (!iface.in_bulk_) {
            uct_iface_progress(iface.bulk_->handle());
            continue;
        }
        if (!gate_.closed()) {
            gate_.close(messages_);
            ++iface.closed_;
            uct_worker_progress_register_safe(&iface.worker->super,
                                              LocalIface::open_gates, &iface,
                                              0, &iface.opening_);
        }
        return;
    }
}

ucs_status_t LocalEp::check(uct_ep_h ep, unsigned flags,
                            uct_completion_t *comp)
{
    return uct_ep_check(from(ep).lane_, flags, comp);
}

void LocalEp::set_ops(uct_iface_ops_t &ops, bool is_self)
{
    ops.ep_am_short      = am_short;
    ops.ep_am_short_iov  = am_short_iov;
    ops.ep_am_bcopy      = am_bcopy;
    ops.ep_put_zcopy     = is_self ? self_put_zcopy : put_zcopy;
    ops.ep_get_zcopy     = is_self ? self_get_zcopy : get_zcopy;
    ops.ep_pending_add   = pending_add;
    ops.ep_pending_purge = pending_purge;
    ops.ep_flush         = flush;
    ops.ep_fence         = fence;
    ops.ep_check         = check;
    ops.ep_create        = create;
    ops.ep_destroy       = destroy;
}

} // namespace fuselink

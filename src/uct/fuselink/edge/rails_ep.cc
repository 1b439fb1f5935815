/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rails_ep.h"

#include "iface.h"
#include "md.h"
#include "rails_iface.h"

#include <cstring>

namespace fuselink {

ucs_status_t RailsEp::create(const uct_ep_params_t *params, uct_ep_h *ep_p)
{
    RailsIface &iface = RailsIface::from(params->iface);
    UCT_EP_PARAMS_CHECK_DEV_IFACE_ADDRS(params);

    wire::RailTable table;
    auto *bytes = reinterpret_cast<const uint8_t *>(params->iface_addr);
    if (!wire::unpack_iface_address({bytes, wire::kMaxIfaceAddress}, table)) {
        ucs_error("fuselink: malformed interface address of a peer");
        return UCS_ERR_INVALID_ADDR;
    }
    const Turns::Own turn(iface.engine().turns());
    if (table.uuid == iface.engine().table().uuid) {
        ucs_diag("fuselink: a client of a listener of its own worker: not connected");
        return UCS_ERR_UNREACHABLE;
    }
    Peer *peer;
    ucs_status_t status = iface.engine().connect(table, peer);
    if (status != UCS_OK) {
        return status;
    }
    auto *ep = new RailsEp;
    status   = init_base_ep(ep, &iface);
    if (status != UCS_OK) {
        delete ep;
        return status;
    }
    ep->peer_    = peer;
    ep->turns_   = &iface.engine().turns();
    ep->user_.ep = &ep->super;
    peer->attach(ep->user_);
    wire::DeviceAddress device;
    memcpy(&device, params->dev_addr, sizeof(device));
    if (device.node == wire::kAnyNode || iface.met().has(table.uuid)) {
        ep->met_ = &iface.met();
        ep->met_->add(table.uuid);
    }
    *ep_p = &ep->super;
    return UCS_OK;
}

void RailsEp::destroy(uct_ep_h tl_ep)
{
    RailsEp         &ep = from(tl_ep);
    const Turns::Own turn(*ep.turns_);
    if (ep.met_ != nullptr) {
        ep.met_->remove(ep.peer_->uuid());
    }
    ep.peer_->detach(ep.user_);
    cleanup_base_ep(&ep);
    delete &ep;
}

/* What has ended and was not told yet is told first. */
ucs_status_t RailsEp::flush(uct_ep_h ep, unsigned flags, uct_completion_t *comp)
{
    const Call   call(ep);
    ucs_status_t status = call->flush(&call.user(), flags, comp);
    if (ucs_likely(status != UCS_OK || !call->calls().held().holding())) {
        return status;
    }
    if (comp != nullptr) {
        call->complete(comp, UCS_OK);
    }
    return UCS_INPROGRESS;
}

void RailsEp::set_ops(uct_iface_ops_t &ops)
{
    ops.ep_create  = create;
    ops.ep_destroy = destroy;

    ops.ep_am_short = [](uct_ep_h ep, uint8_t id, uint64_t header,
                         const void *payload, unsigned length) {
        UCT_CHECK_AM_ID(id);
        return Call(ep)->am_short(id, header, payload, length);
    };
    ops.ep_am_short_iov = uct_base_ep_am_short_iov;
    ops.ep_am_bcopy     = [](uct_ep_h ep, uint8_t id, uct_pack_callback_t pack,
                         void *arg, unsigned) -> ssize_t {
        UCT_CHECK_AM_ID(id);
        return Call(ep)->am_bcopy(id, pack, arg);
    };
    ops.ep_am_zcopy = [](uct_ep_h ep, uint8_t id, const void *header,
                         unsigned header_length, const uct_iov_t *iov,
                         size_t iovcnt, unsigned, uct_completion_t *) {
        UCT_CHECK_AM_ID(id);
        return Call(ep)->messages().am_zcopy(id, header, header_length, iov,
                                             iovcnt);
    };
    ops.ep_put_short = [](uct_ep_h ep, const void *buffer, unsigned length,
                          uint64_t remote_addr, uct_rkey_t rkey) {
        return Call(ep)->rma().put_short(buffer, length, remote_addr,
                                         remote_key_or_none(rkey));
    };
    ops.ep_put_bcopy = [](uct_ep_h ep, uct_pack_callback_t pack, void *arg,
                          uint64_t remote_addr, uct_rkey_t rkey) {
        return Call(ep)->rma().put_bcopy(pack, arg, remote_addr,
                                         remote_key_or_none(rkey));
    };
    ops.ep_put_zcopy = [](uct_ep_h ep, const uct_iov_t *iov, size_t iovcnt,
                          uint64_t remote_addr, uct_rkey_t rkey,
                          uct_completion_t *comp) {
        UCT_CHECK_IOV_SIZE(iovcnt, 1ul, "fuselink put_zcopy");
        const Call call(ep);
        return call->rma().put_zcopy(call.user(), iov, iovcnt, remote_addr,
                                     remote_key_or_none(rkey), comp);
    };
    ops.ep_get_bcopy = [](uct_ep_h ep, uct_unpack_callback_t unpack, void *arg,
                          size_t length, uint64_t remote_addr, uct_rkey_t rkey,
                          uct_completion_t *comp) {
        const Call call(ep);
        return call->rma().get_bcopy(call.user(), unpack, arg, length, remote_addr,
                                     remote_key_or_none(rkey), comp);
    };
    ops.ep_get_zcopy = [](uct_ep_h ep, const uct_iov_t *iov, size_t iovcnt,
                          uint64_t remote_addr, uct_rkey_t rkey,
                          uct_completion_t *comp) {
        UCT_CHECK_IOV_SIZE(iovcnt, 1ul, "fuselink get_zcopy");
        const Call call(ep);
        return call->rma().get_zcopy(call.user(), iov, iovcnt, remote_addr,
                                     remote_key_or_none(rkey), comp);
    };
    ops.ep_pending_add = [](uct_ep_h ep, uct_pending_req_t *req, unsigned) {
        const Call call(ep);
        return call->pending().add(call.user(), req);
    };
    ops.ep_pending_purge = [](uct_ep_h ep, uct_pending_purge_callback_t cb,
                              void *arg) {
        const Call call(ep);
        call->pending().purge(call.user(), cb, arg);
    };
    ops.ep_flush = flush;
    ops.ep_fence = [](uct_ep_h ep, unsigned) { return Call(ep)->fence(false); };
    ops.ep_check = [](uct_ep_h ep, unsigned flags, uct_completion_t *comp) {
        return Call(ep)->check(flags, comp);
    };
}

} // namespace fuselink

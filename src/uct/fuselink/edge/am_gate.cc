/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "am_gate.h"

#include "iface.h"

namespace fuselink {
namespace {

uct_pending_req_t *pull(ucs_queue_head_t &queue)
{
    auto *priv = reinterpret_cast<char *>(ucs_queue_pull_non_empty(&queue));
    return reinterpret_cast<uct_pending_req_t *>(
        priv - offsetof(uct_pending_req_t, priv));
}

} // namespace

uct_ep_h AmGate::closed_lane()
{
    static uct_iface_t iface = [] {
        uct_iface_t self{};
        self.ops                 = unsupported_ops();
        self.ops.ep_am_short     = [](uct_ep_h, uint8_t, uint64_t,
                                  const void *, unsigned) {
            return UCS_ERR_NO_RESOURCE;
        };
        self.ops.ep_am_short_iov = [](uct_ep_h, uint8_t, const uct_iov_t *,
                                      size_t) { return UCS_ERR_NO_RESOURCE; };
        self.ops.ep_am_bcopy     = [](uct_ep_h, uint8_t, uct_pack_callback_t,
                                  void *, unsigned) -> ssize_t {
            return UCS_ERR_NO_RESOURCE;
        };
        return self;
    }();
    static uct_ep_t ep{&iface};
    return &ep;
}

void AmGate::purge(uct_pending_purge_callback_t cb, void *arg)
{
    while (!ucs_queue_is_empty(&waiting_)) {
        cb(pull(waiting_), arg);
    }
}

void AmGate::open(uct_ep_h &lane, uct_ep_h real)
{
    lane    = real;
    closed_ = false;
    while (!ucs_queue_is_empty(&waiting_) && !closed_) {
        uct_pending_req_t *req = pull(waiting_);
        while (req->func(req) != UCS_OK) {
            if (closed_) { /* by a fence in one of them */
                add(req);
                return;
            }
            if (uct_ep_pending_add(real, req, 0) == UCS_OK) {
                break; /* no room: the lane itself will call it */
            }
        }
    }
}

} // namespace fuselink

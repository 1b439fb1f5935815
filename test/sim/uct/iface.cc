/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "iface.h"

#include "../fabric/queue_pair.h"
#include "edge/iface.h"
#include "edge/internal_ops.h"

#include <algorithm>
#include <cstring>

namespace fuselink::sim {
namespace {

/* What a call into a transport takes, ns. */
constexpr Instant kLeastCall = 30, kMostCall = 300;

void spend(const SimIface &iface)
{
    iface.world().spend(kLeastCall, kMostCall);
}

SimEp &enter(uct_ep_h ep)
{
    SimEp &sim = SimEp::from(ep);
    spend(sim.owner());
    return sim;
}

/* What a program that was killed has left behind does nothing any more. */
ucs_status_t refuse_for(SimEp &ep)
{
    if (!ep.owner().process().alive) {
        return UCS_ERR_CONNECTION_RESET;
    }
    return ep.owner().storms() ? UCS_ERR_NO_RESOURCE : UCS_OK;
}

uct_iface_ops_t make_ops()
{
    uct_iface_ops_t ops = unsupported_ops();
    ops.ep_am_short = [](uct_ep_h ep, uint8_t id, uint64_t header,
                         const void *data, unsigned length) {
        SimEp       &sim    = enter(ep);
        ucs_status_t status = refuse_for(sim);
        return status != UCS_OK ? status :
                                  sim.am_short(id, header, data, length);
    };
    ops.ep_am_bcopy = [](uct_ep_h ep, uint8_t id, uct_pack_callback_t pack,
                         void *arg, unsigned) -> ssize_t {
        SimEp       &sim    = enter(ep);
        ucs_status_t status = refuse_for(sim);
        return status != UCS_OK ? static_cast<ssize_t>(status) :
                                  sim.am_bcopy(id, pack, arg);
    };
    ops.ep_am_zcopy = [](uct_ep_h ep, uint8_t id, const void *header,
                         unsigned header_length, const uct_iov_t *iov,
                         size_t count, unsigned, uct_completion_t *comp) {
        SimEp       &sim    = enter(ep);
        ucs_status_t status = refuse_for(sim);
        return status != UCS_OK ? status :
                                  sim.am_zcopy(id, header, header_length, iov,
                                               count, comp);
    };
    ops.ep_put_short = [](uct_ep_h ep, const void *data, unsigned length,
                          uint64_t remote, uct_rkey_t rkey) {
        SimEp       &sim    = enter(ep);
        ucs_status_t status = refuse_for(sim);
        return status != UCS_OK ? status :
                                  sim.put_short(data, length, remote, rkey);
    };
    ops.ep_put_bcopy = [](uct_ep_h ep, uct_pack_callback_t pack, void *arg,
                          uint64_t remote, uct_rkey_t rkey) -> ssize_t {
        SimEp       &sim    = enter(ep);
        ucs_status_t status = refuse_for(sim);
        return status != UCS_OK ? static_cast<ssize_t>(status) :
                                  sim.put_bcopy(pack, arg, remote, rkey);
    };
    ops.ep_put_zcopy = [](uct_ep_h ep, const uct_iov_t *iov, size_t count,
                          uint64_t remote, uct_rkey_t rkey,
                          uct_completion_t *comp) {
        SimEp       &sim    = enter(ep);
        ucs_status_t status = refuse_for(sim);
        return status != UCS_OK ? status :
                                  sim.put_zcopy(iov, count, remote, rkey, comp);
    };
    ops.ep_get_short = [](uct_ep_h ep, void *to, unsigned length,
                          uint64_t remote, uct_rkey_t rkey) {
        SimEp       &sim    = enter(ep);
        ucs_status_t status = refuse_for(sim);
        return status != UCS_OK ? status :
                                  sim.get_short(to, length, remote, rkey);
    };
    ops.ep_get_bcopy = [](uct_ep_h ep, uct_unpack_callback_t unpack, void *arg,
                          size_t length, uint64_t remote, uct_rkey_t rkey,
                          uct_completion_t *comp) {
        SimEp       &sim    = enter(ep);
        ucs_status_t status = refuse_for(sim);
        return status != UCS_OK ? status :
                                  sim.get_bcopy(unpack, arg, length, remote,
                                                rkey, comp);
    };
    ops.ep_get_zcopy = [](uct_ep_h ep, const uct_iov_t *iov, size_t count,
                          uint64_t remote, uct_rkey_t rkey,
                          uct_completion_t *comp) {
        SimEp       &sim    = enter(ep);
        ucs_status_t status = refuse_for(sim);
        return status != UCS_OK ? status :
                                  sim.get_zcopy(iov, count, remote, rkey, comp);
    };
    ops.ep_pending_add = [](uct_ep_h ep, uct_pending_req_t *req, unsigned) {
        return enter(ep).pending_add(req);
    };
    ops.ep_pending_purge = [](uct_ep_h ep, uct_pending_purge_callback_t cb,
                              void *arg) {
        enter(ep).pending_purge(cb, arg);
    };
    ops.ep_flush = [](uct_ep_h ep, unsigned flags, uct_completion_t *comp) {
        SimEp &sim = enter(ep);
        return refuse_for(sim) != UCS_OK ? UCS_ERR_NO_RESOURCE :
                                           sim.flush(flags, comp);
    };
    ops.ep_fence = [](uct_ep_h ep, unsigned) {
        enter(ep);
        return UCS_OK;
    };
    ops.ep_check = [](uct_ep_h ep, unsigned, uct_completion_t *) {
        return enter(ep).check();
    };
    ops.ep_create = [](const uct_ep_params_t *params, uct_ep_h *ep) {
        SimIface &iface = SimIface::from(params->iface);
        spend(iface);
        return iface.create_ep(params, ep);
    };
    ops.ep_destroy = [](uct_ep_h ep) { delete &enter(ep); };
    ops.ep_get_address = [](uct_ep_h ep, uct_ep_addr_t *address) {
        return enter(ep).address(reinterpret_cast<uint8_t *>(address));
    };
    ops.ep_connect_to_ep = [](uct_ep_h ep, const uct_device_addr_t *,
                              const uct_ep_addr_t *address) {
        return enter(ep).connect_to(
            reinterpret_cast<const uint8_t *>(address));
    };
    ops.iface_flush = [](uct_iface_h, unsigned, uct_completion_t *) {
        return UCS_ERR_UNSUPPORTED;
    };
    ops.iface_fence = [](uct_iface_h, unsigned) { return UCS_OK; };
    ops.iface_progress_enable  = uct_base_iface_progress_enable;
    ops.iface_progress_disable = uct_base_iface_progress_disable;
    ops.iface_progress         = [](uct_iface_h iface) {
        SimIface &sim = SimIface::from(iface);
        spend(sim);
        unsigned count = sim.progress();
        return count + sim.look_again();
    };
    ops.iface_event_fd_get = [](uct_iface_h iface, int *fd) {
        *fd = SimIface::from(iface).bell().fd();
        return UCS_OK;
    };
    ops.iface_event_arm = [](uct_iface_h iface, unsigned) {
        SimIface &sim = SimIface::from(iface);
        spend(sim);
        return sim.arm();
    };
    ops.iface_close = [](uct_iface_h iface) {
        uct_base_iface_progress_disable(iface,
                                        UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
        delete &SimIface::from(iface);
    };
    ops.iface_query = [](uct_iface_h iface, uct_iface_attr_t *attr) {
        SimIface &sim = SimIface::from(iface);
        uct_base_iface_query(&sim, attr);
        attr->iface_addr_len = sizeof(uint32_t);
        sim.describe(*attr);
        return UCS_OK;
    };
    ops.iface_get_address = [](uct_iface_h iface, uct_iface_addr_t *address) {
        const uint32_t number = SimIface::from(iface).id();
        memcpy(address, &number, sizeof(number));
        return UCS_OK;
    };
    ops.iface_get_device_address = [](uct_iface_h        iface,
                                      uct_device_addr_t *address) {
        SimIface::from(iface).write_device_address(
            reinterpret_cast<uint8_t *>(address));
        return UCS_OK;
    };
    ops.iface_is_reachable = [](const uct_iface_h         iface,
                                const uct_device_addr_t *device,
                                const uct_iface_addr_t *) -> int {
        return SimIface::from(iface).reaches(
            reinterpret_cast<const uint8_t *>(device));
    };
    return ops;
}

} // namespace

void SimIface::look_again_at(SimEp &ep)
{
    if (std::find(again_.begin(), again_.end(), &ep) == again_.end()) {
        again_.push_back(&ep);
    }
}

/* Those that found no room though there was: each once. */
unsigned SimIface::look_again()
{
    unsigned count = 0;
    for (size_t n = again_.size(); n != 0 && !again_.empty(); --n) {
        SimEp *ep = again_.front();
        again_.erase(again_.begin());
        count += ep->dispatch();
    }
    return count;
}

uint32_t SimIface::number_in(const uct_iface_addr_t *address)
{
    uint32_t number;
    memcpy(&number, address, sizeof(number));
    return number;
}

ucs_status_t SimIface::init(uct_md_h md, uct_worker_h worker,
                            const uct_iface_params_t *params,
                            const uct_iface_config_t *config)
{
    static uct_iface_internal_ops_t internal_ops = internal_ops_table();
    uct_iface_ops_t ops    = make_ops();
    ucs_status_t    status = init_base_iface(this, &ops, &internal_ops, md,
                                             worker, params, config);
    if (status != UCS_OK) {
        return status;
    }
    ready_    = true;
    headroom_ = UCT_IFACE_PARAM_VALUE(params, rx_headroom, RX_HEADROOM, 0);
    release_.cb = [](uct_recv_desc_t *, void *desc) {
        free(static_cast<char *>(desc) - 2 * sizeof(void *));
    };
    id_ = world().add_iface(*this);
    return bell_.fd() >= 0 ? UCS_OK : UCS_ERR_IO_ERROR;
}

SimIface::~SimIface()
{
    if (id_ != 0) {
        world().remove_iface(id_);
    }
    if (ready_) {
        cleanup_base_iface(this);
    }
}

void SimIface::fail_ep(SimEp &ep, ucs_status_t status)
{
    if (!ep.failed) {
        ep.failed = true;
        uct_iface_handle_ep_err(&super, ep.handle(), status);
    }
}

/* As UCX's RDMA transports lay a descriptor out: the hook, which the user may
 * replace, in front of his headroom, in front of the data. */
void SimIface::deliver(uint8_t id, const std::vector<uint8_t> &bytes,
                       bool may_keep)
{
    QueuePair::check_put_again(process_, id, bytes);
    if (world().on_message) {
        world().on_message(process_, id, bytes.data(), bytes.size());
    }
    if (!may_keep) {
        /* A transport's own buffer is its own again behind the call. */
        std::vector<uint8_t> buffer(bytes);
        uct_iface_invoke_am(this, id, buffer.data(),
                            static_cast<unsigned>(buffer.size()), 0);
        return;
    }
    auto *block = static_cast<char *>(
        malloc(2 * sizeof(void *) + headroom_ + bytes.size() + 1));
    char *desc = block + 2 * sizeof(void *);
    uct_recv_desc(desc) = &release_;
    memcpy(desc + headroom_, bytes.data(), bytes.size());
    ucs_status_t status = uct_iface_invoke_am(
        this, id, desc + headroom_, static_cast<unsigned>(bytes.size()),
        UCT_CB_PARAM_FLAG_DESC);
    if (status == UCS_OK) {
        free(block);
    }
}

ucs_status_t SimEp::init()
{
    ucs_queue_head_init(&pending_);
    ucs_status_t status = init_base_ep(this, &owner_);
    if (status == UCS_OK) {
        ready_ = true;
        ++owner_.process().endpoints;
    }
    return status;
}

SimEp::~SimEp()
{
    if (ready_) {
        if (!ucs_queue_is_empty(&pending_)) {
            world().journal().violate("an endpoint is destroyed with requests "
                                      "in its queue");
        }
        owner_.forget(*this);
        --owner_.process().endpoints;
        cleanup_base_ep(this);
    }
}

ucs_status_t SimEp::pending_add(uct_pending_req_t *req)
{
    if (room() != UCS_ERR_NO_RESOURCE) {
        return UCS_ERR_BUSY;
    }
    uct_pending_req_queue_push(&pending_, req);
    return UCS_OK;
}

void SimEp::pending_purge(uct_pending_purge_callback_t cb, void *arg)
{
    while (!ucs_queue_is_empty(&pending_)) {
        auto *elem = ucs_queue_pull_non_empty(&pending_);
        cb(reinterpret_cast<uct_pending_req_t *>(
               reinterpret_cast<char *>(elem) -
               offsetof(uct_pending_req_t, priv)),
           arg);
    }
}

unsigned SimEp::dispatch()
{
    unsigned count = 0;
    while (!ucs_queue_is_empty(&pending_) && room() == UCS_OK) {
        ucs_queue_elem_t *elem = ucs_queue_pull_non_empty(&pending_);
        auto             *req  = reinterpret_cast<uct_pending_req_t *>(
            reinterpret_cast<char *>(elem) -
            offsetof(uct_pending_req_t, priv));
        ++count;
        if (req->func(req) != UCS_OK) {
            ucs_queue_push_head(&pending_, elem);
            owner_.look_again_at(*this);
            break;
        }
    }
    return count;
}

ucs_status_t SimEp::am_short(uint8_t, uint64_t, const void *, unsigned)
{
    return UCS_ERR_UNSUPPORTED;
}
ssize_t SimEp::am_bcopy(uint8_t, uct_pack_callback_t, void *)
{
    return UCS_ERR_UNSUPPORTED;
}
ucs_status_t SimEp::am_zcopy(uint8_t, const void *, unsigned,
                             const uct_iov_t *, size_t, uct_completion_t *)
{
    return UCS_ERR_UNSUPPORTED;
}
ucs_status_t SimEp::put_short(const void *, unsigned, uint64_t, uct_rkey_t)
{
    return UCS_ERR_UNSUPPORTED;
}
ssize_t SimEp::put_bcopy(uct_pack_callback_t, void *, uint64_t, uct_rkey_t)
{
    return UCS_ERR_UNSUPPORTED;
}
ucs_status_t SimEp::put_zcopy(const uct_iov_t *, size_t, uint64_t, uct_rkey_t,
                              uct_completion_t *)
{
    return UCS_ERR_UNSUPPORTED;
}
ucs_status_t SimEp::get_short(void *, unsigned, uint64_t, uct_rkey_t)
{
    return UCS_ERR_UNSUPPORTED;
}
ucs_status_t SimEp::get_bcopy(uct_unpack_callback_t, void *, size_t, uint64_t,
                              uct_rkey_t, uct_completion_t *)
{
    return UCS_ERR_UNSUPPORTED;
}
ucs_status_t SimEp::get_zcopy(const uct_iov_t *, size_t, uint64_t, uct_rkey_t,
                              uct_completion_t *)
{
    return UCS_ERR_UNSUPPORTED;
}
ucs_status_t SimEp::address(uint8_t *) const
{
    return UCS_ERR_UNSUPPORTED;
}
ucs_status_t SimEp::connect_to(const uint8_t *)
{
    return UCS_ERR_UNSUPPORTED;
}

std::vector<uint8_t> pack_short(uint64_t header, const void *data,
                                unsigned length)
{
    std::vector<uint8_t> bytes(sizeof(header) + length);
    memcpy(bytes.data(), &header, sizeof(header));
    if (length != 0) {
        memcpy(bytes.data() + sizeof(header), data, length);
    }
    return bytes;
}

std::vector<uint8_t> pack_bcopy(uct_pack_callback_t pack, void *arg,
                                size_t most)
{
    std::vector<uint8_t> bytes(most);
    bytes.resize(pack(bytes.data(), arg));
    return bytes;
}

std::vector<uint8_t> pack_zcopy(const void *header, unsigned header_length,
                                const uct_iov_t *iov, size_t count)
{
    std::vector<uint8_t> bytes(header_length + length_of(iov, count));
    uint8_t             *at = bytes.data();
    if (header_length != 0) {
        memcpy(at, header, header_length);
        at += header_length;
    }
    for (size_t i = 0; i < count; ++i) {
        if (iov[i].length != 0) {
            memcpy(at, iov[i].buffer, iov[i].length);
            at += iov[i].length;
        }
    }
    return bytes;
}

} // namespace fuselink::sim

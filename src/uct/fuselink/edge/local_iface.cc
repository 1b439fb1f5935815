/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "local_iface.h"

#include "../config/ucx_tls.h"
#include "iface.h"
#include "internal_ops.h"
#include "local_ep.h"
#include "md.h"

#include <cstdlib>
#include <cstring>

namespace fuselink {
namespace {

/* In an interface address: lengths of the parts that follow. */
struct LocalAddressHeader {
    uint8_t device;  /* device address, shared by both lanes of the node */
    uint8_t message; /* interface address of the message lane */
    uint8_t bulk;    /* interface address of the bulk lane; 0 if none */
} __attribute__((packed));

} // namespace

bool LocalIface::split_address(const uct_iface_addr_t *addr,
                               std::vector<uint8_t> &device,
                               std::vector<uint8_t> &message,
                               std::vector<uint8_t> &bulk)
{
    auto *bytes = reinterpret_cast<const uint8_t *>(addr);
    LocalAddressHeader header;
    memcpy(&header, bytes, sizeof(header));
    if (sizeof(header) + header.device + header.message + header.bulk >
        wire::kMaxIfaceAddress) {
        return false;
    }
    bytes += sizeof(header);
    device.assign(bytes, bytes + header.device);
    bytes += header.device;
    message.assign(bytes, bytes + header.message);
    bytes += header.message;
    bulk.assign(bytes, bytes + header.bulk);
    return true;
}

ucs_status_t LocalIface::open(uct_md_h md, uct_worker_h worker,
                              const uct_iface_params_t *params,
                              const uct_iface_config_t *config,
                              uct_iface_h *iface_p)
{
    std::unique_ptr<LocalIface> iface(new LocalIface);
    ucs_status_t status = iface->init(md, worker, params, config);
    if (status == UCS_OK) {
        *iface_p = &iface.release()->super;
    }
    return status;
}

ucs_status_t LocalIface::init(uct_md_h tl_md, uct_worker_h worker,
                              const uct_iface_params_t *params,
                              const uct_iface_config_t *config)
{
    Md &md   = Md::from(tl_md);
    is_self_ = strcmp(params->mode.device.dev_name, kSelfDevice) == 0;

    static uct_iface_internal_ops_t internal_ops = internal_ops_table();
    uct_iface_ops_t ops = ops_table(is_self_);
    ucs_status_t status = init_base_iface(this, &ops, &internal_ops, tl_md,
                                          worker, params, config);
    if (status != UCS_OK) {
        return status;
    }
    base_ready_ = true;

    UctMd *message_md = is_self_ ? md.self_lane() : md.message_lane();
    if (message_md == nullptr) {
        return UCS_ERR_NO_DEVICE;
    }
    UctIfaceParams lower;
    lower.worker          = worker;
    lower.user            = params;
    lower.rx_headroom     = UCT_IFACE_PARAM_VALUE(params, rx_headroom,
                                                  RX_HEADROOM, 0);
    lower.err_handler     = on_error;
    lower.err_handler_arg = this;
    const UctMd::Resource &lane = message_md->resources()[0];
    status = UctIface::open(*message_md, lane.tl, lane.device, lower,
                            messages_);
    if (status != UCS_OK) {
        return status;
    }
    if (!is_self_ && md.bulk_lane() != nullptr) {
        const UctMd::Resource &bulk = md.bulk_lane()->resources()[0];
        status = UctIface::open(*md.bulk_lane(), bulk.tl, bulk.device,
                                lower, bulk_);
        if (status != UCS_OK) {
            ucs_debug("fuselink: node-local bulk lane not used: %s",
                      ucs_status_string(status));
            bulk_.reset();
        }
    }

    device_address_.magic   = wire::kDeviceMagic;
    device_address_.version = wire::kProtocolVersion;
    device_address_.kind    = static_cast<uint8_t>(
        is_self_ ? wire::DeviceKind::Self : wire::DeviceKind::Node);
    device_address_.node    = is_self_ ?
        md.host().random64() : md.node_signature();

    std::vector<uint8_t> address;
    status = pack_address(address);
    if (status != UCS_OK) {
        return status;
    }

    /* The handlers are looked up at arrival: the user may set them later. */
    for (unsigned id = 0; id < UCT_AM_ID_MAX; ++id) {
        status = uct_iface_set_am_handler(messages_->handle(),
                                          static_cast<uint8_t>(id), on_message,
                                          &am[id], 0);
        if (status != UCS_OK) {
            return status;
        }
    }
    return start_report(config);
}

ucs_status_t LocalIface::start_report(const uct_iface_config_t *config)
{
    std::string destination =
        file_name(reinterpret_cast<const IfaceConfig *>(config)->report);
    std::string error;
    if (destination.empty()) {
        return UCS_OK;
    }
    report_ = ExitReport::start(destination, error);
    if (report_ == nullptr) {
        ucs_error("UCX_FUSELINK_REPORT: %s", error.c_str());
        return UCS_ERR_IO_ERROR;
    }
    report_->add({.name    = bulk_ ? bulk_->tl() : messages_->tl(),
                  .peers   = is_self_ ? Totals::Peers::Self :
                                        Totals::Peers::Node,
                  .traffic = &traffic_});
    return UCS_OK;
}

ucs_status_t LocalIface::count(Moved &moved, const uct_iov_t *iov,
                               size_t iovcnt, ucs_status_t status)
{
    if (!UCS_STATUS_IS_ERR(status)) {
        uint64_t length = 0;
        for (size_t i = 0; i < iovcnt; ++i) {
            length += iov[i].length * iov[i].count;
        }
        moved.add(length);
    }
    return status;
}

LocalIface::~LocalIface()
{
    if (report_ != nullptr) {
        report_->remove(&traffic_);
    }
    if (opening_ != UCS_CALLBACKQ_ID_NULL) {
        uct_worker_progress_unregister_safe(&worker->super, &opening_);
    }
    bulk_.reset();
    messages_.reset();
    if (base_ready_) {
        cleanup_base_iface(this);
    }
}

ucs_status_t LocalIface::pack_address(std::vector<uint8_t> &address) const
{
    size_t bulk_length = bulk_ ? bulk_->iface_address().size() : 0;
    LocalAddressHeader header{
        static_cast<uint8_t>(messages_->device_address().size()),
        static_cast<uint8_t>(messages_->iface_address().size()),
        static_cast<uint8_t>(bulk_length)};
    address.assign(reinterpret_cast<uint8_t *>(&header),
                   reinterpret_cast<uint8_t *>(&header + 1));
    auto append = [&](const std::vector<uint8_t> &part) {
        address.insert(address.end(), part.begin(), part.end());
    };
    append(messages_->device_address());
    append(messages_->iface_address());
    if (bulk_) {
        append(bulk_->iface_address());
    }
    if (address.size() > wire::kMaxIfaceAddress) {
        ucs_error("fuselink: address of the node's lanes takes %zu bytes, "
                  "UCX has room for %zu; a shorter UCX_POSIX_DIR helps",
                  address.size(), wire::kMaxIfaceAddress);
        return UCS_ERR_EXCEEDS_LIMIT;
    }
    address.resize(wire::kMaxIfaceAddress);
    return UCS_OK;
}

ucs_status_t LocalIface::on_message(void *arg, void *data, size_t length,
                                    unsigned flags)
{
    auto *handler = static_cast<uct_am_handler_t *>(arg);
    return handler->cb(handler->arg, data, length, flags);
}

ucs_status_t LocalIface::on_error(void *arg, uct_ep_h ep, ucs_status_t status)
{
    auto *iface = static_cast<LocalIface *>(arg);
    auto it     = iface->eps_.find(ep);
    if (it == iface->eps_.end()) {
        return UCS_OK;
    }
    return uct_iface_handle_ep_err(&iface->super, &it->second->super, status);
}

namespace {

/* True if UCX's own lanes to the node may be enabled beside ours, as far as
 * the environment tells. UCP would split a message over ours and its own,
 * which are one and the same memory. */
bool beside_own_lanes()
{
    return ucx_may_enable(getenv("UCX_TLS"),
                          {"all", "sm", "shm", "mm", "posix", "sysv", "cma",
                           "knem", "xpmem"});
}

/* UCP leaves out lanes that are this many times slower than another. */
constexpr double kSlower = 64;

} // namespace

ucs_status_t LocalIface::query(uct_iface_h tl_iface, uct_iface_attr_t *attr)
{
    LocalIface &iface = from(tl_iface);
    uct_base_iface_query(&iface, attr);

    const uct_iface_attr_t &lane = iface.messages_->attr();
    attr->cap.am            = lane.cap.am;
    attr->cap.event_flags   = lane.cap.event_flags;
    attr->latency           = lane.latency;
    attr->bandwidth         = lane.bandwidth;
    attr->overhead          = lane.overhead;
    attr->priority          = lane.priority;
    attr->cap.flags         = lane.cap.flags &
                              (UCT_IFACE_FLAG_AM_SHORT |
                               UCT_IFACE_FLAG_AM_BCOPY |
                               UCT_IFACE_FLAG_PENDING |
                               UCT_IFACE_FLAG_CB_SYNC |
                               UCT_IFACE_FLAG_EP_CHECK |
                               UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE |
                               UCT_IFACE_FLAG_CONNECT_TO_IFACE);
    attr->device_addr_len   = sizeof(wire::DeviceAddress);
    attr->iface_addr_len    = wire::kMaxIfaceAddress;
    attr->ep_addr_len       = 0;
    attr->max_conn_priv     = 0;

    attr->cap.put.opt_zcopy_align = attr->cap.get.opt_zcopy_align = 1;
    attr->cap.put.align_mtu = attr->cap.get.align_mtu = 1;
    if (iface.bulk_) {
        attr->cap.put    = iface.bulk_->attr().cap.put;
        attr->cap.get    = iface.bulk_->attr().cap.get;
        attr->cap.flags |= UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_GET_ZCOPY;
        if (!iface.bulk_->has(UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE)) {
            attr->cap.flags &= ~UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE;
        }
    } else if (iface.is_self_) {
        attr->cap.flags |= UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_GET_ZCOPY;
        attr->cap.put.max_zcopy = attr->cap.get.max_zcopy = SIZE_MAX;
        attr->cap.put.max_iov   = attr->cap.get.max_iov   = SIZE_MAX;
    }
    if (beside_own_lanes()) {
        attr->bandwidth.dedicated /= kSlower;
        attr->bandwidth.shared    /= kSlower;
        attr->latency.c           *= kSlower;
        attr->priority             = 0;
    }
    return UCS_OK;
}

ucs_status_t LocalIface::get_device_address(uct_iface_h iface,
                                            uct_device_addr_t *addr)
{
    memcpy(addr, &from(iface).device_address_, sizeof(wire::DeviceAddress));
    return UCS_OK;
}

ucs_status_t LocalIface::get_address(uct_iface_h iface, uct_iface_addr_t *addr)
{
    std::vector<uint8_t> address;
    ucs_status_t status = from(iface).pack_address(address);
    if (status == UCS_OK) {
        memcpy(addr, address.data(), address.size());
    }
    return status;
}

int LocalIface::is_reachable(const uct_iface_h tl_iface,
                             const uct_device_addr_t *dev_addr,
                             const uct_iface_addr_t *iface_addr)
{
    const LocalIface &iface = from(tl_iface);
    /* Equal bytes: same version, same kind of device, same node. */
    if (memcmp(dev_addr, &iface.device_address_,
               sizeof(iface.device_address_)) != 0) {
        return 0;
    }
    if (iface_addr == nullptr) {
        return 1;
    }
    /* This interface itself is reached by device `self`; offering both would
     * make UCP split its messages to itself over the two. */
    std::vector<uint8_t> own;
    if (!iface.is_self_ && iface.pack_address(own) == UCS_OK &&
        memcmp(own.data(), iface_addr, own.size()) == 0) {
        return 0;
    }
    std::vector<uint8_t> device, message, bulk;
    return split_address(iface_addr, device, message, bulk) &&
           iface.messages_->is_reachable(device, message) &&
           (!iface.bulk_ || iface.bulk_->is_reachable(device, bulk));
}

ucs_status_t LocalIface::flush(uct_iface_h tl_iface, unsigned flags,
                               uct_completion_t *comp)
{
    if (comp != nullptr) {
        return UCS_ERR_UNSUPPORTED;
    }
    LocalIface &iface   = from(tl_iface);
    ucs_status_t status = uct_iface_flush(iface.messages_->handle(), flags,
                                          nullptr);
    if (status == UCS_OK && iface.bulk_) {
        status = uct_iface_flush(iface.bulk_->handle(), flags, nullptr);
    }
    return status;
}

ucs_status_t LocalIface::fence(uct_iface_h tl_iface, unsigned flags)
{
    LocalIface &iface = from(tl_iface);
    if (iface.bulk_) {
        for (const auto &[lower, ep] : iface.eps_) {
            if (lower == ep->bulk_) { /* each is there twice */
                ep->fence_bulk();
            }
        }
    }
    return uct_iface_fence(iface.messages_->handle(), flags);
}

void LocalIface::progress_enable(uct_iface_h tl_iface, unsigned flags)
{
    LocalIface &iface = from(tl_iface);
    uct_iface_progress_enable(iface.messages_->handle(), flags);
    if (iface.bulk_) {
        uct_iface_progress_enable(iface.bulk_->handle(), flags);
    }
}

void LocalIface::progress_disable(uct_iface_h tl_iface, unsigned flags)
{
    LocalIface &iface = from(tl_iface);
    uct_iface_progress_disable(iface.messages_->handle(), flags);
    if (iface.bulk_) {
        uct_iface_progress_disable(iface.bulk_->handle(), flags);
    }
}

unsigned LocalIface::progress(uct_iface_h tl_iface)
{
    LocalIface &iface = from(tl_iface);
    unsigned count    = uct_iface_progress(iface.messages_->handle());
    if (iface.bulk_) {
        count += uct_iface_progress(iface.bulk_->handle());
    }
    return count;
}

/* Completions of the bulk lane are called from inside it, where it cannot be
 * progressed: LocalEp::fence_bulk() has to know. */
uct_completion_t *LocalIface::begin_bulk(uct_completion_t *user)
{
    if (user == nullptr) {
        return nullptr;
    }
    BulkEnd &end = ends_.take();
    arm(end.comp, end_bulk);
    end.iface = this;
    end.user  = user;
    return &end.comp;
}

/* `status` is what the lane returned. */
ucs_status_t LocalIface::settle_bulk(uct_completion_t *comp,
                                     ucs_status_t status)
{
    if (comp != nullptr && status != UCS_INPROGRESS) {
        ends_.give_back(*reinterpret_cast<BulkEnd *>(comp));
    }
    return status;
}

void LocalIface::end_bulk(uct_completion_t *comp)
{
    BulkEnd end       = *reinterpret_cast<BulkEnd *>(comp);
    LocalIface &iface = *end.iface;
    iface.settle_bulk(comp, UCS_OK);
    bool outer     = iface.in_bulk_;
    iface.in_bulk_ = true;
    uct_invoke_completion(end.user, end.comp.status);
    iface.in_bulk_ = outer;
}

/* Called by the worker while some gate is closed. Requests that waited may
 * close them again, or destroy endpoints. */
unsigned LocalIface::open_gates(void *arg)
{
    LocalIface &iface = *static_cast<LocalIface *>(arg);
    std::vector<uct_ep_h> closed;
    for (const auto &[lower, ep] : iface.eps_) {
        if (lower == ep->bulk_ && ep->gate_.closed()) {
            closed.push_back(lower);
        }
    }
    unsigned count = 0;
    for (uct_ep_h lower : closed) {
        auto it = iface.eps_.find(lower);
        if (it != iface.eps_.end() &&
            uct_ep_flush(lower, 0, nullptr) != UCS_INPROGRESS) {
            LocalEp &ep = *it->second;
            --iface.closed_;
            ep.gate_.open(ep.messages_, ep.lane_);
            ++count;
        }
    }
    if (iface.closed_ == 0) {
        uct_worker_progress_unregister_safe(&iface.worker->super,
                                            &iface.opening_);
    }
    return count;
}

ucs_status_t LocalIface::event_fd_get(uct_iface_h iface, int *fd)
{
    return uct_iface_event_fd_get(from(iface).messages_->handle(), fd);
}

ucs_status_t LocalIface::event_arm(uct_iface_h tl_iface, unsigned events)
{
    LocalIface &iface   = from(tl_iface);
    ucs_status_t status = UCS_OK;
    if (iface.bulk_) {
        status = uct_iface_event_arm(iface.bulk_->handle(), events);
    }
    return status == UCS_OK ?
               uct_iface_event_arm(iface.messages_->handle(), events) :
               status;
}

void LocalIface::close(uct_iface_h iface)
{
    delete &from(iface);
}

uct_iface_ops_t LocalIface::ops_table(bool is_self)
{
    uct_iface_ops_t ops = unsupported_ops();
    LocalEp::set_ops(ops, is_self);
    ops.iface_flush              = flush;
    ops.iface_fence              = fence;
    ops.iface_progress_enable    = progress_enable;
    ops.iface_progress_disable   = progress_disable;
    ops.iface_progress           = progress;
    ops.iface_event_fd_get       = event_fd_get;
    ops.iface_event_arm          = event_arm;
    ops.iface_close              = close;
    ops.iface_query              = query;
    ops.iface_get_address        = get_address;
    ops.iface_get_device_address = get_device_address;
    ops.iface_is_reachable       = is_reachable;
    return ops;
}

} // namespace fuselink

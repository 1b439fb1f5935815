/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rails_iface.h"

#include "../../../ucs_ext/progress_choice.h"
#include "../config/config.h"
#include "../host/descriptor_limit.h"
#include "iface.h"
#include "internal_ops.h"
#include "md.h"
#include "rails_ep.h"

#include <algorithm>
#include <cstring>

namespace fuselink {
namespace {

/* Largest single put or get that is accepted. */
constexpr size_t kMaxBulk = size_t{1} << 40;

/* Of a trace; it is memory of every process. */
constexpr size_t kLeastTrace = size_t{1} << 10;
constexpr size_t kMostTrace  = size_t{1} << 32;

/* Of a slot for memory of GPUs. */
constexpr size_t kLeastSlot = size_t{1} << 15;
constexpr size_t kMostSlot  = size_t{1} << 28;
constexpr size_t kMostRelay = size_t{1} << 32;

/* Decides a tie against the bare NICs, which have the same latency; UCX's
 * transports use small numbers. */
constexpr uint8_t kPriority = 100;

bool read_devices(const char *setting, const char *text, DeviceList &list)
{
    std::string error;
    bool ok = DeviceList::parse(text, list, error);
    if (!ok) {
        ucs_error("UCX_FUSELINK_%s=%s: %s", setting, text, error.c_str());
    }
    return ok;
}

/* What it says of sharing NICs with other processes. */
ucs_status_t read_share(const IfaceConfig &config, ShareSettings &share)
{
    std::string own = config.own, borrow = config.borrow;
    DeviceList  list;
    bool named = own != "auto" && own != "none";
    if ((named && !read_devices("OWN", config.own, list)) ||
        (borrow != "none" &&
         !read_devices("BORROW", config.borrow, share.borrow))) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (config.borrow_max == 0) {
        ucs_error("UCX_FUSELINK_BORROW_MAX=0: accepted: 1 and more, or 'inf'; "
                  "UCX_FUSELINK_BORROW=none borrows nothing");
        return UCS_ERR_INVALID_PARAM;
    }
    share.board       = config.board;
    share.priority    = static_cast<Priority>(config.priority);
    share.own         = own;
    share.borrow_none = borrow == "none";
    share.borrow_max  = config.borrow_max;
    return UCS_OK;
}

} // namespace

ucs_status_t RailsIface::read_settings(const IfaceConfig &config,
                                       EngineSettings    &settings)
{
    settings.bulk.policy = sched::find_policy(config.sched);
    if (settings.bulk.policy == nullptr) {
        std::string names;
        for (const auto &info : sched::policies()) {
            names += (names.empty() ? "" : ", ") + std::string(info.name);
        }
        ucs_error("UCX_FUSELINK_SCHED=%s: no such policy; accepted: %s",
                  config.sched, names.c_str());
        return UCS_ERR_INVALID_PARAM;
    }
    if (config.min_chunk == 0 || config.min_chunk > config.max_chunk ||
        config.max_chunk > kMaxBulk) {
        ucs_error("UCX_FUSELINK_MIN_CHUNK=%zu, UCX_FUSELINK_MAX_CHUNK=%zu: "
                  "accepted: 1 <= MIN_CHUNK <= MAX_CHUNK",
                  config.min_chunk, config.max_chunk);
        return UCS_ERR_INVALID_PARAM;
    }
    if (!(config.chunk_time > 0 && config.chunk_time <= 1)) {
        ucs_error("UCX_FUSELINK_CHUNK_TIME=%g s: accepted: above 0, up to 1 s",
                  config.chunk_time);
        return UCS_ERR_INVALID_PARAM;
    }
    if (config.inline_get > wire::kMaxInlineGet) {
        ucs_error("UCX_FUSELINK_INLINE_GET=%zu: accepted: 0 to %lu",
                  config.inline_get, wire::kMaxInlineGet);
        return UCS_ERR_INVALID_PARAM;
    }
    if (config.gpu_chunk < kLeastSlot || config.gpu_chunk > kMostSlot) {
        ucs_error("UCX_FUSELINK_GPU_CHUNK=%zu: accepted: %zu to %zu bytes",
                  config.gpu_chunk, kLeastSlot, kMostSlot);
        return UCS_ERR_INVALID_PARAM;
    }
    if (config.relay_memory / 2 < config.gpu_chunk ||
        config.relay_memory > kMostRelay) {
        ucs_error("UCX_FUSELINK_RELAY_MEMORY=%zu: accepted: from 2 times "
                  "UCX_FUSELINK_GPU_CHUNK, %zu, to %zu bytes",
                  config.relay_memory, 2 * config.gpu_chunk, kMostRelay);
        return UCS_ERR_INVALID_PARAM;
    }
    if (config.trace_size < kLeastTrace || config.trace_size > kMostTrace) {
        ucs_error("UCX_FUSELINK_TRACE_SIZE=%zu: accepted: %zu to %zu bytes",
                  config.trace_size, kLeastTrace, kMostTrace);
        return UCS_ERR_INVALID_PARAM;
    }
    settings.bulk.limits.min_chunk  = sched::Bytes(config.min_chunk);
    settings.bulk.limits.max_chunk  = sched::Bytes(config.max_chunk);
    settings.bulk.limits.chunk_time = sched::Nanos::seconds(config.chunk_time);
    settings.bulk.fixed_weights     = strcmp(config.sched, "stripe") == 0;
    settings.bulk.connect_ep        = config.connect == kConnectEp;
    settings.inline_get             = config.inline_get;
    settings.max_qps                = config.max_qps;
    settings.messages               = config.spread == UCS_YES ? MessagePaths::Use::All :
                                      config.spread == UCS_NO  ? MessagePaths::Use::One :
                                                                 MessagePaths::Use::Tries;
    settings.deputy                 = config.progress == kProgressThread;
    settings.rails.standby_none     = strcmp(config.standby, "none") == 0;
    if (!settings.rails.standby_none &&
        !read_devices("STANDBY", config.standby, settings.rails.standby)) {
        return UCS_ERR_INVALID_PARAM;
    }
    settings.watching.report     = file_name(config.report);
    settings.watching.trace      = file_name(config.trace);
    settings.watching.trace_size = config.trace_size;
    settings.gpu.memory          = config.relay_memory;
    settings.gpu.slot            = config.gpu_chunk;
    settings.gpu.relay = config.relay == UCS_YES ? Relay::Use::Always :
                         config.relay == UCS_NO  ? Relay::Use::Never :
                                                   Relay::Use::OverNvLink;
    return read_share(config, settings.share);
}

static_assert(kMostRelay / 2 / kLeastSlot <= SlotCredits::kMostSlots);

ucs_status_t RailsIface::open(uct_md_h md, uct_worker_h worker,
                              const uct_iface_params_t *params,
                              const uct_iface_config_t *config,
                              uct_iface_h *iface_p)
{
    std::unique_ptr<RailsIface> iface(new RailsIface);
    ucs_status_t status = iface->init(md, worker, params, config);
    if (status == UCS_OK) {
        *iface_p = &iface.release()->super;
    }
    return status;
}

ucs_status_t RailsIface::init(uct_md_h tl_md, uct_worker_h tl_worker,
                              const uct_iface_params_t *params,
                              const uct_iface_config_t *tl_config)
{
    const auto    &config = *reinterpret_cast<const IfaceConfig *>(tl_config);
    EngineSettings settings;
    ucs_status_t   status = read_settings(config, settings);
    if (status != UCS_OK) {
        return status;
    }
    settings.rails.rx_headroom = UCT_IFACE_PARAM_VALUE(params, rx_headroom,
                                                       RX_HEADROOM, 0);
    if (ucs_derived_of(tl_worker, uct_priv_worker_t)->thread_mode ==
        UCS_THREAD_MODE_MULTI) {
        ucs_error("fuselink: a UCT worker is for one thread at a time");
        return UCS_ERR_INVALID_PARAM;
    }
    /* Once: a program that lowers it later means that. */
    [[maybe_unused]] static const bool raised = (raise_descriptor_limit(), true);

    static uct_iface_internal_ops_t internal_ops = [] {
        auto table                = internal_ops_table();
        table.iface_estimate_perf = estimate_perf;
        return table;
    }();
    uct_iface_ops_t ops = ops_table();
    status = init_base_iface(this, &ops, &internal_ops, tl_md, tl_worker,
                             params, tl_config);
    if (status != UCS_OK) {
        return status;
    }
    base_ready_ = true;

    Md &md  = Md::from(tl_md);
    if (settings.deputy || config.progress == kProgressAuto) {
        const auto choice = choose_progress(md.host().cpus());
        settings.crowded  = choice.crowded;
        if (config.progress == kProgressAuto) {
            ucs_info("fuselink: data moves %s: %s",
                     choice.thread ? "while the program computes, too" :
                                     "in the program's calls only", choice.why.c_str());
            settings.deputy         = choice.thread;
            settings.deputy_or_none = true;
        }
    }
    engine_ = std::make_unique<Engine>(md.host(), *this, md.regions(),
                                       md.nics(), settings);
    status  = engine_->open_rails(
        md.candidates(), [&md](const auto &device) { return md.find_late(device); },
        tl_worker, params);
    if (status == UCS_OK && md.takes_gpu()) {
        status = engine_->open_gpu(*md.gpu(), md.gpu_ipc(), md.nvlinks(),
                                    tl_worker, params);
    } else if (settings.gpu.relay == Relay::Use::Always && md.gpu() != nullptr) {
        ucs_warn("fuselink: UCX_FUSELINK_RELAY=y is of no effect without "
                 "UCX_FUSELINK_GPU_COPIES=y");
    }
    if (status != UCS_OK) {
        return status;
    }
    engine_->begin_deputy();
    device_address_.magic   = wire::kDeviceMagic;
    device_address_.version = wire::kProtocolVersion;
    device_address_.kind    = static_cast<uint8_t>(wire::DeviceKind::Rails);
    /* Without the node's lanes each interface is a node of its own. */
    device_address_.node    = md.message_lane() != nullptr ?
        md.node_signature() : md.host().random64();
    return UCS_OK;
}

RailsIface::~RailsIface()
{
    engine_.reset();
    if (base_ready_) {
        cleanup_base_iface(this);
    }
}

ucs_status_t RailsIface::query(uct_iface_h tl_iface, uct_iface_attr_t *attr)
{
    RailsIface &iface = from(tl_iface);
    uct_base_iface_query(&iface, attr);

    attr->device_addr_len = sizeof(wire::DeviceAddress);
    attr->iface_addr_len  = wire::kMaxIfaceAddress;
    attr->ep_addr_len     = 0;
    attr->max_conn_priv   = 0;
    attr->cap.flags       = UCT_IFACE_FLAG_AM_SHORT |
                            UCT_IFACE_FLAG_AM_BCOPY |
                            UCT_IFACE_FLAG_AM_ZCOPY |
                            UCT_IFACE_FLAG_PUT_SHORT |
                            UCT_IFACE_FLAG_PUT_BCOPY |
                            UCT_IFACE_FLAG_PUT_ZCOPY |
                            UCT_IFACE_FLAG_GET_BCOPY |
                            UCT_IFACE_FLAG_GET_ZCOPY |
                            UCT_IFACE_FLAG_PENDING |
                            UCT_IFACE_FLAG_CB_SYNC |
                            UCT_IFACE_FLAG_CONNECT_TO_IFACE |
                            UCT_IFACE_FLAG_EP_CHECK |
                            UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE |
                            kInterNodeFlag;
    attr->cap.event_flags = UCT_IFACE_FLAG_EVENT_SEND_COMP |
                            UCT_IFACE_FLAG_EVENT_RECV |
                            UCT_IFACE_FLAG_EVENT_FD;

    /* A message must fit whichever rail the control lane is on; its latency
     * is the slowest's of those that it goes over while they work, the RDMA
     * NICs if there are any. Bulk bandwidth is the sum. */
    const Turns::Own turn(iface.engine_->turns()); /* there may be more */
    const auto &rails = iface.engine_->rails();
    const bool  rdma  = std::any_of(rails.begin(), rails.end(),
                                    [](const auto &rail) {
        return !rail->traits().routed_by_ip && !rail->standby;
    });
    constexpr size_t kUser = sizeof(wire::UserMessage); /* in front of it */
    auto &am     = attr->cap.am;
    am.max_short = am.max_bcopy = am.max_zcopy = am.max_hdr = am.max_iov =
        SIZE_MAX;
    am.opt_zcopy_align = am.align_mtu = 1;
    double speed       = 0;
    for (const auto &rail : rails) {
        const uct_iface_attr_t &lane = rail->control().attr();
        /* Where no queue pair is left, messages go as the hello went. */
        const auto &spare = rail->hello().attr().cap.am;
        /* One that is too long for the rail with what is in front is copied. */
        am.max_short = std::min({am.max_short, lane.cap.am.max_short,
                                 spare.max_short,
                                 lane.cap.am.max_bcopy - kUser,
                                 spare.max_bcopy - kUser});
        am.max_bcopy = std::min({am.max_bcopy, lane.cap.am.max_bcopy - kUser,
                                 spare.max_bcopy - kUser});
        if (lane.cap.flags & UCT_IFACE_FLAG_AM_ZCOPY) {
            am.max_zcopy = std::min({am.max_zcopy,
                                     lane.cap.am.max_zcopy - kUser,
                                     spare.max_zcopy - kUser});
            am.max_hdr   = std::min({am.max_hdr, lane.cap.am.max_hdr - kUser,
                                     spare.max_hdr - kUser,
                                     Messages::kMaxUserHeader});
            am.max_iov   = std::min({am.max_iov, lane.cap.am.max_iov,
                                     spare.max_iov, Messages::kMaxIov});
        } else {
            attr->cap.flags &= ~UCT_IFACE_FLAG_AM_ZCOPY;
        }
        if (!rdma || !rail->traits().routed_by_ip) {
            attr->latency.c = std::max(attr->latency.c, lane.latency.c);
            attr->latency.m = std::max(attr->latency.m, lane.latency.m);
            attr->overhead  = std::max<double>(attr->overhead, lane.overhead);
        }
        speed += rail->speed();
    }
    if (!(attr->cap.flags & UCT_IFACE_FLAG_AM_ZCOPY)) {
        am.max_zcopy = am.max_hdr = 0;
        am.max_iov   = 1;
    }

    if (Md::from(iface.md).takes_gpu()) {
        /* Messages from memory of GPUs are copied. */
        am.max_zcopy = std::min(am.max_zcopy, am.max_bcopy);
    }

    auto &put           = attr->cap.put;
    put.max_short       = am.max_bcopy - sizeof(wire::PutData);
    put.max_bcopy       = put.max_short;
    put.max_zcopy       = kMaxBulk;
    put.max_iov         = 1;
    put.opt_zcopy_align = put.align_mtu = 1;

    auto &get           = attr->cap.get;
    get.max_bcopy       = std::min<size_t>(am.max_bcopy -
                                               sizeof(wire::GetData),
                                           wire::kMaxInlineGet);
    get.max_zcopy       = kMaxBulk;
    get.max_iov         = 1;
    get.opt_zcopy_align = get.align_mtu = 1;

    attr->bandwidth.dedicated = 0;
    attr->bandwidth.shared    = speed;
    attr->priority            = kPriority;
    return UCS_OK;
}

/* What UCP's protocols (UCX_PROTO_ENABLE=y) go by; the attributes of the
 * interface decide about lanes. */
constexpr auto kOverhead = UCT_PERF_ATTR_FIELD_SEND_PRE_OVERHEAD |
                           UCT_PERF_ATTR_FIELD_OPERATION;

ucs_status_t RailsIface::estimate_perf(uct_iface_h tl_iface,
                                       uct_perf_attr_t *attr)
{
    ucs_status_t status = uct_base_iface_estimate_perf(tl_iface, attr);
    if (status != UCS_OK ||
        !(attr->field_mask & UCT_PERF_ATTR_FIELD_OPERATION)) {
        return status;
    }
    const Turns::Own turn(from(tl_iface).engine_->turns());
    const auto &rails = from(tl_iface).engine_->rails();
    double sum        = 0;
    double one        = 0;
    double bare       = 0; /* the fastest NIC, as its own transport says */
    for (const auto &rail : rails) {
        const auto &reported = rail->control().attr().bandwidth;
        sum += rail->speed();
        bare = std::max(bare, reported.dedicated + reported.shared);
    }
    switch (attr->operation) {
    case UCT_EP_OP_GET_ZCOPY:
        break;
    case UCT_EP_OP_PUT_ZCOPY:
        /* Where the NICs' own lanes are enabled too, UCP writes over this
         * lane and the fastest of them at once, and counts on the sum of
         * both; but it is one NIC. So report what is left beside it. Reading
         * then looks as fast as it is, and goes over all rails. */
        if (rails.size() > 1 && sum > bare) {
            set_bandwidth(attr, sum - bare);
        }
        break;
    default: /* messages are on one rail */
        one = sum / static_cast<double>(rails.size());
        set_bandwidth(attr, one);
        if ((attr->field_mask & kOverhead) == kOverhead &&
            !(attr->field_mask & UCT_PERF_ATTR_FIELD_BANDWIDTH)) {
            /* UCP's old engine wants to know what a message costs beyond the
             * interface's bandwidth, which is the sum, and finds from it how
             * long a message has to be for a rendezvous. */
            uct_iface_attr_t whole;
            query(tl_iface, &whole);
            attr->send_pre_overhead +=
                static_cast<double>(whole.cap.am.max_bcopy) *
                (1 / one - 1 / sum);
        }
    }
    return UCS_OK;
}

ucs_status_t RailsIface::get_device_address(uct_iface_h iface,
                                            uct_device_addr_t *addr)
{
    memcpy(addr, &from(iface).device_address_, sizeof(wire::DeviceAddress));
    return UCS_OK;
}

ucs_status_t RailsIface::get_address(uct_iface_h tl_iface,
                                     uct_iface_addr_t *addr)
{
    Engine          &engine = from(tl_iface).engine();
    const Turns::Own turn(engine.turns());
    uint8_t packed[wire::kMaxIfaceAddress] = {};
    wire::pack_iface_address(engine.table(), packed);
    memcpy(addr, packed, sizeof(packed));
    return UCS_OK;
}

int RailsIface::is_reachable(const uct_iface_h tl_iface,
                             const uct_device_addr_t *dev_addr,
                             const uct_iface_addr_t *iface_addr)
{
    const wire::DeviceAddress &own = from(tl_iface).device_address_;
    wire::DeviceAddress peer;
    memcpy(&peer, dev_addr, sizeof(peer));
    if (peer.magic != own.magic || peer.kind != own.kind) {
        return 0;
    }
    RailsIface &iface = from(tl_iface);
    if (peer.version != own.version) {
        if (!iface.said_version_) {
            iface.said_version_ = true;
            ucs_warn("fuselink: a peer speaks protocol version %d, this "
                     "process %d: not connected; use one fuselink everywhere",
                     peer.version, own.version);
        }
        return 0;
    }
    const bool is_near = peer.node == own.node;
    if (iface_addr == nullptr) {
        return !is_near;
    }
    wire::RailTable table;
    const Turns::Own turn(iface.engine().turns());
    auto *bytes = reinterpret_cast<const uint8_t *>(iface_addr);
    if (!wire::unpack_iface_address({bytes, wire::kMaxIfaceAddress}, table)) {
        return 0;
    }
    /* Peers of this node are reached by device `node`, this process by
     * `self`; offering both would make UCP stripe over them. But who came by
     * socket address (see Cm) is reached already, and stays so: its endpoint has no
     * other way where failures are to be reported. */
    if (is_near && !iface.met_.has(table.uuid)) {
        return 0;
    }
    /* UCX takes another transport then, if it has one. */
    return iface.engine().reaches(table);
}

ucs_status_t RailsIface::flush(uct_iface_h iface, unsigned,
                               uct_completion_t *comp)
{
    if (comp != nullptr) {
        return UCS_ERR_UNSUPPORTED;
    }
    Engine          &engine = from(iface).engine();
    const Turns::Own turn(engine.turns());
    return engine.flush();
}

ucs_status_t RailsIface::fence(uct_iface_h iface, unsigned)
{
    Engine          &engine = from(iface).engine();
    const Turns::Own turn(engine.turns());
    engine.fence();
    return UCS_OK;
}

unsigned RailsIface::progress(uct_iface_h iface)
{
    Engine          &engine = from(iface).engine();
    const Turns::Own turn(engine.turns());
    return engine.progress();
}

ucs_status_t RailsIface::event_fd_get(uct_iface_h iface, int *fd)
{
    *fd = from(iface).engine().poller().event_fd();
    return UCS_OK;
}

ucs_status_t RailsIface::event_arm(uct_iface_h iface, unsigned events)
{
    Engine          &engine = from(iface).engine();
    const Turns::Own turn(engine.turns());
    return engine.arm(events);
}

void RailsIface::close(uct_iface_h tl_iface)
{
    RailsIface &iface = from(tl_iface);
    uct_base_iface_progress_disable(tl_iface,
                                    UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    delete &iface;
}

uct_iface_ops_t RailsIface::ops_table()
{
    uct_iface_ops_t ops = unsupported_ops();
    RailsEp::set_ops(ops);
    ops.iface_flush              = flush;
    ops.iface_fence              = fence;
    ops.iface_progress_enable    = uct_base_iface_progress_enable;
    ops.iface_progress_disable   = uct_base_iface_progress_disable;
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

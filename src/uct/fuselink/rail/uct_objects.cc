/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "uct_objects.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace fuselink {
namespace {

/* A peer's address as a transport reads it. How long it is a transport tells
 * from flags inside, which a peer may have set as it liked: zeroes follow, so
 * that it reads nothing else. */
class Address {
public:
    explicit Address(const std::vector<uint8_t> &bytes)
    {
        std::copy_n(bytes.begin(), std::min(bytes.size(), bytes_.size() / 2),
                    bytes_.begin());
    }
    const uct_device_addr_t *device() const
    {
        return reinterpret_cast<const uct_device_addr_t *>(bytes_.data());
    }
    const uct_iface_addr_t *iface() const
    {
        return reinterpret_cast<const uct_iface_addr_t *>(bytes_.data());
    }
    const uct_ep_addr_t *ep() const
    {
        return reinterpret_cast<const uct_ep_addr_t *>(bytes_.data());
    }

private:
    alignas(8) std::array<uint8_t, 512> bytes_{};
};

/* A setting that transports share is known by each table that it is in:
 * RC_VERBS_RX_QUEUE_LEN is RC_RX_QUEUE_LEN and IB_RX_QUEUE_LEN, too. UCX takes all of
 * them from the user, and some of them here: the own ones by name alone, in later
 * releases by the full one; inherited ones by the name of the table. The first is the
 * name alone. `component` is what the owner is of. */
std::array<std::string, 4> names_of(const std::string &component,
                                    const std::string &owner,
                                    const std::string &name)
{
    std::array<std::string, 4> names = {
        name, owner + "_" + name,
        owner.substr(0, owner.find('_')) + "_" + name, component + "_" + name};
    for (auto &one : names) {
        std::transform(one.begin(), one.end(), one.begin(), [](char c) {
            return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        });
    }
    return names;
}

bool user_has_set(const std::array<std::string, 4> &names)
{
    return std::any_of(names.begin() + 1, names.end(),
                       [](const std::string &one) {
                           return getenv(("UCX_" + one).c_str()) != nullptr;
                       });
}

/* UCX_<OWNER>_<name> is `value`, whatever the user set. False if this UCX has no such
 * setting. */
bool set(void *config, const std::array<std::string, 4> &names, const char *value)
{
    return std::any_of(names.begin(), names.end(), [&](const std::string &one) {
        return uct_config_modify(config, one.c_str(), value) == UCS_OK;
    });
}

/* Gives it another default: `value`, unless the user set it. */
bool set_default(void *config, const std::array<std::string, 4> &names,
                 const char *value)
{
    return user_has_set(names) || set(config, names, value);
}

} // namespace

ucs_status_t UctMd::open(uct_component_h component,
                         const char *component_name, const char *md_name,
                         std::unique_ptr<UctMd> &md)
{
    uct_md_config_t *config;
    ucs_status_t status = uct_md_config_read(component, nullptr, nullptr,
                                             &config);
    if (status != UCS_OK) {
        return status;
    }
    /* Later releases of UCX's TCP leave out all bridges, also one that a NIC is
     * in and that has its address. Which of them are rails is for Md to say;
     * TCP of the others, and other transports, have no such setting. */
    set_default(config, names_of(component_name, component_name, "BRIDGE_ENABLE"), "y");
    std::unique_ptr<UctMd> result(new UctMd);
    status = uct_md_open(component, md_name, config, &result->md_);
    uct_config_release(config);
    if (status != UCS_OK) {
        return status;
    }
    result->component_ = component;
    result->name_      = component_name;
    result->md_name_   = md_name;

    uct_md_attr_t attr;
    status = uct_md_query(result->md_, &attr);
    if (status != UCS_OK) {
        return status;
    }
    result->rkey_size_ = attr.rkey_packed_size;
    result->reg_cost_  = attr.reg_cost;
    result->takes_gpu_memory_ =
        attr.cap.reg_mem_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA);

    uct_tl_resource_desc_t *resources;
    unsigned count;
    status = uct_md_query_tl_resources(result->md_, &resources, &count);
    if (status != UCS_OK) {
        return status;
    }
    for (unsigned i = 0; i < count; ++i) {
        result->resources_.push_back({resources[i].tl_name,
                                      resources[i].dev_name,
                                      resources[i].dev_type,
                                      resources[i].sys_device});
    }
    uct_release_tl_resource_list(resources);
    md = std::move(result);
    return UCS_OK;
}

UctMd::~UctMd()
{
    if (md_ != nullptr) {
        uct_md_close(md_);
    }
}

const UctMd::Resource *UctMd::find(const char *tl) const
{
    for (const auto &resource : resources_) {
        if (resource.tl == tl) {
            return &resource;
        }
    }
    return nullptr;
}

bool UctMd::has(std::string_view tl, const std::string &device) const
{
    return std::any_of(resources_.begin(), resources_.end(),
                       [&](const Resource &resource) {
                           return resource.tl == tl &&
                                  resource.device == device;
                       });
}

ucs_status_t open_uct_mds(const std::vector<std::string> &names,
                          std::vector<std::unique_ptr<UctMd>> &mds)
{
    uct_component_h *components;
    unsigned count;
    ucs_status_t status = uct_query_components(&components, &count);
    if (status != UCS_OK) {
        return status;
    }
    for (unsigned i = 0; i < count; ++i) {
        uct_component_attr_t attr;
        attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME |
                          UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
        if (uct_component_query(components[i], &attr) != UCS_OK ||
            std::find(names.begin(), names.end(), attr.name) == names.end()) {
            continue;
        }
        std::vector<uct_md_resource_desc_t> md_names(attr.md_resource_count);
        attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
        attr.md_resources = md_names.data();
        if (uct_component_query(components[i], &attr) != UCS_OK) {
            continue;
        }
        for (const auto &md_name : md_names) {
            std::unique_ptr<UctMd> md;
            status = UctMd::open(components[i], attr.name, md_name.md_name,
                                 md);
            if (status == UCS_OK) {
                mds.push_back(std::move(md));
            } else {
                ucs_debug("fuselink: memory domain %s not used: %s",
                          md_name.md_name, ucs_status_string(status));
            }
        }
    }
    uct_release_component_list(components);
    return UCS_OK;
}

bool user_has_set(const UctMd &md, const std::string &tl, const std::string &name)
{
    return user_has_set(names_of(md.component_name(), tl, name));
}

ucs_status_t UctWorker::open()
{
    ucs_status_t status = ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK,
                                                   &async_);
    return status == UCS_OK ?
               uct_worker_create(async_, UCS_THREAD_MODE_SERIALIZED, &worker_) : status;
}

UctWorker::~UctWorker()
{
    if (worker_ != nullptr) {
        uct_worker_destroy(worker_);
    }
    if (async_ != nullptr) {
        ucs_async_context_destroy(async_);
    }
}

ucs_status_t UctIface::open(UctMd &md, const std::string &tl,
                            const std::string &device,
                            const UctIfaceParams &params,
                            std::unique_ptr<UctIface> &iface)
{
    uct_iface_config_t *config;
    ucs_status_t status = uct_md_iface_config_read(md.handle(), tl.c_str(),
                                                   nullptr, nullptr, &config);
    if (status != UCS_OK) {
        return status;
    }
    for (const auto &[name, value, always] : params.overrides) {
        const auto names = names_of(md.component_name(), tl, name);
        if (!(always ? set(config, names, value.c_str()) :
                       set_default(config, names, value.c_str()))) {
            ucs_debug("fuselink: %s has no setting %s", tl.c_str(), name);
        }
    }

    uct_iface_params_t open_params = {};
    open_params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                             UCT_IFACE_PARAM_FIELD_DEVICE |
                             UCT_IFACE_PARAM_FIELD_RX_HEADROOM |
                             UCT_IFACE_PARAM_FIELD_ERR_HANDLER |
                             UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG |
                             UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS;
    open_params.open_mode            = UCT_IFACE_OPEN_MODE_DEVICE;
    open_params.mode.device.tl_name  = tl.c_str();
    open_params.mode.device.dev_name = device.c_str();
    open_params.rx_headroom          = params.rx_headroom;
    open_params.err_handler          = params.err_handler;
    open_params.err_handler_arg      = params.err_handler_arg;

    const uct_iface_params_t *user = params.user;
    if (user->field_mask & UCT_IFACE_PARAM_FIELD_CPU_MASK) {
        open_params.field_mask |= UCT_IFACE_PARAM_FIELD_CPU_MASK;
        open_params.cpu_mask    = user->cpu_mask;
    }
    if (user->field_mask & UCT_IFACE_PARAM_FIELD_KEEPALIVE_INTERVAL) {
        open_params.field_mask        |= UCT_IFACE_PARAM_FIELD_KEEPALIVE_INTERVAL;
        open_params.keepalive_interval = user->keepalive_interval;
    }
    if (params.async_cb != nullptr) {
        open_params.field_mask     |= UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_CB |
                                      UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_ARG;
        open_params.async_event_cb  = params.async_cb;
        open_params.async_event_arg = params.async_arg;
    } else if (user->field_mask & UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_CB) {
        open_params.field_mask    |= UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_CB;
        open_params.async_event_cb = user->async_event_cb;
    }
    if (params.async_cb == nullptr &&
        (user->field_mask & UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_ARG)) {
        open_params.field_mask     |= UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_ARG;
        open_params.async_event_arg = user->async_event_arg;
    }
    if (user->field_mask & UCT_IFACE_PARAM_FIELD_FEATURES) {
        open_params.field_mask |= UCT_IFACE_PARAM_FIELD_FEATURES;
        open_params.features    = user->features;
    }

    std::unique_ptr<UctIface> result(new UctIface);
    status = uct_iface_open(md.handle(), params.worker, &open_params, config,
                            &result->iface_);
    uct_config_release(config);
    if (status != UCS_OK) {
        result->iface_ = nullptr;
        return status;
    }
    result->md_     = &md;
    result->tl_     = tl;
    result->device_ = device;

    status = uct_iface_query(result->iface_, &result->attr_);
    if (status != UCS_OK) {
        return status;
    }
    result->dev_addr_.resize(result->attr_.device_addr_len);
    status = uct_iface_get_device_address(
        result->iface_,
        reinterpret_cast<uct_device_addr_t *>(result->dev_addr_.data()));
    if (status != UCS_OK) {
        return status;
    }
    if (result->has(UCT_IFACE_FLAG_CONNECT_TO_IFACE)) {
        result->iface_addr_.resize(result->attr_.iface_addr_len);
        status = uct_iface_get_address(
            result->iface_,
            reinterpret_cast<uct_iface_addr_t *>(result->iface_addr_.data()));
        if (status != UCS_OK) {
            return status;
        }
    }
    iface = std::move(result);
    return UCS_OK;
}

UctIface::~UctIface()
{
    if (iface_ != nullptr) {
        uct_iface_close(iface_);
    }
}

void UctIface::prepare_progress() const
{
    constexpr unsigned kBoth = UCT_PROGRESS_SEND | UCT_PROGRESS_RECV;
    /* Posts receive buffers (rc, ud), starts timers (ud), and has the worker
     * poll the interface. Only the last is to end: the transport's own way to
     * disable progress would stop ud's timer with it. */
    uct_iface_progress_enable(iface_, kBoth);
    uct_base_iface_progress_disable(iface_, kBoth);
}

bool UctIface::is_reachable(const std::vector<uint8_t> &device_address,
                            const std::vector<uint8_t> &iface_address) const
{
    /* The transport reads as many bytes as its own addresses have; a peer
     * that sent fewer must not make it read further. */
    if (device_address.size() < dev_addr_.size() ||
        iface_address.size() < iface_addr_.size()) {
        return false;
    }
    return uct_iface_is_reachable(iface_, Address(device_address).device(),
                                  Address(iface_address).iface());
}

ucs_status_t UctIface::create_ep(const std::vector<uint8_t> &device_address,
                                 const std::vector<uint8_t> &iface_address,
                                 uct_ep_h *ep) const
{
    const Address device(device_address), iface(iface_address);
    uct_ep_params_t params;
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE |
                        UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface      = iface_;
    params.dev_addr   = device.device();
    params.iface_addr = iface.iface();
    return uct_ep_create(&params, ep);
}

ucs_status_t UctIface::create_unconnected_ep(uct_ep_h *ep) const
{
    uct_ep_params_t params;
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
    params.iface      = iface_;
    return uct_ep_create(&params, ep);
}

ucs_status_t UctIface::get_ep_address(uct_ep_h ep,
                                      std::vector<uint8_t> &addr) const
{
    addr.resize(attr_.ep_addr_len);
    return uct_ep_get_address(ep,
                              reinterpret_cast<uct_ep_addr_t *>(addr.data()));
}

ucs_status_t
UctIface::connect_ep(uct_ep_h ep, const std::vector<uint8_t> &device_address,
                     const std::vector<uint8_t> &ep_address) const
{
    if (device_address.size() < dev_addr_.size() ||
        ep_address.size() < attr_.ep_addr_len) {
        return UCS_ERR_INVALID_ADDR;
    }
    return uct_ep_connect_to_ep(ep, Address(device_address).device(),
                                Address(ep_address).ep());
}

} // namespace fuselink

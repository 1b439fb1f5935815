/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_UCT_OBJECTS_H
#define FUSELINK_RAIL_UCT_OBJECTS_H

#include "../ucx.h"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fuselink {

/* Owning wrappers of the UCT objects that fuselink composes ("lower": below
 * fuselink's own component, MD and interface). None is thread-safe. */

/** A memory domain of another UCT component, closed at destruction. */
class UctMd {
public:
    struct Resource {
        std::string       tl;
        std::string       device;
        uct_device_type_t type;
        ucs_sys_device_t  sys_device;
    };

    /** Opens MD `md_name` of `component` with the user's settings for it. */
    static ucs_status_t open(uct_component_h component, const char *component_name,
                             const char *md_name,
                             std::unique_ptr<UctMd> &md);
    ~UctMd();
    UctMd(const UctMd &)            = delete;
    UctMd &operator=(const UctMd &) = delete;

    uct_md_h                     handle() const { return md_; }
    uct_component_h              component() const { return component_; }
    const std::string           &component_name() const { return name_; }
    const std::string           &md_name() const { return md_name_; }
    /** Size of a packed remote key, bytes; 0 if memory has none. */
    size_t                       rkey_size() const { return rkey_size_; }
    /** Time to register memory, seconds and seconds per byte. */
    const ucs_linear_func_t     &reg_cost() const { return reg_cost_; }
    /** Registers memory of GPUs, so that the NIC reads and writes it. */
    bool                         takes_gpu_memory() const { return takes_gpu_memory_; }
    const std::vector<Resource> &resources() const { return resources_; }

    /** The resource of transport `tl`, first device; nullptr if none. */
    const Resource *find(const char *tl) const;
    /** True if `device` has transport `tl`. */
    bool has(std::string_view tl, const std::string &device) const;

private:
    UctMd() = default;

    uct_component_h       component_ = nullptr;
    std::string           name_;
    std::string           md_name_;
    uct_md_h              md_ = nullptr;
    size_t                rkey_size_ = 0;
    ucs_linear_func_t     reg_cost_{};
    bool                  takes_gpu_memory_ = false;
    std::vector<Resource> resources_;
};

/** Opens the MDs of every component whose name is in `names`. A component
 *  that fails to open is left out with a debug line: it may simply not exist
 *  on this machine. */
ucs_status_t open_uct_mds(const std::vector<std::string> &names,
                          std::vector<std::unique_ptr<UctMd>> &mds);

/** The user has set UCX_<tl>_<name>, or one of those that it takes its value from. */
bool user_has_set(const UctMd &md, const std::string &tl, const std::string &name);

/** A worker for lower interfaces, with events of its own. */
class UctWorker {
public:
    UctWorker() = default;
    ~UctWorker();
    UctWorker(const UctWorker &)            = delete;
    UctWorker &operator=(const UctWorker &) = delete;

    ucs_status_t open();
    /** nullptr if it was not opened. */
    uct_worker_h handle() const { return worker_; }

private:
    ucs_async_context_t *async_  = nullptr;
    uct_worker_h         worker_ = nullptr;
};

/** How to open a lower interface. */
struct UctIfaceParams {
    uct_worker_h              worker = nullptr;
    const uct_iface_params_t *user   = nullptr; /* of fuselink's own open */
    size_t                    rx_headroom = 0;
    size_t                    rails = 1; /* that share what there is */
    uct_error_handler_t       err_handler = nullptr;
    void                     *err_handler_arg = nullptr;
    /* For transports that tell of events by calling, on a thread of UCX's:
     * instead of the user's, if set. */
    uct_async_event_cb_t      async_cb = nullptr;
    void                     *async_arg = nullptr;
    /* Settings of the transport that fuselink needs otherwise than their
     * defaults; a setting the user gave wins, unless it cannot do without. */
    struct Override {
        const char *name;
        std::string value;
        bool        always = false;
    };
    std::vector<Override> overrides;
};

/** An interface of another transport with its attributes and addresses. */
class UctIface {
public:
    static ucs_status_t open(UctMd &md, const std::string &tl,
                             const std::string &device,
                             const UctIfaceParams &params,
                             std::unique_ptr<UctIface> &iface);
    ~UctIface();
    UctIface(const UctIface &)            = delete;
    UctIface &operator=(const UctIface &) = delete;

    uct_iface_h             handle() const { return iface_; }
    const uct_iface_attr_t &attr() const { return attr_; }
    const std::string      &tl() const { return tl_; }
    const std::string      &device() const { return device_; }
    std::string             name() const { return tl_ + "/" + device_; }
    UctMd                  &md() const { return *md_; }
    bool has(uint64_t flag) const { return (attr_.cap.flags & flag) == flag; }

    /** Has the transport make ready to receive, but leaves polling it to the
     *  caller: uct_iface_progress() on handle(). */
    void prepare_progress() const;

    const std::vector<uint8_t> &device_address() const { return dev_addr_; }
    const std::vector<uint8_t> &iface_address() const { return iface_addr_; }

    bool is_reachable(const std::vector<uint8_t> &device_address,
                      const std::vector<uint8_t> &iface_address) const;

    ucs_status_t create_ep(const std::vector<uint8_t> &device_address,
                           const std::vector<uint8_t> &iface_address,
                           uct_ep_h *ep) const;

    /** An endpoint to be connected by connect_ep(), for rails that connect
     *  endpoint to endpoint. */
    ucs_status_t create_unconnected_ep(uct_ep_h *ep) const;
    ucs_status_t get_ep_address(uct_ep_h ep, std::vector<uint8_t> &addr) const;
    ucs_status_t connect_ep(uct_ep_h ep,
                            const std::vector<uint8_t> &device_address,
                            const std::vector<uint8_t> &ep_address) const;

private:
    UctIface() = default;

    UctMd             *md_    = nullptr;
    uct_iface_h          iface_ = nullptr;
    uct_iface_attr_t     attr_{};
    std::string          tl_;
    std::string          device_;
    std::vector<uint8_t> dev_addr_;
    std::vector<uint8_t> iface_addr_;
};

/** An uct_unpack_callback_t: `to` is where the bytes go. */
inline void copy_in(void *to, const void *data, size_t length)
{
    memcpy(to, data, length);
}

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_LOCAL_IFACE_H
#define FUSELINK_EDGE_LOCAL_IFACE_H

#include "../rail/lower.h"
#include "../ucx.h"
#include "../wire/address.h"

#include <memory>
#include <unordered_map>

namespace fuselink {

class LocalEp;

/**
 * Devices `node` and `self`: peers that share this machine's memory.
 *
 * Messages pass straight through to UCT's own shared memory lane (posix or
 * sysv; self for the process itself): same ids, same bytes, no header. Bulk
 * data of the node goes by cma; within the process it is a copy. So the cost
 * above the plain transport is one indirect call.
 */
class LocalIface : public uct_base_iface_t {
public:
    static ucs_status_t open(uct_md_h md, uct_worker_h worker,
                             const uct_iface_params_t *params,
                             const uct_iface_config_t *config,
                             uct_iface_h *iface);
    ~LocalIface();

    static LocalIface &from(uct_iface_h iface)
    {
        return *static_cast<LocalIface *>(
            reinterpret_cast<uct_base_iface_t *>(iface));
    }

    LowerIface &messages() const { return *messages_; }
    LowerIface *bulk() const { return bulk_.get(); }
    bool        is_self() const { return is_self_; }

private:
    friend class LocalEp;
    LocalIface() = default;

    static uct_iface_ops_t ops_table(bool is_self);

    ucs_status_t init(uct_md_h md, uct_worker_h worker,
                      const uct_iface_params_t *params,
                      const uct_iface_config_t *config);
    ucs_status_t pack_address(std::vector<uint8_t> &address) const;

    static ucs_status_t on_message(void *arg, void *data, size_t length,
                                   unsigned flags);
    static ucs_status_t on_error(void *arg, uct_ep_h ep, ucs_status_t status);

    static ucs_status_t query(uct_iface_h iface, uct_iface_attr_t *attr);
    static ucs_status_t get_device_address(uct_iface_h iface,
                                           uct_device_addr_t *addr);
    static ucs_status_t get_address(uct_iface_h iface, uct_iface_addr_t *addr);
    static int is_reachable(const uct_iface_h iface,
                            const uct_device_addr_t *dev_addr,
                            const uct_iface_addr_t *iface_addr);
    static ucs_status_t flush(uct_iface_h iface, unsigned flags,
                              uct_completion_t *comp);
    static ucs_status_t fence(uct_iface_h iface, unsigned flags);
    static void     progress_enable(uct_iface_h iface, unsigned flags);
    static void     progress_disable(uct_iface_h iface, unsigned flags);
    static unsigned progress(uct_iface_h iface);
    static ucs_status_t event_fd_get(uct_iface_h iface, int *fd);
    static ucs_status_t event_arm(uct_iface_h iface, unsigned events);
    static void         close(uct_iface_h iface);

    bool                        is_self_ = false;
    bool                        base_ready_ = false;
    wire::DeviceAddress         device_address_{};
    std::unique_ptr<LowerIface> messages_;
    std::unique_ptr<LowerIface> bulk_;
    /* Whose lower endpoint is it? Asked only when a lane reports an error. */
    std::unordered_map<uct_ep_h, LocalEp *> eps_;
};

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

    uct_ep_h messages_ = nullptr;
    uct_ep_h bulk_     = nullptr;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_LOCAL_IFACE_H
#define FUSELINK_EDGE_LOCAL_IFACE_H

#include "../pool.h"
#include "../rail/uct_objects.h"
#include "../ucx.h"
#include "../watch/exit_report.h"
#include "../wire/address.h"

#include <memory>
#include <unordered_map>

namespace fuselink {

class LocalEp;
class LocalIface;

/** The end of an operation of the bulk lane, on its way to the user. */
struct BulkEnd {
    uct_completion_t  comp; /* first; the lane's */
    LocalIface       *iface = nullptr;
    uct_completion_t *user  = nullptr;
    BulkEnd          *next_free = nullptr;
};

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

    UctIface &messages() const { return *messages_; }
    UctIface *bulk() const { return bulk_.get(); }
    bool        is_self() const { return is_self_; }

    /** Splits an interface address of kMaxIfaceAddress bytes into the device
     *  address and the two lanes' interface addresses. */
    static bool split_address(const uct_iface_addr_t *addr,
                              std::vector<uint8_t> &device,
                              std::vector<uint8_t> &message,
                              std::vector<uint8_t> &bulk);

private:
    friend class LocalEp;
    LocalIface() = default;

    static uct_iface_ops_t ops_table(bool is_self);
    static unsigned open_gates(void *arg);
    ucs_status_t      start_report(const uct_iface_config_t *config);
    ucs_status_t      count(Moved &moved, const uct_iov_t *iov, size_t iovcnt,
                            ucs_status_t status);
    uct_completion_t *begin_bulk(uct_completion_t *user);
    ucs_status_t      settle_bulk(uct_completion_t *comp, ucs_status_t status);
    static void       end_bulk(uct_completion_t *comp);

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
    std::unique_ptr<UctIface> messages_;
    std::unique_ptr<UctIface> bulk_;
    /* Whose lower endpoint is it? Asked only when a lane reports an error. */
    std::unordered_map<uct_ep_h, LocalEp *> eps_;
    bool               in_bulk_ = false; /* its code is on the stack */
    Pool<BulkEnd>      ends_;
    Traffic            traffic_; /* bulk data; messages are not looked at */
    ExitReport        *report_ = nullptr;
    unsigned           closed_  = 0; /* endpoints whose gate is closed */
    uct_worker_cb_id_t opening_ = UCS_CALLBACKQ_ID_NULL;
};

} // namespace fuselink

#endif

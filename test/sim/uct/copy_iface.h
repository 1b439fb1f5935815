/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCT_COPY_IFACE_H
#define FUSELINK_TEST_SIM_UCT_COPY_IFACE_H

#include "iface.h"

#include <deque>
#include <memory>

namespace fuselink::sim {

/** As UCX's cuda_copy, and cuda_ipc: copies between memory of the process's GPU and memory of the
 *  host, or that of another process's GPU, each direction in order. A copy reads and writes up to its end, which the
 *  program hears of when it looks; nothing wakes it. */
class CopyIface final : public SimIface {
public:
    /** @param ipc to other processes' GPUs, not to the host */
    CopyIface(Process &process, bool ipc) : SimIface(process), ipc_(ipc) {}
    ~CopyIface() override;

    unsigned     progress() override;
    void         describe(uct_iface_attr_t &attr) const override;
    size_t       write_device_address(uint8_t *out) const override;
    bool         reaches(const uint8_t *device) const override;
    ucs_status_t create_ep(const uct_ep_params_t *params,
                           uct_ep_h *ep) override;
    ucs_status_t arm() override { return UCS_ERR_UNSUPPORTED; }
    void         die() override {}
    bool         storms() override { return false; } /* it queues them all */

    /** @param out   out of this process's GPU, else to it
     *  @param far   where the other end is: of the host, or `other`'s GPU's */
    ucs_status_t begin(bool out, Process &other, uint64_t far, uint64_t gpu,
                       size_t length, uct_completion_t *comp);
    /** To or from the host; returns when it is done. */
    ucs_status_t copy(bool out, uint64_t host, uint64_t gpu, size_t length);
    bool         ipc() const { return ipc_; }

private:
    struct Copy {
        bool              out;
        Process          *other;
        uint64_t          far, gpu;
        size_t            length;
        uct_completion_t *comp;
        bool              fails = false;
        bool              done  = false;
    };
    using Queue = std::deque<std::shared_ptr<Copy>>;

    bool     knows(uint64_t gpu, size_t length) const;
    bool     fails();
    bool     reaches_far(const Copy &copy) const;
    void     move(Copy &copy, size_t from, size_t to);
    unsigned end(Queue &queue);

    const bool ipc_;
    Queue      queues_[2]; /* out of the GPU, to it */
};

class CopyEp final : public SimEp {
public:
    explicit CopyEp(CopyIface &owner) : SimEp(owner), iface_(owner) {}

    ucs_status_t put_short(const void *data, unsigned length, uint64_t remote,
                           uct_rkey_t rkey) override;
    ucs_status_t put_zcopy(const uct_iov_t *iov, size_t count, uint64_t remote,
                           uct_rkey_t rkey, uct_completion_t *comp) override;
    ucs_status_t get_short(void *to, unsigned length, uint64_t remote,
                           uct_rkey_t rkey) override;
    ucs_status_t get_zcopy(const uct_iov_t *iov, size_t count, uint64_t remote,
                           uct_rkey_t rkey, uct_completion_t *comp) override;
    ucs_status_t flush(unsigned, uct_completion_t *) override
    {
        return UCS_ERR_UNSUPPORTED;
    }
    ucs_status_t check() override { return UCS_ERR_UNSUPPORTED; }
    ucs_status_t room() const override { return UCS_OK; }

private:
    ucs_status_t begin(bool out, const uct_iov_t *iov, size_t count,
                       uint64_t remote, uct_rkey_t rkey,
                       uct_completion_t *comp);

    CopyIface &iface_;
};

} // namespace fuselink::sim

#endif

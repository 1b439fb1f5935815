/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_STAGING_COPY_LANE_H
#define FUSELINK_STAGING_COPY_LANE_H

#include "../host/host.h"
#include "../pool.h"
#include "../rail/uct_objects.h"
#include "../ucx.h"
#include "../watch/traffic.h"

#include <deque>
#include <memory>

namespace fuselink {

/**
 * Copies between memory of GPUs and memory of the host, by UCX's own transport
 * for that: what bulk data takes before a NIC that cannot read a GPU's memory,
 * and behind one.
 *
 * Copies end in the order in which they began, if they go the same way. One
 * thread at a time (the worker's), which has to have a CUDA context.
 */
class CopyLane {
public:
    /** Opens it on the worker. On failure says in one line why GPU memory
     *  cannot be sent. */
    static ucs_status_t open(Host &host, UctMd &md, uct_worker_h worker,
                             const uct_iface_params_t *params,
                             std::unique_ptr<CopyLane> &lane);
    ~CopyLane();
    CopyLane(const CopyLane &)            = delete;
    CopyLane &operator=(const CopyLane &) = delete;

    UctMd &md() const { return iface_->md(); }

    /** Begins a copy. UCS_INPROGRESS: progress() will end `comp`. */
    ucs_status_t begin_out(void *host, const void *gpu, size_t length,
                           uct_completion_t *comp);
    ucs_status_t begin_in(void *gpu, const void *host, size_t length,
                          uct_completion_t *comp);

    /** Copies, and returns when that is done: short ones only. */
    ucs_status_t out(void *host, const void *gpu, size_t length);
    ucs_status_t in(void *gpu, const void *host, size_t length);

    /** What begin_out() (sent) and begin_in() (received) have copied. */
    const Traffic &traffic() const { return traffic_; }

    bool     busy() const { return open_ != 0; }
    unsigned progress();

    /** Progresses until done(). False if that takes longer than any copy. */
    template <typename Done> bool wait(Done &&done)
    {
        const sched::Nanos until = host_.now() + kLongest;
        while (!done()) {
            progress();
            if (host_.now() > until) {
                return false;
            }
        }
        return true;
    }

private:
    explicit CopyLane(Host &host) : host_(host) {}

    static constexpr sched::Nanos kLongest = sched::Nanos::seconds(10);

    struct Copy {
        uct_completion_t  comp; /* first; the transport's */
        CopyLane         *lane;
        uct_completion_t *user;
        Moved            *moved;
        size_t            length;
        Copy             *next_free;
    };

    template <typename Zcopy>
    ucs_status_t begin(Zcopy zcopy, Moved &moved, const void *host,
                       const void *gpu, size_t length, uct_completion_t *user);
    static void  on_copied(uct_completion_t *comp);

    Host                       &host_;
    std::unique_ptr<UctIface> iface_;
    uct_ep_h                    ep_   = nullptr;
    size_t                      open_ = 0;
    Traffic                     traffic_;
    Pool<Copy>                  copies_;
    std::deque<Copy *>          done_; /* whose users have not heard of it */
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_SIM_WORKER_H
#define FUSELINK_TEST_SIM_HARNESS_SIM_WORKER_H

#include "ucx.h"

namespace fuselink::sim {

/** The UCT worker of a simulated process, which is called by nobody but its program: UCX's
 *  own threads would bring real time into a run. */
class SimWorker {
public:
    SimWorker() = default;
    ~SimWorker() { close(); }
    SimWorker(const SimWorker &)            = delete;
    SimWorker &operator=(const SimWorker &) = delete;

    bool open()
    {
        return ucs_async_context_create(UCS_ASYNC_MODE_POLL, &async_) == UCS_OK &&
               uct_worker_create(async_, UCS_THREAD_MODE_SINGLE, &worker_) == UCS_OK;
    }
    /** What was opened on it is closed. */
    void close()
    {
        if (worker_ != nullptr) {
            uct_worker_destroy(worker_);
            worker_ = nullptr;
        }
        if (async_ != nullptr) {
            ucs_async_context_destroy(async_);
            async_ = nullptr;
        }
    }
    uct_worker_h handle() const { return worker_; }
    unsigned     progress() const { return uct_worker_progress(worker_); }

private:
    ucs_async_context_t *async_  = nullptr;
    uct_worker_h         worker_ = nullptr;
};

} // namespace fuselink::sim

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_WORKER_H
#define FUSELINK_TEST_WORKER_H

#include "harness/waits.h"

#include <uct/api/uct.h>

namespace fltest {

/** Fails unless `call` returns UCS_OK. */
#define REQUIRE_OK(call)                                             \
    do {                                                             \
        ucs_status_t status_ = (call);                               \
        REQUIRE(status_ == UCS_OK, "%s: %s", #call,                  \
                ucs_status_string(status_));                         \
    } while (0)

/** A UCT worker with the context that it belongs to. */
class Worker : public Waits<Worker> {
public:
    Worker()
    {
        REQUIRE_OK(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK,
                                            &async_));
        REQUIRE_OK(uct_worker_create(async_, UCS_THREAD_MODE_SINGLE, &worker_));
    }
    ~Worker()
    {
        uct_worker_destroy(worker_);
        ucs_async_context_destroy(async_);
    }
    Worker(const Worker &)            = delete;
    Worker &operator=(const Worker &) = delete;

    uct_worker_h handle() const { return worker_; }

    unsigned poll() { return uct_worker_progress(worker_); }

private:
    ucs_async_context_t *async_;
    uct_worker_h         worker_;
};

} // namespace fltest

#endif

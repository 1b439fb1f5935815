/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_USER_CALLS_H
#define FUSELINK_CONN_USER_CALLS_H

#include "held_calls.h"

namespace fuselink {

class Connection;

/**
 * In which of the program's functions a worker is. What the program begins in a request
 * that has waited is that request's. In a completion, which may be called from inside
 * of what a request begins, it is something new.
 *
 * One thread at a time (the worker's).
 */
class UserCalls {
public:
    UserCalls()                             = default;
    UserCalls(const UserCalls &)            = delete;
    UserCalls &operator=(const UserCalls &) = delete;

    /** While this is there, the program is in requests of that connection's queue; with
     *  null, in something else. */
    class Inside {
    public:
        Inside(UserCalls &calls, const Connection *queue)
            : calls_(calls), before_(calls.queue_)
        {
            calls_.queue_ = queue;
        }
        ~Inside() { calls_.queue_ = before_; }
        Inside(const Inside &)            = delete;
        Inside &operator=(const Inside &) = delete;

    private:
        UserCalls        &calls_;
        const Connection *before_;
    };

    /** What it is to be called for, and cannot be now. */
    HeldCalls       &held() { return held_; }
    const HeldCalls &held() const { return held_; }

    /** It is in a request of its queue. */
    bool in_request_of(const Connection &queue) const { return queue_ == &queue; }

private:
    const Connection *queue_ = nullptr;
    HeldCalls         held_;
};

} // namespace fuselink

#endif

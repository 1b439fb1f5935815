/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_CONNECTION_H
#define FUSELINK_CONN_CONNECTION_H

#include "../ucx.h"
#include "user_calls.h"

#include <cstddef>
#include <cstdint>

namespace fuselink {

/**
 * What the parts of a connection to another process know of it as a whole: who
 * the other is, whether it has failed, and how to say something to it. Each part
 * gets this, and not the Peer that it is a part of.
 *
 * One thread at a time (the worker's).
 */
class Connection {
public:
    /** @param uuid    the other process's interface
     *  @param session our number for this connection, never 0
     *  @param calls   of the worker; outlives this */
    Connection(uint64_t uuid, uint32_t session, UserCalls &calls)
        : uuid_(uuid), session_(session), calls_(calls)
    {
    }
    Connection(const Connection &)            = delete;
    Connection &operator=(const Connection &) = delete;

    uint64_t uuid() const { return uuid_; }
    uint32_t session() const { return session_; }

    bool         failed() const { return failed_ != UCS_OK; }
    /** Why; UCS_OK while it has not failed. */
    ucs_status_t failure() const { return failed_; }

    /** Marks the connection as failed, for good. Its operations end, and users
     *  hear of it, from progress: the caller may go on with what it has. */
    virtual void fail(ucs_status_t status) = 0;

    /** Has what is left to do done from progress, when no rail's code is on the
     *  stack: connecting inside a rail's callback, or ending what failed inside a
     *  rail's call, would pull the ground from under it. */
    virtual void defer() = 0;

    /** Something is about to begin. Those with which nothing is under way are left out
     *  where all connections are looked at: see ActivePeers. */
    virtual void rouse() = 0;

    /** A fuselink message on the lane of messages, in the order of calls; queued
     *  if the lane is full, dropped if the connection has failed. `head` begins
     *  with a wire::ControlHeader, of which this fills in what is the same for
     *  all messages. */
    virtual void send_control(void *head, size_t head_length,
                              const void *body = nullptr,
                              size_t body_length = 0) = 0;

    /** Tells a user that an operation has ended, now or with what is held for him. He
     *  may begin others, and destroy endpoints. */
    void complete(uct_completion_t *comp, ucs_status_t status) const
    {
        if (ucs_unlikely(calls_.held().holding())) {
            calls_.held().completion(*this, comp, status);
            return;
        }
        const UserCalls::Inside inside(calls_, nullptr);
        uct_invoke_completion(comp, status);
    }
    /** Gives a user what he has asked for; as complete(). */
    void unpack(uct_unpack_callback_t unpack, void *arg, const void *data,
                size_t length) const
    {
        if (ucs_unlikely(calls_.held().holding())) {
            calls_.held().unpack(*this, unpack, arg, data, length);
        } else {
            unpack(arg, data, length);
        }
    }
    /** See UserCalls. */
    UserCalls &calls() const { return calls_; }

protected:
    ~Connection() = default;

    ucs_status_t failed_ = UCS_OK;

private:
    const uint64_t uuid_;
    const uint32_t session_;
    UserCalls     &calls_;
};

} // namespace fuselink

#endif

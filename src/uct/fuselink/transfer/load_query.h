/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_LOAD_QUERY_H
#define FUSELINK_TRANSFER_LOAD_QUERY_H

#include "../conn/connection.h"
#include "../wire/messages.h"
#include "path_set.h"
#include "receiver_view.h"

namespace fuselink {

/**
 * Asks the peer what others bring to its NICs, while much is to be sent there, and
 * tells it what we bring.
 *
 * One thread at a time (the worker's).
 */
class LoadQuery {
public:
    /** All outlive this. */
    LoadQuery(Connection &connection, const PathSet &paths)
        : connection_(connection), paths_(paths)
    {
    }
    LoadQuery(const LoadQuery &)            = delete;
    LoadQuery &operator=(const LoadQuery &) = delete;

    /** So much waits that the peer's answer would be of use, and it was not asked
     *  just now. */
    bool due(size_t backlog, sched::Nanos now) const
    {
        return backlog >= kLong && now >= next_ask_;
    }
    /** Tells the peer what is on its way to each of its rails, and what would come
     *  if it was divided by the speeds of our NICs, and asks what others bring
     *  there. With nothing on its way it is a farewell. */
    void ask(size_t backlog, sched::Nanos now);

    /** The peer was asked, and not told that all is over. */
    bool asked() const { return asked_; }
    void on_grant(const wire::LoadGrant &grant, sched::Nanos now)
    {
        if (asked_) {
            receiver_.take(grant, now);
        }
    }

    /** What the peer has said holds. */
    bool known(sched::Nanos now) const
    {
        return asked_ && receiver_.valid(now);
    }
    /** Adds it to what our end knows of a path to that rail of the peer. */
    void show(uint8_t rail, const sched::Limits &limits, sched::PathView &view) const
    {
        receiver_.show(rail, limits, view);
    }

private:
    static constexpr size_t kLong = 1 << 20;

    Connection    &connection_;
    const PathSet &paths_;
    ReceiverView   receiver_;
    bool           asked_ = false;
    sched::Nanos   next_ask_;
};

} // namespace fuselink

#endif

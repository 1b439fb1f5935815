/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_ROOM_QUEUE_H
#define FUSELINK_TRANSFER_ROOM_QUEUE_H

#include "../sched/units.h"

#include <deque>

namespace fuselink {

/** Who waits in a RoomQueue. */
class RoomWaiter {
public:
    /** It is this one's turn to try again. */
    virtual void on_room() = 0;

protected:
    ~RoomWaiter() = default;

private:
    friend class RoomQueue;
    bool queued_ = false;
};

/**
 * The senders of an engine that could not send because NICs have as much in
 * flight as they should, of all peers and all processes of the node. They are
 * served in turn: who sends again without a pause would keep the others out.
 */
class RoomQueue {
public:
    /** Bytes of any sender begin, or end, being in flight. */
    void posted(sched::Bytes length) { in_flight_ += length; }
    void ended(sched::Bytes length)
    {
        in_flight_ -= length;
        freed_      = true;
    }
    bool empty() const { return waiters_.empty(); }
    /** Those who wait should be served before the process sleeps: something
     *  has ended, or nothing will. */
    bool due() const
    {
        return !waiters_.empty() && (freed_ || in_flight_.is_zero());
    }

    /** It stands in the queue, at the end unless it does already. It leaves before
     *  it goes. */
    void wait(RoomWaiter &waiter);
    void leave(RoomWaiter &waiter);

    /** Lets those who wait try again if due(), or if so long ago that other
     *  processes may have left. Returns how many it were. */
    unsigned serve(sched::Nanos now);

private:
    std::deque<RoomWaiter *> waiters_;
    sched::Bytes             in_flight_;
    sched::Nanos             next_;
    bool                     freed_ = false;
};

} // namespace fuselink

#endif

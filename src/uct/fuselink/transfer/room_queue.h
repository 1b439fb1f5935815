/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_ROOM_QUEUE_H
#define FUSELINK_TRANSFER_ROOM_QUEUE_H

#include "../sched/units.h"

#include <cstddef>
#include <cstdint>
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
    void posted(sched::Bytes length)
    {
        in_flight_ += length;
        ++posts_;
    }
    void ended(sched::Bytes length)
    {
        in_flight_ -= length;
        freed_      = true;
    }
    bool empty() const { return waiters_.empty(); }
    /** Those who wait should be served before the process sleeps: something
     *  has ended, and some have not tried since, or nothing will. */
    bool due() const
    {
        return !waiters_.empty() && (freed_ || left_ != 0 || in_flight_.is_zero());
    }

    /** It stands in the queue, at the end unless it does already. It leaves before
     *  it goes. */
    void wait(RoomWaiter &waiter);
    void leave(RoomWaiter &waiter);

    /** Lets those who wait try again when something has ended, or if so long ago that other
     *  processes may have left: until kFruitless in a row have had no room, which most
     *  likely means that NICs are full. The others come first a little later. Returns how
     *  many it were. */
    unsigned serve(sched::Nanos now);

    static constexpr unsigned kFruitless = 8;

private:
    std::deque<RoomWaiter *> waiters_;
    sched::Bytes             in_flight_;
    uint64_t                 posts_ = 0; /* so far */
    size_t                   left_  = 0; /* have not tried since something ended */
    sched::Nanos             next_;
    bool                     freed_ = false;
};

} // namespace fuselink

#endif

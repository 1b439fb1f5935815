/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "room_queue.h"

#include <algorithm>

namespace fuselink {
namespace {

/* What others have in flight is read every 200 us. */
constexpr sched::Nanos kRetry = sched::Nanos::micros(250);

} // namespace

void RoomQueue::wait(RoomWaiter &waiter)
{
    if (!waiter.queued_) {
        waiter.queued_ = true;
        waiters_.push_back(&waiter);
    }
}

void RoomQueue::leave(RoomWaiter &waiter)
{
    if (waiter.queued_) {
        waiter.queued_ = false;
        waiters_.erase(std::find(waiters_.begin(), waiters_.end(), &waiter));
    }
}

unsigned RoomQueue::serve(sched::Nanos now)
{
    if (!freed_ && now < next_) {
        return 0;
    }
    freed_ = false;
    next_  = now + kRetry;
    /* Those who come back meanwhile stand behind. */
    size_t count = waiters_.size();
    for (size_t i = 0; i < count && !waiters_.empty(); ++i) {
        RoomWaiter &waiter = *waiters_.front();
        leave(waiter);
        waiter.on_room();
    }
    return static_cast<unsigned>(count);
}

} // namespace fuselink

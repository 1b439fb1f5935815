/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "room_queue.h"

#include <algorithm>

namespace fuselink {
namespace {

/* What others have in flight is read every 200 us. */
constexpr sched::Nanos kRetry = sched::Nanos::micros(250);
/* Some have not tried, who may go over other NICs than those who have. */
constexpr sched::Nanos kTryOthers = sched::Nanos::micros(30);

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
    /* Those who come back meanwhile stand behind. */
    const size_t count     = left_ == 0 || freed_ ? waiters_.size() : left_;
    unsigned     served    = 0;
    unsigned     fruitless = 0;
    freed_ = false;
    while (served < count && fruitless < kFruitless && !waiters_.empty()) {
        RoomWaiter *const waiter = waiters_.front();
        const uint64_t    before = posts_;
        leave(*waiter);
        waiter->on_room(); /* it may be gone then */
        ++served;
        if (posts_ != before) {
            fruitless = 0;
        } else if (!waiters_.empty() && waiters_.back() == waiter) {
            ++fruitless; /* else it had nothing to send */
        }
    }
    left_ = waiters_.empty() ? 0 : count - served;
    next_ = now + (left_ != 0 ? kTryOthers : kRetry);
    return served;
}

} // namespace fuselink

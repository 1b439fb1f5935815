/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "room_queue.h"

#include "bulk.h"

#include <algorithm>

namespace fuselink {
namespace {

/* What others have in flight is read every 200 us. */
constexpr sched::Nanos kRetry = sched::Nanos::micros(250);

} // namespace

void RoomQueue::wait(BulkSender &sender)
{
    if (!sender.in_room_queue) {
        sender.in_room_queue = true;
        senders_.push_back(&sender);
    }
}

void RoomQueue::leave(BulkSender &sender)
{
    if (sender.in_room_queue) {
        sender.in_room_queue = false;
        senders_.erase(std::find(senders_.begin(), senders_.end(), &sender));
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
    size_t count = senders_.size();
    for (size_t i = 0; i < count && !senders_.empty(); ++i) {
        BulkSender &sender = *senders_.front();
        leave(sender);
        sender.pump();
    }
    return static_cast<unsigned>(count);
}

} // namespace fuselink

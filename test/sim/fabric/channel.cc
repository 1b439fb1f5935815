/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "channel.h"

#include "world.h"

#include <utility>

namespace fuselink::sim {

void Channel::send(size_t bytes, Timeline::Event arrive)
{
    if (cut_) {
        return;
    }
    const Instant due = std::max(last_,
                                 from_.carry(to_, bytes, world_.time().now()));
    last_             = due;
    last_sent_        = tries_ == 0 ? world_.time().now() : last_sent_; /* else it waits */
    under_way_       += bytes;
    packets_.push_back({bytes, due, std::move(arrive)});
    schedule();
}

void Channel::hold(Instant time)
{
    for (Packet &packet : packets_) {
        packet.due += time;
    }
    last_ += time;
}

void Channel::schedule()
{
    if (armed_ || packets_.empty() || cut_) {
        return;
    }
    armed_ = true;
    world_.time().at(packets_.front().due,
                     [weak = weak_from_this()] {
                         if (auto self = weak.lock()) {
                             self->armed_ = false;
                             self->front_is_due();
                         }
                     });
}

void Channel::front_is_due()
{
    if (cut_ || packets_.empty()) {
        return;
    }
    const Instant now = world_.time().now();
    if (packets_.front().due > now) { /* it is held back */
        schedule();
        return;
    }
    if (is_silent() && !packets_.front().repeats) {
        lose_all();
        schedule();
        return;
    }
    if (is_silent()) {
        if (silent_since_ < 0) {
            silent_since_ = now;
            pause_        = again_;
            probes_       = world_.profile().tail_probe != 0 &&
                            (packets_.size() > 1 ||
                             packets_.front().bytes > world_.profile().segment);
            world_.count(Count::Silences);
            if (probes_) {
                packets_.front().due = now + world_.profile().tail_probe;
                schedule();
                return;
            }
        }
        if (now - silent_since_ > patience_) {
            world_.count(Count::GaveUp);
            cut();
            if (on_give_up) {
                on_give_up();
            }
            return;
        }
        packets_.front().due = now + pause_;
        last_sent_           = now;
        resent_             += packets_.front().bytes;
        if (!std::exchange(probes_, false)) {
            pause_ = std::min(2 * pause_, again_ << world_.profile().most_doubles);
            ++tries_;
        }
        schedule();
        return;
    }
    silent_since_ = -1;
    tries_        = 0;
    Packet packet = std::move(packets_.front());
    packets_.pop_front();
    under_way_ -= packet.bytes;
    if (!packets_.empty()) { /* those behind a loss come after it */
        packets_.front().due = std::max(packets_.front().due, now);
    }
    auto keep = shared_from_this(); /* the call may end the connection */
    packet.arrive();
    schedule();
}

/* What does not come again, and nothing that was sent behind it. */
void Channel::lose_all()
{
    while (!packets_.empty() && !packets_.front().repeats) {
        under_way_ -= packets_.front().bytes;
        packets_.pop_front();
    }
}

/* What was lost before now would have come by being sent again. */
void Channel::stop_repeating()
{
    for (Packet &packet : packets_) {
        packet.repeats = false;
    }
    if (silent_since_ >= 0) {
        lose_all();
    }
    armed_ = false; /* for the one that is not there any more */
    schedule();
}

void Channel::cut()
{
    cut_ = true;
    packets_.clear();
    under_way_ = 0;
}

} // namespace fuselink::sim

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "message_pins.h"

namespace fuselink {

uct_completion_t &MessagePins::prepare(MessagePin &pin, wire::MessageNumber number)
{
    pin.comp   = {on_sent, 1, UCS_OK};
    pin.pins   = this;
    pin.number = number;
    return pin.comp;
}

void MessagePins::hold(MessagePin &pin, wire::MessageNumber first)
{
    seen_    = held_.empty() ? first : seen_;
    pin.held = true;
    held_.push_back(&pin);
}

void MessagePins::on_sent(uct_completion_t *comp)
{
    auto *pin  = reinterpret_cast<MessagePin *>(comp);
    auto &self = *pin->pins;
    pin->held  = false;
    std::erase(self.held_, pin);
    self.client_.on_unpinned(self.seen_);
}

wire::MessageNumber MessagePins::before(wire::MessageNumber seen,
                                        wire::MessageNumber first, size_t messages)
{
    const int more = wire::message_distance(seen, first);
    if (more > wire::message_distance(seen_, first) &&
        static_cast<size_t>(more) <= messages) {
        seen_ = seen;
    }
    for (const MessagePin *pin : held_) {
        if (wire::message_distance(pin->number, seen) < 0) {
            seen = pin->number;
        }
    }
    return seen;
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "control_queue.h"

#include "../wire/messages.h"

#include <utility>

namespace fuselink {
namespace {

using Message = ControlQueue::Message;

wire::ControlType type_of(const Message &message)
{
    return static_cast<wire::ControlType>(message[0]);
}

/* The peer decides how many of these there are. Parts of gets are bounded where
 * they are served. */
bool is_answer(const Message &message)
{
    switch (type_of(message)) {
    case wire::ControlType::GetDone:
    case wire::ControlType::FlushAck:
    case wire::ControlType::KeyData:
    case wire::ControlType::ChunkAck:
    case wire::ControlType::LoadGrant:
    case wire::ControlType::SlotGrant:
    case wire::ControlType::PathQuiet:
    case wire::ControlType::RailAddr: /* our own questions are few */
        return true;
    default:
        return false;
    }
}

/* What comes later says all that was said. */
bool replaces(const Message &message, const Message &earlier)
{
    return message[0] == earlier[0] && message.size() == earlier.size() &&
           (type_of(message) == wire::ControlType::FlushAck ||
            type_of(message) == wire::ControlType::LoadGrant);
}

} // namespace

bool ControlQueue::push(Message message)
{
    /* The first one may be on its way just now. */
    if (messages_.size() > 1 && replaces(message, messages_.back())) {
        messages_.back() = std::move(message);
        return true;
    }
    if (is_answer(message)) {
        if (answer_bytes_ + message.size() > kMaxAnswers) {
            return false;
        }
        answer_bytes_ += message.size();
    }
    bytes_ += message.size();
    messages_.push_back(std::move(message));
    return true;
}

void ControlQueue::pop()
{
    const Message &message = messages_.front();
    bytes_        -= message.size();
    answer_bytes_ -= is_answer(message) ? message.size() : 0;
    messages_.pop_front();
}

void ControlQueue::clear()
{
    messages_.clear();
    bytes_ = answer_bytes_ = 0;
}

} // namespace fuselink

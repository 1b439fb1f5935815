/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_MESSAGE_ORDER_H
#define FUSELINK_CONN_MESSAGE_ORDER_H

#include "../wire/messages.h"

#include <cstddef>

namespace fuselink {

/**
 * Which message of a peer comes next, and what of those that came it has not been
 * told of. A lane begins at one that was not acknowledged: so what is before the next
 * one has been here, and what an earlier lane brings late comes again, or has come.
 * Other wires bring some of a lane's messages (MessagePaths): what they bring may be
 * ahead of others, or be brought once more when such a wire has broken.
 *
 * One thread at a time.
 */
class MessageOrder {
public:
    enum class Place {
        Next,  /* it counts from now on */
        Again, /* was here */
        Ahead, /* others come first */
    };

    /** Messages, and bytes, after which the sender is told at once. Far enough below
     *  MessageLog's bounds that nobody waits for it, and above the window of 64 messages
     *  after which many programs answer, which tells as well. */
    static constexpr size_t kTellMessages = 256;
    static constexpr size_t kTellBytes    = 256 << 10;

    /** A message comes over the peer's lane of that number. */
    Place take(uint8_t lane, wire::MessageNumber number, size_t length)
    {
        if (lane != lane_) [[unlikely]] {
            if (wire::lane_before(lane, lane_)) {
                return Place::Again;
            }
            lane_ = lane;
        }
        if (number != next_) [[unlikely]] {
            return wire::message_distance(number, next_) < 0 ? Place::Again :
                                                               Place::Ahead;
        }
        pass(length);
        return Place::Next;
    }
    /** The next one was here before its turn. */
    void pass(size_t length)
    {
        ++next_;
        ++messages_;
        bytes_ += length;
    }
    /** So far it is in front of the one of this number, which is ahead. */
    size_t distance(wire::MessageNumber number) const
    {
        return static_cast<size_t>(wire::message_distance(number, next_));
    }

    /** A message without a number of its own, which is in front of the one of this
     *  number: it counts as often as it comes, but never behind that one. */
    bool is_in_front(uint8_t lane, wire::MessageNumber number)
    {
        if (wire::lane_before(lane, lane_)) {
            return false;
        }
        lane_ = lane;
        return number == next_;
    }

    /** The peer has begun another lane. */
    void begin_lane(uint8_t lane)
    {
        lane_ = wire::lane_before(lane_, lane) ? lane : lane_;
    }
    /** The last that there was. */
    uint8_t lane() const { return lane_; }

    /** To be told to the sender: it has had all before this one. */
    wire::MessageNumber next() const { return next_; }
    wire::MessageNumber tell()
    {
        messages_ = bytes_ = 0;
        return next_;
    }
    /** It does not know of the last ones, */
    bool untold() const { return messages_ != 0; }
    /** and should now. */
    bool tell_now() const
    {
        return messages_ >= kTellMessages || bytes_ >= kTellBytes;
    }

private:
    wire::MessageNumber next_     = 0;
    size_t              messages_ = 0; /* since the sender was told */
    size_t              bytes_    = 0;
    uint8_t             lane_     = 0;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_CONTROL_QUEUE_H
#define FUSELINK_CONN_CONTROL_QUEUE_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace fuselink {

/**
 * Control messages to one peer that wait for room on the lane, in order.
 *
 * How many of them are answers, the peer decides by what it asks: of these there
 * may be so many bytes and no more. One that only repeats, with newer figures,
 * what the last one says takes its place.
 *
 * One thread at a time (the worker's).
 */
class ControlQueue {
public:
    /** As on the wire: it begins with a wire::ControlHeader. */
    using Message = std::vector<uint8_t>;

    /** Bytes of answers that wait. No program asks for so many before it looks
     *  for one, and who does not look gets no others. */
    static constexpr size_t kMaxAnswers = 16 << 20;

    /** False, and the message is dropped, if it is an answer beyond
     *  kMaxAnswers. */
    [[nodiscard]] bool push(Message message);

    bool           empty() const { return messages_.empty(); }
    /** The next one; stays where it is until pop(), whatever is pushed. */
    const Message &front() const { return messages_.front(); }
    void           pop();

    void clear();

    /** Of all messages, and of the answers among them. */
    size_t bytes() const { return bytes_; }
    size_t answer_bytes() const { return answer_bytes_; }

private:
    std::deque<Message> messages_;
    size_t              bytes_        = 0;
    size_t              answer_bytes_ = 0;
};

} // namespace fuselink

#endif

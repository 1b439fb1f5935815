/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_STREAM_H
#define FUSELINK_TEST_STREAM_H

#include "harness/pattern.h"
#include "endpoint.h"

#include <deque>
#include <functional>
#include <memory>

namespace fltest {

/** How one active message is sent. A message is its number (8 bytes), then
 *  `body` bytes of pattern. */
struct Shape {
    enum class Kind { Short, ShortIov, Bcopy, Zcopy };

    Kind   kind   = Kind::Short;
    size_t body   = 0;
    size_t header = 8; /* Zcopy: bytes that go as header, 8 or more */
    size_t pieces = 1; /* Zcopy, ShortIov: elements of the scatter list */
};

/** Numbered messages of which both sides know what they look like. */
class Stream {
public:
    using ShapeOf = std::function<Shape(uint64_t number)>;

    Stream(uint64_t seed, ShapeOf shape_of)
        : seed_(seed), shape_of_(std::move(shape_of))
    {
    }

    /** Kinds and sizes at random, most of them small; the limits of the
     *  interface come up often. */
    static Stream random(uint64_t seed, const Iface &iface);

    Shape    shape(uint64_t number) const { return shape_of_(number); }
    uint64_t seed(uint64_t number) const { return mix(seed_ + number); }

private:
    uint64_t seed_;
    ShapeOf  shape_of_;
};

/** Sends a stream's messages one after the other. */
class StreamSender {
public:
    StreamSender(Stream stream, Endpoint &ep, uint8_t id);

    void send();
    void send(uint64_t count)
    {
        while (count-- != 0) {
            send();
        }
    }
    uint64_t sent() const { return next_; }

    /** Waits until no buffer is in use any more. */
    void drain();

private:
    struct Slot {
        std::unique_ptr<Memory> memory;
        std::unique_ptr<Op>     op;
    };

    void send_zcopy(const Shape &shape);
    Slot &free_slot();

    Stream            stream_;
    Endpoint         &ep_;
    uint8_t           id_;
    uint64_t          next_ = 0;
    std::vector<char> buffer_;
    std::deque<Slot>  slots_;
    size_t            slot_ = 0;
};

/** Checks that a stream's messages arrive complete, in order and once. */
class StreamReceiver {
public:
    StreamReceiver(Stream stream, Iface &iface, uint8_t id);
    StreamReceiver(const StreamReceiver &)            = delete;
    StreamReceiver &operator=(const StreamReceiver &) = delete;

    uint64_t received() const { return next_; }

    /** Waits for `count` messages in all, and that no more come. */
    void expect(uint64_t count, double seconds = 60);
    /** Fails if a message was not as it should be. */
    void require_good() const;

private:
    ucs_status_t on_message(const void *data, size_t length);

    Stream      stream_;
    Iface      &iface_;
    uint64_t    next_ = 0;
    std::string wrong_;
};

} // namespace fltest

#endif

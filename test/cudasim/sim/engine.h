/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_ENGINE_H
#define FUSELINK_CUDASIM_ENGINE_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "sim/node.h"

namespace cudasim {

/** One recording of an event. */
struct Mark {
    std::atomic<bool>     done{false};
    std::atomic<uint64_t> time_ns{0};
};
using MarkRef = std::shared_ptr<Mark>;

/** One side of a copy; hold keeps it mapped. */
struct Extent {
    char                 *memory;
    size_t                pitch; /* from one row to the next */
    std::shared_ptr<void> hold;
};

struct Copy {
    Extent to, from;
    size_t width, rows;
    Route  route;
};

struct Fill {
    Extent   to;
    size_t   width, rows;
    uint32_t value;
    unsigned value_size; /* 1, 2 or 4 bytes */
    Route    route;
};

struct Record {
    MarkRef mark;
};

struct Await {
    MarkRef mark;
};

struct Call {
    std::function<void()> function;
};

/** What a broken copy does: nothing more runs in the group. */
struct Break {
    int error;
};

using Work = std::variant<Copy, Fill, Record, Await, Call, Break>;

class Group;

/** Work that is done in order. */
class Stream {
public:
    Stream(Group &group, bool blocking) : group_(group), blocking_(blocking) {}

    Group &group() const { return group_; }
    /** Takes part in the order of the group's default stream. */
    bool blocking() const { return blocking_; }

private:
    friend class Engine;

    struct Slice {
        uint64_t finish;
        size_t   bytes;
    };
    struct Item {
        Work              work;
        uint64_t          number; /* over all streams */
        uint64_t          ready;  /* earliest start */
        bool              started  = false;
        bool              called   = false; /* Call: has been handed over */
        bool              finished = false; /* Call: has returned */
        size_t            reserved = 0, done = 0;
        std::deque<Slice> slices = {};
    };

    Group           &group_;
    const bool       blocking_;
    bool             ended_ = false;
    std::deque<Item> items_;
    uint64_t         last_finish_ = 0; /* of the item before the first */
};
using StreamRef = std::shared_ptr<Stream>;

/** The streams of a context. */
class Group {
public:
    /** 0, or what broke it. */
    int error() const { return error_.load(); }

private:
    friend class Engine;

    StreamRef           default_stream_;
    std::list<StreamRef> streams_;
    std::atomic<int>    error_{0};
};

/**
 * Does the work of all streams of this process, in a thread of its own, at the
 * pace of the links. A copy is cut into slices of about a millisecond, of which
 * two at a time have their place on the links, so that copies which share a
 * link share its time evenly, whichever process they are of. The bytes of a
 * slice are moved when its time is over and not before: a program that does not
 * wait for its copy finds the old data.
 */
class Engine {
public:
    struct Options {
        uint64_t latency_ns = 0;     /* added to each copy */
        uint64_t jitter_ns  = 0;     /* a part of it, by chance, added too */
        bool     realtime   = false; /* before all ordinary threads */
    };

    Engine(Node &node, Options options);

    std::shared_ptr<Group> make_group();
    StreamRef              default_stream(Group &group);
    StreamRef              make_stream(Group &group, bool blocking);
    /** Gone when its work is done. */
    void end_stream(const StreamRef &stream);
    /** After its work is done. */
    void end_group(const std::shared_ptr<Group> &group);

    void push(const StreamRef &stream, Work work);
    bool idle(const StreamRef &stream);
    void wait(const StreamRef &stream);
    void wait(Group &group);
    void wait(const MarkRef &mark);

    /** Is this the thread that runs the calls of streams? */
    static bool in_call();

private:
    static constexpr uint64_t kNever      = UINT64_MAX;
    static constexpr uint64_t kSlice_ns   = 1000000;
    static constexpr uint64_t kCatchUp_ns = 100000000;
    static constexpr size_t   kWindow     = 2;

    using Lock = std::unique_lock<std::mutex>;

    void     start();
    void     run();
    void     run_calls();
    enum class Step { Waits, Moved, Ended };

    bool     step_all(Lock &lock, uint64_t &deadline);
    Step     step(Lock &lock, Stream &stream);
    Step     step_item(Lock &lock, Stream &stream);
    Step     step_bytes(Lock &lock, Stream::Item &item);
    static uint64_t next_event(const Stream &stream);
    bool     held_back(const Stream &stream) const;
    uint64_t delay();
    bool     drained(const Stream &stream, uint64_t number) const;

    Node          &node_;
    const Options  options_;
    uint64_t       random_; /* state of the generator */

    std::mutex              mutex_;
    std::condition_variable kick_, done_, calls_;
    bool                    started_ = false, kicked_ = false;
    uint64_t                next_number_ = 1;
    std::list<std::shared_ptr<Group>> groups_;

    struct PendingCall {
        std::function<void()> function;
        Stream::Item         *item;
    };
    std::deque<PendingCall> pending_calls_;
};

} // namespace cudasim

#endif

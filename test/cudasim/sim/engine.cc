/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "engine.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <sys/prctl.h>
#include <thread>

#include "sim/clock.h"

namespace cudasim {
namespace {

thread_local bool runs_calls = false;

/* Bytes [begin, begin + count) of a rectangle, counted row by row. */
template <typename Row>
void for_rows(size_t width, size_t begin, size_t count, Row row)
{
    while (count > 0) {
        size_t line = begin / width, column = begin % width;
        size_t bytes = std::min(width - column, count);
        row(line, column, bytes);
        begin += bytes;
        count -= bytes;
    }
}

void move_bytes(const Copy &copy, size_t begin, size_t count)
{
    for_rows(copy.width, begin, count, [&](size_t row, size_t at, size_t bytes) {
        memmove(copy.to.memory + row * copy.to.pitch + at,
                copy.from.memory + row * copy.from.pitch + at, bytes);
    });
}

void fill_bytes(const Fill &fill, size_t begin, size_t count)
{
    for_rows(fill.width, begin, count, [&](size_t row, size_t at, size_t bytes) {
        char *to = fill.to.memory + row * fill.to.pitch + at;
        if (fill.value_size == 1) {
            memset(to, static_cast<int>(fill.value), bytes);
            return;
        }
        for (size_t i = 0; i < bytes; ++i) {
            unsigned shift = (at + i) % fill.value_size * 8;
            to[i]          = static_cast<char>(fill.value >> shift);
        }
    });
}

} // namespace

Engine::Engine(Node &node, Options options)
    : node_(node), options_(options), random_(now_ns() | 1)
{
}

/* Of a copy, before it begins. */
uint64_t Engine::delay()
{
    if (options_.jitter_ns == 0) {
        return options_.latency_ns;
    }
    random_ ^= random_ << 13; /* xorshift: any spread will do */
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return options_.latency_ns + random_ % options_.jitter_ns;
}

bool Engine::in_call()
{
    return runs_calls;
}

/* Under the lock. The program's signal handlers are not to run in our threads. */
void Engine::start()
{
    if (started_) {
        return;
    }
    started_ = true;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { run(); }).detach();
    std::thread([this] { run_calls(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::shared_ptr<Group> Engine::make_group()
{
    Lock lock(mutex_);
    auto group             = std::make_shared<Group>();
    group->default_stream_ = std::make_shared<Stream>(*group, true);
    group->streams_.push_back(group->default_stream_);
    groups_.push_back(group);
    return group;
}

StreamRef Engine::default_stream(Group &group)
{
    return group.default_stream_;
}

StreamRef Engine::make_stream(Group &group, bool blocking)
{
    Lock lock(mutex_);
    auto stream = std::make_shared<Stream>(group, blocking);
    group.streams_.push_back(stream);
    return stream;
}

void Engine::end_stream(const StreamRef &stream)
{
    Lock lock(mutex_);
    if (stream->items_.empty()) {
        stream->group_.streams_.remove(stream);
    } else {
        stream->ended_ = true;
    }
}

void Engine::end_group(const std::shared_ptr<Group> &group)
{
    wait(*group);
    Lock lock(mutex_);
    groups_.remove(group);
}

void Engine::push(const StreamRef &stream, Work work)
{
    Lock lock(mutex_);
    start();
    stream->items_.push_back({std::move(work), next_number_++, now_ns()});
    kicked_ = true;
    kick_.notify_one();
}

bool Engine::idle(const StreamRef &stream)
{
    Lock lock(mutex_);
    return stream->items_.empty();
}

/* Is all that was pushed before NUMBER done? */
bool Engine::drained(const Stream &stream, uint64_t number) const
{
    return stream.items_.empty() || stream.items_.front().number >= number;
}

void Engine::wait(const StreamRef &stream)
{
    Lock           lock(mutex_);
    const uint64_t number = next_number_;
    done_.wait(lock, [&] { return drained(*stream, number); });
}

void Engine::wait(Group &group)
{
    Lock           lock(mutex_);
    const uint64_t number = next_number_;
    done_.wait(lock, [&] {
        return std::all_of(group.streams_.begin(), group.streams_.end(),
                           [&](auto &s) { return drained(*s, number); });
    });
}

void Engine::wait(const MarkRef &mark)
{
    Lock lock(mutex_);
    done_.wait(lock, [&] { return mark->done.load(); });
}

void Engine::run()
{
    prctl(PR_SET_NAME, "cudasim");
    prctl(PR_SET_TIMERSLACK, 1000);
    sched_param first{};
    first.sched_priority = 1;
    if (int error = options_.realtime ? pthread_setschedparam(pthread_self(), SCHED_RR,
                                                      &first) : 0;
        error != 0) {
        fprintf(stderr, "cudasim: CUDASIM_REALTIME: %s\n", strerror(error));
    }
    Lock lock(mutex_);
    for (;;) {
        uint64_t deadline = kNever;
        kicked_           = false;
        if (step_all(lock, deadline)) {
            done_.notify_all();
            continue;
        }
        auto kicked = [this] { return kicked_; };
        if (deadline == kNever) {
            kick_.wait(lock, kicked);
        } else {
            std::chrono::time_point<std::chrono::steady_clock> until(
                std::chrono::nanoseconds{deadline});
            kick_.wait_until(lock, until, kicked);
        }
    }
}

void Engine::run_calls()
{
    runs_calls = true;
    prctl(PR_SET_NAME, "cudasim-calls");
    Lock lock(mutex_);
    for (;;) {
        calls_.wait(lock, [this] { return !pending_calls_.empty(); });
        PendingCall call = std::move(pending_calls_.front());
        pending_calls_.pop_front();
        lock.unlock();
        call.function();
        call.function = nullptr;
        lock.lock();
        call.item->finished = true;
        kicked_             = true;
        kick_.notify_one();
    }
}

/* When the stream has something to do: a slice that ends, or at once. */
uint64_t Engine::next_event(const Stream &stream)
{
    const Stream::Item &item = stream.items_.front();
    return item.slices.empty() ? 0 : item.slices.front().finish;
}

/* True if anything ended; then what waits for it may go on. The streams take
 * turns in the order of their slices, or after a late awakening one of them
 * would take all the time that the links had meanwhile. */
bool Engine::step_all(Lock &lock, uint64_t &deadline)
{
    struct Turn {
        std::shared_ptr<Group> group;
        StreamRef              stream;
        bool                   waits;
    };
    /* The lists may change while the lock is released for a copy. */
    std::vector<Turn> turns;
    for (const auto &group : groups_) {
        for (const auto &stream : group->streams_) {
            if (!stream->items_.empty()) {
                turns.push_back({group, stream, false});
            }
        }
    }
    bool progress = false;
    for (;;) {
        Turn *next = nullptr;
        for (Turn &turn : turns) {
            if (!turn.waits && !turn.stream->items_.empty() &&
                (next == nullptr ||
                 next_event(*turn.stream) < next_event(*next->stream))) {
                next = &turn;
            }
        }
        if (next == nullptr) {
            break;
        }
        switch (step(lock, *next->stream)) {
        case Step::Waits:
            next->waits = true;
            break;
        case Step::Moved:
            break;
        case Step::Ended:
            progress = true;
            for (Turn &turn : turns) {
                turn.waits = false;
            }
            break;
        }
    }
    for (Turn &turn : turns) {
        if (turn.stream->items_.empty()) {
            if (turn.stream->ended_) {
                turn.group->streams_.remove(turn.stream);
            }
        } else if (uint64_t event = next_event(*turn.stream); event != 0) {
            deadline = std::min(deadline, event);
        }
    }
    return progress;
}

/* The default stream waits for all before it, and all wait for it. */
bool Engine::held_back(const Stream &stream) const
{
    if (!stream.blocking_) {
        return false;
    }
    uint64_t      number  = stream.items_.front().number;
    const Stream *default_stream = stream.group_.default_stream_.get();
    if (&stream != default_stream) {
        return !drained(*default_stream, number);
    }
    return std::any_of(stream.group_.streams_.begin(),
                       stream.group_.streams_.end(), [&](const auto &other) {
                           return other.get() != &stream && other->blocking_ &&
                                  !drained(*other, number);
                       });
}

Engine::Step Engine::step(Lock &lock, Stream &stream)
{
    Stream::Item &item = stream.items_.front();
    if (held_back(stream)) {
        item.ready = std::max(item.ready, now_ns());
        return Step::Waits;
    }
    if (!item.started) {
        item.started = true;
        item.ready   = std::max(item.ready, stream.last_finish_);
        if (std::holds_alternative<Copy>(item.work)) {
            item.ready += delay();
        }
        if (auto *call = std::get_if<Call>(&item.work);
            call != nullptr && stream.group_.error() == 0) {
            item.called = true;
            pending_calls_.push_back({std::move(call->function), &item});
            calls_.notify_one();
        }
    }
    Step step = step_item(lock, stream);
    if (step == Step::Ended) {
        stream.last_finish_ = std::max(stream.last_finish_, item.ready);
        stream.items_.pop_front();
    }
    return step;
}

Engine::Step Engine::step_item(Lock &lock, Stream &stream)
{
    Stream::Item &item   = stream.items_.front();
    const bool    broken = stream.group_.error() != 0;
    if (auto *record = std::get_if<Record>(&item.work)) {
        record->mark->time_ns.store(item.ready);
        record->mark->done.store(true);
        return Step::Ended;
    }
    if (broken && !item.called) {
        return Step::Ended; /* what is left of a broken context is not done */
    }
    if (auto *wait = std::get_if<Await>(&item.work)) {
        if (!wait->mark->done.load()) {
            return Step::Waits;
        }
        item.ready = std::max(item.ready, wait->mark->time_ns.load());
        return Step::Ended;
    }
    if (std::holds_alternative<Call>(item.work)) {
        item.ready = now_ns();
        return item.finished ? Step::Ended : Step::Waits;
    }
    if (auto *failure = std::get_if<Break>(&item.work)) {
        stream.group_.error_.store(failure->error);
        return Step::Ended;
    }
    return step_bytes(lock, item);
}

/* Ends one slice, if its time is over, and puts the next ones on the links. */
Engine::Step Engine::step_bytes(Lock &lock, Stream::Item &item)
{
    Copy          *copy  = std::get_if<Copy>(&item.work);
    Fill          *fill  = std::get_if<Fill>(&item.work);
    const Route   &route = copy != nullptr ? copy->route : fill->route;
    const size_t   total = copy != nullptr ? copy->width * copy->rows :
                                             fill->width * fill->rows;
    const uint64_t now   = now_ns();
    bool           moved = false;
    if (!item.slices.empty() && item.slices.front().finish <= now) {
        Stream::Slice slice = item.slices.front();
        item.slices.pop_front();
        lock.unlock(); /* only this thread touches the first item */
        if (copy != nullptr) {
            move_bytes(*copy, item.done, slice.bytes);
        } else {
            fill_bytes(*fill, item.done, slice.bytes);
        }
        lock.lock();
        item.done += slice.bytes;
        item.ready = std::max(item.ready, slice.finish);
        moved      = true;
    }
    while (item.reserved < total && item.slices.size() < kWindow) {
        /* A thread that came late takes the time it missed, but not that of a
         * process which was stopped. */
        uint64_t ready = std::max(item.ready, now - std::min(now, kCatchUp_ns));
        size_t   bytes = std::min(node_.bytes_in(route, kSlice_ns),
                                  total - item.reserved);
        item.slices.push_back({node_.reserve(route, bytes, ready), bytes});
        item.reserved += bytes;
        moved = true;
    }
    if (item.done == total) {
        return Step::Ended;
    }
    return moved ? Step::Moved : Step::Waits;
}

} // namespace cudasim

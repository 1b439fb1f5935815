/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_TURNS_H
#define FUSELINK_ENGINE_TURNS_H

#include "../../../ucs_ext/process_barrier.h"

#include <atomic>
#include <cstdint>
#include <mutex>

namespace fuselink {

/**
 * Whose turn it is to use a worker's engine: the program's, which is inside of one of
 * its calls, or its deputy's, while the program is away (Deputy). Everything behind it is
 * for one thread at a time, and stays so: each turn sees what the turn before has left.
 *
 * A program without a deputy pays a branch for each call, one with a deputy some stores
 * and loads: both write that they are in and then read whether the other is (Dekker), and
 * the barrier that each needs in between the deputy has for both (ProcessBarrier).
 */
class Turns {
public:
    Turns()                         = default;
    Turns(const Turns &)            = delete;
    Turns &operator=(const Turns &) = delete;

    /** There is a deputy from now on, or no more. From the program, outside of turns. */
    void share(bool shared)
    {
        fenced_ = shared && !ProcessBarrier::prepare();
        shared_ = shared;
    }

    /** A turn of the program, as long as it is there. They nest: callbacks make calls. UCP
     *  sees to it that a worker's calls are one at a time. */
    class Own {
    public:
        explicit Own(Turns &turns) : turns_(turns)
        {
            if (turns_.shared_) [[unlikely]] {
                turns_.begin();
            }
        }
        ~Own()
        {
            if (turns_.shared_) [[unlikely]] {
                turns_.end();
            }
        }
        Own(const Own &)            = delete;
        Own &operator=(const Own &) = delete;

    private:
        Turns &turns_;
    };

    /* Of the deputy. */

    /** False if the program is inside of a call, or waits to be. */
    bool take()
    {
        if (inside_.load(std::memory_order_relaxed) ||
            waiting_.load(std::memory_order_relaxed) || !mutex_.try_lock()) {
            return false;
        }
        deputy_.store(true, std::memory_order_relaxed);
        bool passed = true;
        if (fenced_) {
            std::atomic_thread_fence(std::memory_order_seq_cst);
        } else {
            passed = ProcessBarrier::pass();
        }
        if (passed && !inside_.load(std::memory_order_acquire)) {
            return true;
        }
        give_back();
        return false;
    }
    void give_back()
    {
        deputy_.store(false, std::memory_order_release);
        mutex_.unlock();
    }
    /** The program waits for its turn. */
    bool wanted() const { return waiting_.load(std::memory_order_relaxed); }
    /** How many turns the program has had. */
    uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

private:
    void begin()
    {
        if (depth_++ != 0) {
            return;
        }
        inside_.store(true, std::memory_order_relaxed);
        if (fenced_) [[unlikely]] {
            std::atomic_thread_fence(std::memory_order_seq_cst);
        } else {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        if (deputy_.load(std::memory_order_acquire)) [[unlikely]] {
            waiting_.store(true, std::memory_order_relaxed);
            mutex_.lock(); /* its turn has ended, and until ours has there is no other */
            mutex_.unlock();
            waiting_.store(false, std::memory_order_relaxed);
        }
        /* Nobody else writes it. */
        calls_.store(calls_.load(std::memory_order_relaxed) + 1,
                     std::memory_order_relaxed);
    }
    void end()
    {
        if (--depth_ == 0) {
            inside_.store(false, std::memory_order_release);
        }
    }

    bool                  shared_ = false;
    bool                  fenced_ = false; /* there is no barrier for both */
    unsigned              depth_  = 0; /* of the program's calls */
    std::mutex            mutex_;      /* the deputy's, while it is in */
    std::atomic<bool>     inside_{false}, deputy_{false};
    std::atomic<bool>     waiting_{false};
    std::atomic<uint64_t> calls_{0};
};

} // namespace fuselink

#endif

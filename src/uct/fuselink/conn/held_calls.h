/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_HELD_CALLS_H
#define FUSELINK_CONN_HELD_CALLS_H

#include "../ucx.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

namespace fuselink {

class Connection;

/**
 * What a program is to be called for, held until it calls itself: UCT's callbacks are
 * for a program's own progress, and somebody else may drive a worker while the program
 * computes (Deputy). All is told in the order in which it happened, so while something is
 * held, what comes is held behind it.
 *
 * One thread at a time (the worker's turn).
 */
class HeldCalls {
public:
    HeldCalls()                            = default;
    HeldCalls(const HeldCalls &)            = delete;
    HeldCalls &operator=(const HeldCalls &) = delete;

    /** From here on, or until here, the program is not there to be called. */
    void begin_away() { away_ = holding_ = true; }
    void end_away()
    {
        away_    = false;
        holding_ = !calls_.empty();
    }
    bool away() const { return away_; }

    /** The program cannot be called now: add what it is to be called for. */
    bool holding() const { return holding_; }
    /** Messages are held, or the program is being told: what is to come behind their
     *  handling has to wait, and is owed a turn. */
    bool has_messages() const { return messages_ != 0 || telling_; }
    /** So much of a peer's waits for that. */
    void note_waiting(size_t count) { waiting_ = std::max(waiting_, count); }
    /** Something is held. */
    bool any() const { return !calls_.empty() || !owed_.empty(); }
    /** So much that no more messages are to be taken for it. */
    bool full() const
    {
        return bytes_ > kMostBytes || calls_.size() > kMostCalls ||
               waiting_ > kMostCalls;
    }

    /** An operation of a user of `conn` has ended. */
    void completion(const Connection &conn, uct_completion_t *comp,
                    ucs_status_t status);
    /** Data for a get has come, which it is to be told of now. */
    void unpack(const Connection &conn, uct_unpack_callback_t unpack, void *arg,
                const void *data, size_t length);
    /** A message for the handler `am_id` of `iface`. */
    void message(uct_base_iface_t &iface, uint8_t am_id, const void *data,
                 size_t length);
    /** What the peer is answered when all before has been told: `answer` of `who` is
     *  called with the data. */
    using Answer = void (*)(void *who, const void *data, size_t length);
    void answer(const Connection &conn, Answer answer, void *who, const void *data,
                size_t length);
    /** `conn` has something left to do in the program's own turn: it is deferred then;
     *  once, however often this was called. */
    void owe(Connection &conn);

    /** From the program's progress: calls it. Returns how often. */
    unsigned call_all();
    /** The same for completions of `conn` alone, from the end of an endpoint of it. */
    void tell(const Connection &conn);
    /** The same for all; nothing else that is held is told any more. */
    void end();
    /** `conn` is no more. */
    void forget(const Connection &conn);

private:
    enum class Kind : uint8_t { Completion, Unpack, Message, Answer };
    struct Call {
        Kind                  kind;
        uint8_t               am_id  = 0;
        ucs_status_t          status = UCS_OK;
        const Connection     *conn   = nullptr;
        uct_completion_t     *comp   = nullptr;
        uct_base_iface_t     *iface  = nullptr;
        uct_unpack_callback_t unpack = nullptr;
        Answer                answer = nullptr;
        void                 *arg    = nullptr;
        std::vector<char>     data;

        /* Of an operation of the user's. */
        bool ends() const { return kind == Kind::Completion || kind == Kind::Unpack; }
    };

    /* Of messages, and what a program that has been away for long finds at once. */
    static constexpr size_t kMostBytes = size_t{1} << 20;
    static constexpr size_t kMostCalls = 4096;

    void add(Call &&call, const void *data = nullptr, size_t length = 0);
    void push(Call &&call);
    Call pop();
    void make(Call &call);
    template <typename Fits> std::deque<Call> take(Fits &&fits);

    std::deque<Call>          calls_;
    std::vector<Connection *> owed_;
    size_t                    bytes_    = 0; /* of calls_ */
    size_t                    messages_ = 0; /* among them */
    size_t                    waiting_  = 0; /* for the program's turn, of the worst peer */
    bool                      away_     = false;
    bool                      holding_  = false;
    bool                      telling_  = false; /* inside call_all() */
};

} // namespace fuselink

#endif

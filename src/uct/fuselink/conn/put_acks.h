/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_PUT_ACKS_H
#define FUSELINK_CONN_PUT_ACKS_H

#include <cstdint>

namespace fuselink {

/**
 * Numbers of what goes to one peer as messages and is to be acknowledged: small
 * puts, and fences. The peer handles messages in order, so that one
 * acknowledgement is for all before it.
 *
 * They count on from the session, so that an answer that belongs to another
 * connection fits nothing here. One thread at a time.
 */
class PutAcks {
public:
    explicit PutAcks(uint32_t session)
        : sent_(uint64_t{session} << 32), last_put_(sent_), requested_(sent_),
          acked_(sent_), bulk_fence_(sent_), fence_(sent_), full_fence_(sent_)
    {
    }

    void put_sent() { last_put_ = ++sent_; }
    /** Stands for all messages so far. */
    void fence_sent() { ++sent_; }

    /** The last put, and whether it, or one with such a number, is there. */
    uint64_t last_put() const { return last_put_; }
    bool     acked(uint64_t number) const { return acked_ >= number; }
    bool     puts_open() const { return !acked(last_put_); }
    /** Puts or fences are not acknowledged. */
    bool     open() const { return sent_ != acked_; }

    /** Bulk data waits until all so far is acknowledged. */
    void hold_bulk() { bulk_fence_ = sent_; }
    bool bulk_held() const { return !acked(bulk_fence_); }

    /** A fence of the user's stands behind all so far; `full`: behind messages, too. */
    void note_fence(bool full)
    {
        fence_      = sent_;
        full_fence_ = full ? sent_ : full_fence_;
    }
    /** What stands before one is not acknowledged. */
    bool behind_fence() const { return !acked(fence_); }
    bool behind_full_fence() const { return !acked(full_fence_); }

    /** The number to ask to be acknowledged; 0 if that was done. */
    uint64_t request()
    {
        if (requested_ == sent_) {
            return 0;
        }
        return requested_ = sent_;
    }
    /** The peer acknowledges what was asked for up to a number. False if it was
     *  not, or before. */
    bool on_ack(uint64_t number)
    {
        if (number <= acked_ || number > requested_) {
            return false;
        }
        acked_ = number;
        return true;
    }

private:
    uint64_t sent_;
    uint64_t last_put_;
    uint64_t requested_;
    uint64_t acked_;
    uint64_t bulk_fence_;
    uint64_t fence_, full_fence_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_RETRANSMIT_QUEUE_H
#define FUSELINK_TRANSFER_RETRANSMIT_QUEUE_H

#include "../fifo.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fuselink {

class RailHealth;
struct StagingSegment;
struct Transfer;

/** Bytes that were lost with their path, to be sent another way, or that are apart from the
 *  others for another reason. The transfer counts it as outstanding. */
struct RetransmitSegment {
    Transfer       *transfer;
    size_t          offset; /* in the transfer */
    size_t          length;
    uint8_t         tries;  /* paths that broke with it, and not with their wire */
    StagingSegment *staged; /* of a GPU: null until its copy begins */
    RailHealth     *broke = nullptr; /* of the rail whose path was the last of these;
                                        null: it is on its way for the first time */
};

/**
 * What was lost with paths that broke and waits for others, in order; it goes
 * before what was never sent. So does what has been moved to other GPUs (NearTx).
 *
 * Invariant: bytes() is the sum over the segments, and of what take() has given
 * out and sent() or put_back() or drop() has not accounted for. Accounting alone;
 * one thread at a time.
 */
class RetransmitQueue {
public:
    bool   empty() const { return segments_.empty(); }
    size_t size() const { return segments_.size(); }
    /** Bytes that wait, those of a segment that is being sent among them. */
    size_t bytes() const { return bytes_; }

    /** Lost bytes, behind all others. */
    void push(const RetransmitSegment &segment)
    {
        segments_.push_back(segment);
        bytes_ += segment.length;
    }

    /** The segment whose turn it is; only if not empty(). */
    const RetransmitSegment &front() const { return segments_.front(); }
    /** From the front, `index` below size(). */
    const RetransmitSegment &at(size_t index) const { return segments_[index]; }

    /** Takes the first one out, whose bytes still count. */
    RetransmitSegment take()
    {
        RetransmitSegment segment = segments_.front();
        segments_.pop_front();
        return segment;
    }
    /** So many bytes of what was taken out are on their way, or given up. */
    void sent(size_t length) { bytes_ -= length; }
    /** What is left of it comes first again, */
    void put_back(const RetransmitSegment &rest) { segments_.push_front(rest); }
    /** or lets the others pass. */
    void defer(const RetransmitSegment &rest) { segments_.push_back(rest); }

    /** It is in no buffer any more. */
    void unstage(size_t index) { segments_[index].staged = nullptr; }

    /** Cuts a segment that is in no buffer into its first `length` bytes, which
     *  are in `staged` from now on, and the others, if there are any, which follow
     *  it. Returns whether there are. */
    bool split(size_t index, size_t length, StagingSegment *staged)
    {
        RetransmitSegment &first = segments_[index];
        RetransmitSegment  rest  = first;
        first.length  = length;
        first.staged  = staged;
        rest.offset  += length;
        rest.length  -= length;
        if (rest.length == 0) {
            return false;
        }
        segments_.insert(segments_.begin() +
                             static_cast<std::ptrdiff_t>(index) + 1, rest);
        return true;
    }

    /** Segments of a transfer. */
    size_t count(const Transfer &transfer) const
    {
        return static_cast<size_t>(
            std::count_if(segments_.begin(), segments_.end(),
                          [&](const RetransmitSegment &segment) {
                              return segment.transfer == &transfer;
                          }));
    }

    /** Removes all segments of a transfer; calls fn(segment) for each. */
    template <typename Fn> void drop(const Transfer &transfer, Fn &&fn)
    {
        for (auto it = segments_.begin(); it != segments_.end();) {
            if (it->transfer != &transfer) {
                ++it;
                continue;
            }
            fn(*it);
            bytes_ -= it->length;
            it      = segments_.erase(it);
        }
    }

private:
    Fifo<RetransmitSegment> segments_;
    size_t                  bytes_ = 0;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_EPOCHS_H
#define FUSELINK_CONN_EPOCHS_H

#include "../fifo.h"

#include <cstddef>
#include <cstdint>

namespace fuselink {

/**
 * Answers "have all operations that began before this point ended?" for
 * operations that end in any order.
 *
 * Operations are counted per epoch. Asking for a boundary closes the current
 * epoch if it holds anything; the boundary has passed when every epoch up to
 * it is empty. Operations that begin later do not delay it, so a flush or a
 * fence under constant traffic ends.
 *
 * One thread at a time. Grows only with boundaries that are open at once.
 */
class Epochs {
public:
    using Id = uint64_t;

    Epochs() { counts_.push_back(0); }

    /** An operation begins; pass the returned id to end(). */
    Id begin()
    {
        ++counts_.back();
        ++total_;
        return last_;
    }

    /** Ends an operation. True if a boundary may have passed by it. */
    bool end(Id id)
    {
        --counts_[id - first_];
        --total_;
        bool moved = false;
        while (counts_.size() > 1 && counts_.front() == 0) {
            counts_.pop_front();
            ++first_;
            moved = true;
        }
        return moved || total_ == 0;
    }

    /** A boundary behind all operations begun so far. */
    Id boundary()
    {
        if (counts_.back() != 0) {
            counts_.push_back(0);
            ++last_;
        }
        return last_;
    }

    /** True when all operations begun before the boundary have ended. */
    bool passed(Id boundary) const
    {
        return first_ >= boundary || total_ == 0;
    }

    size_t outstanding() const { return total_; }

private:
    Fifo<uint32_t> counts_;
    Id             first_ = 0; /* epoch of counts_.front() */
    Id             last_  = 0; /* epoch of counts_.back() */
    size_t         total_ = 0;
};

} // namespace fuselink

#endif

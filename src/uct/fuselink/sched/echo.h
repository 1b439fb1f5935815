/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_ECHO_H
#define FUSELINK_SCHED_ECHO_H

#include "units.h"

#include <cstddef>
#include <cstdint>

namespace fuselink::sched {

/**
 * When the program at the other end is known to have run, by what it has answered: after
 * that was sent. When an answer came says less. It may have waited behind bulk data on its
 * way, and here until somebody read it, each for longer than a wire that falls silent has.
 *
 * What is sent and what of that is answered are counted, in order. At looks it is marked how
 * much was sent by then, as TCP times some of its segments; where many looks pass until an
 * answer comes, some of them are not.
 *
 * Reads no clock, allocates nothing.
 */
class Echo {
public:
    /** To be called every few milliseconds. What is given up may count as never sent.
     *  Returns proved(). */
    Nanos look(Nanos now, uint64_t sent, uint64_t answered) noexcept
    {
        while (count_ != 0 && answered > marks_[first_].sent) {
            proved_ = marks_[first_].at;
            first_  = (first_ + 1) % kMarks;
            --count_;
        }
        if (count_ != 0 && last().sent == sent) {
            last().at = now;
        } else if (count_ != kMarks && sent >= answered) {
            ++count_;
            last() = {sent, now};
        }
        return proved_;
    }
    /** It ran then, or later. 0: is not known. */
    Nanos proved() const noexcept { return proved_; }

private:
    static constexpr size_t kMarks = 16;

    struct Mark {
        uint64_t sent; /* by then */
        Nanos    at;
    };
    Mark &last() noexcept { return marks_[(first_ + count_ - 1) % kMarks]; }

    Mark   marks_[kMarks] = {};
    size_t first_ = 0, count_ = 0;
    Nanos  proved_;
};

} // namespace fuselink::sched

#endif

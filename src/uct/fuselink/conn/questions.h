/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_QUESTIONS_H
#define FUSELINK_CONN_QUESTIONS_H

#include <algorithm>
#include <cstdint>

namespace fuselink {

/**
 * What two sides ask each other, counted: so an answer says which questions were heard, and
 * when an answered one was sent is known (sched::Echo). A number goes over the wire with
 * eight bits; 0 says that there was none.
 */
class Questions {
public:
    /** How many were sent, and of how many it is known that they were heard: in order. */
    uint64_t asked() const { return asked_; }
    uint64_t answered() const { return answered_; }

    /** The next one, until sent() says that it has gone. */
    uint8_t next_number() const { return static_cast<uint8_t>(next()); }
    void    sent() { asked_ = next(); }
    /** The peer had heard this one of ours by then. What was not asked is no answer. */
    void heard(uint8_t number)
    {
        const uint64_t late = static_cast<uint8_t>(asked_ - number);
        if (number != 0 && late <= asked_) {
            answered_ = std::max(answered_, asked_ - late);
        }
    }

    /** The peer's last one, for its answer. */
    uint8_t theirs() const { return theirs_; }
    void    came(uint8_t number) { theirs_ = number; }

private:
    uint64_t next() const { return asked_ + (asked_ % 256 == 255 ? 2 : 1); }

    uint64_t asked_ = 0, answered_ = 0;
    uint8_t  theirs_ = 0;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_LATE_NICS_H
#define FUSELINK_ENGINE_LATE_NICS_H

#include "../sched/units.h"

#include <vector>

namespace fuselink {

/**
 * When to look for NICs that have come since the rails were opened: an interface has a link
 * and an address that never had both before. It may take a while until it can be used (an
 * IPv6 address is tried first, DHCP may give another), so what is not found is looked for
 * again, a few times.
 *
 * Reads no clock, asks nobody. One thread at a time.
 */
class LateNics {
public:
    /** Addresses of one interface come one after the other. */
    static constexpr sched::Nanos kSettles = sched::Nanos::millis(100);
    /** Until the next look, if there was nothing; each time four times as long. */
    static constexpr sched::Nanos kAgain = sched::Nanos::millis(500);
    static constexpr unsigned     kLooks = 5;

    /** These interfaces are ready (Carrier::ready()) when the rails are opened. */
    void begin(std::vector<int> ready) { known_ = std::move(ready); }
    /** And these now. */
    void note(const std::vector<int> &ready, sched::Nanos now);
    /** There is something to look for. */
    bool waits() const { return looks_ != 0; }
    /** Now. It counts as a look that finds nothing, until found(). */
    bool take_due(sched::Nanos now);
    /** It has found what it was for. */
    void found() { looks_ = 0; }

private:
    std::vector<int> known_;     /* ascending */
    unsigned         looks_ = 0; /* that are left */
    sched::Nanos     at_, pause_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_LATE_NICS_H
#define FUSELINK_ENGINE_LATE_NICS_H

#include "../sched/units.h"

#include <vector>

namespace fuselink {

/**
 * Which interfaces are to be looked at, and when, as they may be NICs that were not there
 * when the rails were opened: each that has a link and an address, and did not have both
 * just before. It may take a while until it can be used (DHCP may give another address), so
 * it is looked at again, a few times.
 *
 * Reads no clock, asks nobody. One thread at a time.
 */
class LateNics {
public:
    /** Addresses of one interface come one after the other. */
    static constexpr sched::Nanos kSettles = sched::Nanos::millis(100);
    /** Until the next look, if it could not be used; each time four times as long. */
    static constexpr sched::Nanos kAgain = sched::Nanos::millis(500);
    static constexpr unsigned     kLooks = 5;

    /** These are ready now (Carrier::ready()), and no others. */
    void note(const std::vector<int> &ready, sched::Nanos now);
    /** There is one to look at. */
    bool waits() const { return !looks_.empty(); }
    /** One that is to be looked at now; 0: none. It is again, until settle(). */
    int  take_due(sched::Nanos now);
    /** It is a rail, or is to be none. */
    void settle(int ifindex);

private:
    struct Look {
        int          ifindex;
        sched::Nanos at, pause;
        unsigned     left;
    };

    std::vector<int>  ready_; /* by the last note */
    std::vector<Look> looks_;
};

} // namespace fuselink

#endif

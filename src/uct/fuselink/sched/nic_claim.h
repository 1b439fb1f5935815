/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_NIC_CLAIM_H
#define FUSELINK_SCHED_NIC_CLAIM_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace fuselink::sched {

/** One NIC that a process may take for its own. */
struct NicClaim {
    uint32_t owners = 0;     /**< others to which it belongs */
    bool     near   = true;  /**< no other NIC of the process is nearer */
    bool     held   = false; /**< it is the process's own as yet */
};

/**
 * Which NIC a process takes for its own where nobody has said: one of the nearest, of those
 * one that belongs to fewest others. Of equals it keeps what it has, and takes the one at
 * `place` or the next else, as others may look at this very moment, and two hosts that have
 * the same NICs are to come to the same.
 *
 * So a NIC is given up only for one with fewer other owners, and processes that look one
 * after the other come to rest. (FuseLink, OSDI'25, gives each GPU the NIC beside it.)
 *
 * @param place  another one for each sibling
 * @return Index; nics.size() if there is none. Allocates nothing.
 */
inline size_t choose_nic(std::span<const NicClaim> nics, uint32_t place) noexcept
{
    const auto better = [](const NicClaim &one, const NicClaim &other) {
        return one.near != other.near ? one.near : one.owners < other.owners;
    };
    size_t best = 0, equals = 0;
    for (size_t i = 0; i < nics.size(); ++i) {
        if (equals == 0 || better(nics[i], nics[best])) {
            best   = i;
            equals = 1;
        } else if (!better(nics[best], nics[i])) {
            if (nics[i].held) {
                best = i;
            }
            ++equals;
        }
    }
    if (equals == 0 || nics[best].held) {
        return equals == 0 ? nics.size() : best;
    }
    size_t at = place % nics.size();
    while (better(nics[best], nics[at])) {
        at = (at + 1) % nics.size();
    }
    return at;
}

} // namespace fuselink::sched

#endif

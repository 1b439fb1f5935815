/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCP_INSIDE_H
#define FUSELINK_TEST_SIM_UCP_INSIDE_H

#include <cstdint>
#include <ucp/api/ucp.h>

namespace fuselink {
class RailsIface;
}

namespace fuselink::sim {

class World;

/* What UCP keeps to itself, and a simulation has to have its hands on. */

/** So long UCP's own clock has to run before it asks its peers whether they live: years,
 *  so that it never does by itself. */
inline constexpr const char *kNeverByItself = "100000000s";

/** The worker asks its peers whether they live, as if its interval were over. False if
 *  not all could be asked, for want of room. */
bool ask_peers(ucp_worker_h worker);

/** The interface `rails` that the worker has opened; null if it has none. */
RailsIface *rails_of(ucp_worker_h worker);

/** The names of workers come from the run's chance, as long as this exists. */
class Names {
public:
    explicit Names(uint64_t seed);
    ~Names();
    Names(const Names &)            = delete;
    Names &operator=(const Names &) = delete;
};

} // namespace fuselink::sim

#endif

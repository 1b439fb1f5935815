/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "inside.h"

#include "../world/random.h"
#include "edge/rails_iface.h"
#include "ucx.h"

#include <cstring>
#include <sys/random.h>
#include <utility>

extern "C" {
#include <ucp/core/ucp_worker.h>
}

namespace {

/* UCP looks at its clock with one progress of so many. */
constexpr unsigned kProgresses = 32;

/* Of the run that there is. Null: none that draws names. */
fuselink::sim::Random *names = nullptr;

} // namespace

/* In place of libucs's own: UCP names its workers with it, and decides by their names
 * which of two that connect to each other at once gives way. */
extern "C" uint64_t ucs_generate_uuid(uint64_t)
{
    if (names != nullptr) {
        return names->next();
    }
    uint64_t word = 0;
    return getrandom(&word, sizeof(word), 0) == sizeof(word) ? word : 0;
}

namespace fuselink::sim {

Names::Names(uint64_t seed)
{
    names = new Random(seed, 91);
}

Names::~Names()
{
    delete names;
    names = nullptr;
}

bool ask_peers(ucp_worker_h worker)
{
    ucs_time_t      &interval = worker->context->config.ext.keepalive_interval;
    const ucs_time_t years    = std::exchange(interval, 1);
    const size_t     rounds   = worker->keepalive.round_count;
    for (unsigned i = 0; i < kProgresses &&
                         worker->keepalive.round_count == rounds; ++i) {
        ucp_worker_progress(worker);
    }
    interval = years;
    return worker->keepalive.round_count != rounds;
}

RailsIface *rails_of(ucp_worker_h worker)
{
    for (unsigned i = 0; i < worker->num_ifaces; ++i) {
        const ucp_worker_iface_t &one = *worker->ifaces[i];
        const auto &resource = worker->context->tl_rscs[one.rsc_index].tl_rsc;
        if (strcmp(resource.tl_name, "fuselink") == 0 &&
            strcmp(resource.dev_name, "rails") == 0) {
            return &RailsIface::from(one.iface);
        }
    }
    return nullptr;
}

} // namespace fuselink::sim

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RX_NEAR_POOLS_H
#define FUSELINK_RX_NEAR_POOLS_H

#include "../conn/peer_registry.h"
#include "../host/host.h"
#include "../memory/region_table.h"
#include "../relay/gpu_copies.h"
#include "near_pool.h"

#include <memory>
#include <vector>

namespace fuselink {

/**
 * The pools of slots beside NICs that do not write this process's GPU: the way of FuseLink
 * into a GPU (see docs/architecture.md). There is one as long as data comes by such a NIC; it
 * is asked back from the peers when nothing has come for a while, when the lender needs his
 * GPU's link, or lends nothing any more.
 *
 * One thread at a time (the worker's), which has to have a CUDA context.
 */
class NearPools {
public:
    /** All outlive this. */
    NearPools(const Host &host, GpuCopies &copies, RegionTable &regions,
              const PeerRegistry &peers)
        : host_(host), copies_(copies), regions_(regions), peers_(peers)
    {
    }
    NearPools(const NearPools &)            = delete;
    NearPools &operator=(const NearPools &) = delete;

    /** One of which `who` has nothing, beside a NIC by which data has come over the host's
     *  memory. nullptr if there is none, or not yet: then its lender is asked for slots. */
    NearPool *pool_for(unsigned nic, SlotLedger::Borrower who);
    /** nullptr if there is none of that number. */
    NearPool *find(uint32_t number) const;
    const std::vector<std::unique_ptr<NearPool>> &list() const { return pools_; }

    /** Slots have come back, or have not been lent: the lender has them back, and a pool that has no
     *  other ends. */
    void settle(NearPool &pool);

    bool any() const { return !pools_.empty(); }
    /** Now and then: closes those that are not to be any more. */
    void look(sched::Nanos now);

private:
    bool is_over(const NearPool &pool, sched::Nanos now) const;

    const Host                            &host_;
    GpuCopies                             &copies_;
    RegionTable                           &regions_;
    const PeerRegistry                    &peers_;
    std::vector<std::unique_ptr<NearPool>> pools_;
};

} // namespace fuselink

#endif

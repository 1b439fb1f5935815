/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_LENT_SLOTS_H
#define FUSELINK_RELAY_LENT_SLOTS_H

#include "../rail/uct_objects.h"
#include "../registry/relay_registry.h"
#include "../sched/units.h"
#include "pool.h"
#include "memory_pressure.h"

#include <cstddef>
#include <memory>

namespace fuselink {

/**
 * When an agent has slots in its GPU's memory: from when somebody demands them
 * until nobody has used them for a while, or the GPU has little memory left. Says
 * in the registry what there is.
 *
 * In the agent's thread.
 */
class LentSlots {
public:
    /** `offer` says how many slots of which size there are to be, and the rest of
     *  what others must know of the agent. The registry and both MDs outlive
     *  this. */
    LentSlots(RelayRegistry &registry, uint32_t entry, UctMd &copies,
              UctMd &ipc, const RelayRegistry::Offer &offer);

    /** A slot's memory; nullptr if there is none, or no such slot. */
    char    *at(uint32_t slot) const;
    uint32_t count() const { return offer_.slots; }
    /** Bytes of one. */
    size_t   size() const { return offer_.slot_size; }

    /** Somebody has used a slot. */
    void used(sched::Nanos now) { used_ = now; }

    /** There is a reason to look(). */
    bool due()
    {
        return pressure_.asked() || (offered_empty_ && is_demanded());
    }
    /** Allocates slots, offers some or takes the offer back, as demand and the
     *  GPU's memory are. `stopping`: there are to be no more. */
    void look(sched::Nanos now, bool stopping);

    /** Offers nothing any more; what was begun may end. */
    void withdraw();
    /** Withdrawn, but memory is there yet. */
    bool leaving() const { return leaving_; }
    /** Behind withdraw(), when nobody uses the memory: frees it. */
    void free(sched::Nanos now);

    /** Leaves the memory as it is: somebody may still be writing to it. */
    void abandon() { (void)pool_.release(); }

private:
    bool is_demanded() const;
    void offer_on_demand();
    void lend(sched::Nanos now);

    RelayRegistry             &registry_;
    const uint32_t             entry_;
    UctMd                   &copies_;
    UctMd                   &ipc_;
    RelayRegistry::Offer       offer_;
    std::unique_ptr<RelayPool> pool_;
    MemoryPressure             pressure_;
    bool                       offered_empty_ = false; /* slots, on demand */
    bool                       leaving_ = false;
    bool                       refused_ = false; /* the GPU's memory */
    sched::Nanos               used_;     /* a slot, last */
    sched::Nanos               answered_; /* the demand of then */
};

} // namespace fuselink

#endif

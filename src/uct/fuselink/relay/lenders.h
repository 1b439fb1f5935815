/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_LENDERS_H
#define FUSELINK_RELAY_LENDERS_H

#include "../host/host.h"
#include "../rail/uct_objects.h"
#include "../registry/relay_registry.h"
#include "../ucx.h"
#include "mapped_slots.h"
#include "nvlinks.h"

#include <memory>
#include <optional>
#include <vector>

namespace fuselink {

/** Who lends the link of his GPU, as this process sees him. Belongs to Lenders. */
struct Lender {
    uint32_t             entry;
    RelayRegistry::Offer offer;
    bool                 usable = false; /* once its slots are there */
    sched::Nanos         asked;          /* for them */
    unsigned             in_use = 0;     /* slots of it, here */
    uct_rkey_bundle_t    key{};
    uct_ep_h             ep = nullptr;

    /* Copier's. */
    sched::Nanos rests_until; /* for it did not do something */
    uint64_t     waiting = 0; /* bytes that go over it */
    unsigned     pieces  = 0; /* of which there are so many */

    /* NearSlots'. */
    std::unique_ptr<MappedSlots> mapped; /* once it is tried, if that was well */
    uint32_t                     nics   = 0; /* next to its GPU: a bit for each slot of NicMemory */
    bool                         placed = false; /* these are known, */
    bool                         tried  = false; /* and mapping */
    sched::Nanos                 full_until; /* others have them all, or it failed */

    /** It has slots, and we are connected to them. */
    bool ready() const { return usable && offer.on_demand == 0; }
};

/**
 * The agents of the node whose GPUs are near enough to that of this process, their
 * slots, and copies between its GPU and these.
 *
 * One thread at a time (the worker's).
 */
class Lenders {
public:
    /** At `entry` is this process. Those whose GPU has NVLink to this process's; all of
     *  them if `nvlinks`, which outlives this, is null. */
    Lenders(Host &host, UctMd &ipc, std::shared_ptr<RelayRegistry> registry,
            uint32_t entry, NvLinks *nvlinks);
    ~Lenders();
    Lenders(const Lenders &)            = delete;
    Lenders &operator=(const Lenders &) = delete;

    /** Opens the copy between GPUs on the worker. */
    ucs_status_t open(uct_worker_h worker, const uct_iface_params_t *params);
    /** That copy; only when it is open. */
    const UctIface &ipc() const { return *ipc_; }

    RelayRegistry &registry() { return *registry_; }
    uint32_t       entry() const { return entry_; }

    /** Looks for those who are new or gone, now and then. True if it did. */
    bool look(sched::Nanos now)
    {
        if (ucs_likely(now < next_look_)) {
            return false;
        }
        look_around(now);
        return true;
    }
    /** What is to be copied waits: asks `lender`, who has promised slots, for them. */
    void demand(Lender &lender, sched::Nanos now);

    const std::vector<std::unique_ptr<Lender>> &list() const { return lenders_; }
    /** It offers the same slots yet. */
    bool offers(const Lender &lender) const;
    /** Its owner does not need the link himself. */
    bool spares(const Lender &lender, sched::Nanos now) const
    {
        return registry_->needed(lender.entry) < now;
    }

    /** A slot of one who is ready(); none if all are taken, or he is gone. */
    std::optional<RelayRegistry::SlotHandle> take(Lender &lender, sched::Nanos now);
    /** Its slots are of use: it keeps them. */
    void keep(Lender &lender, sched::Nanos now);
    /** Its end. Not where the lender still has it (`keeps`). */
    void give(Lender &lender, const RelayRegistry::SlotHandle &slot, bool keeps = false);

    /** Begins a copy between this process's GPU and a slot: UCS_INPROGRESS if its
     *  completion tells of the end. */
    ucs_status_t hop(bool out, const Lender &lender,
                     const RelayRegistry::SlotHandle &slot, void *gpu, size_t length,
                     uct_completion_t *comp);
    unsigned     progress() { return uct_iface_progress(ipc_->handle()); }

    /** Copies do not end: what they use stays as it is. */
    void abandon() { abandoned_ = true; }

private:
    void look_around(sched::Nanos now);
    bool is_near(const Lender &lender) const;
    bool connect(Lender &lender);
    void leave(Lender &lender);

    Host                                &host_;
    UctMd                               &ipc_md_;
    std::shared_ptr<RelayRegistry>       registry_;
    const uint32_t                       entry_;
    NvLinks                             *nvlinks_;
    std::unique_ptr<UctIface>            ipc_;
    sched::Nanos                         next_look_;
    bool                                 joined_    = true; /* nobody has taken our entry */
    bool                                 abandoned_ = false;
    std::vector<std::unique_ptr<Lender>> lenders_;
};

} // namespace fuselink

#endif

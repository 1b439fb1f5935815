/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_NEAR_SLOTS_H
#define FUSELINK_RELAY_NEAR_SLOTS_H

#include "../host/host.h"
#include "../memory/region.h"
#include "../registry/relay_registry.h"
#include "../ucx.h"
#include "../watch/traffic.h"
#include "lenders.h"
#include "nvlinks.h"

#include <cstdint>
#include <optional>

namespace fuselink {

/**
 * Slots in memory of other GPUs, which NICs next to these read and write: the way of FuseLink
 * (see docs/architecture.md). A piece is copied once, from this process's GPU to such a slot over
 * NVLink, and this process's own rail takes it from there, or a peer's NIC puts it there by
 * that rail's, and it is copied to this process's GPU. The memory of the host has no
 * part in it, nor has the lender, whose memory is mapped here and registered with the NIC
 * by this process. Who stops or ends keeps nobody.
 *
 * One thread at a time (the worker's), which has to have a CUDA context.
 */
class NearSlots {
public:
    /** One that was taken. */
    struct Slot {
        Lender                   *lender = nullptr; /* none: no slot */
        RelayRegistry::SlotHandle handle{};
        char                     *memory = nullptr; /* of its GPU */

        explicit operator bool() const { return lender != nullptr; }
    };

    /** All outlive this. */
    NearSlots(Host &host, Lenders &lenders, NicMemory &nics, NvLinks &nvlinks)
        : host_(host), lenders_(lenders), nics_(nics), nvlinks_(nvlinks)
    {
    }
    NearSlots(const NearSlots &)            = delete;
    NearSlots &operator=(const NearSlots &) = delete;

    /** Looks for lenders, now and then. */
    void look();

    /** Who they are. */
    const std::vector<std::unique_ptr<Lender>> &lenders() const { return lenders_.list(); }

    /** A lender whose slots the NIC can read now: of several the one with the fewest slots
     *  in use here; nullptr if there is none. */
    Lender *lender_for(unsigned nic);
    /** Asks those for slots who are next to the NIC and have promised some. */
    void    demand(unsigned nic);

    /** Its slots are in use, though no other is taken. */
    void    keep(Lender &lender, sched::Nanos now) { lenders_.keep(lender, now); }

    /** A slot, and the end of it; none if all are taken. */
    Slot take(Lender &lender);
    void give(const Slot &slot) { lenders_.give(*slot.lender, slot.handle); }

    /** Fills it: UCS_INPROGRESS if the completion, of who calls progress(), tells. */
    ucs_status_t fill(const Slot &slot, const void *gpu, size_t length,
                      uct_completion_t *comp);
    void         filled(const Slot &slot, size_t length, ucs_status_t status)
    {
        ended(*slot.lender, true, length, status);
    }
    /** The same the other way: copies what is in it to this process's GPU. */
    ucs_status_t drain(const Slot &slot, void *gpu, size_t length, uct_completion_t *comp);
    void         drained(Lender &lender, size_t length, ucs_status_t status)
    {
        ended(lender, false, length, status);
    }

    /** Its slots may stay in use: its owner does not need the link, and offers them yet. */
    bool lends(const Lender &lender, sched::Nanos now) const
    {
        return lenders_.spares(lender, now) && lenders_.offers(lender);
    }

    /** As a NIC knows it; null if it does not reach it. */
    uct_mem_h handle(const Slot &slot, unsigned nic)
    {
        return handle(*slot.lender, nic);
    }

    bool     busy() const { return copying_ != 0; }
    unsigned progress();

    /** What has been copied to them, and from them. */
    const Traffic &traffic() const { return traffic_; }

private:
    uct_mem_h handle(const Lender &lender, unsigned nic)
    {
        return lender.mapped && (lender.nics >> nic & 1) != 0 ?
                   lender.mapped->handle(nic) : nullptr;
    }
    void         place(Lender &lender);
    ucs_status_t hop(const Slot &slot, bool out, void *gpu, size_t length, uct_completion_t *comp);
    void         ended(Lender &lender, bool out, size_t length, ucs_status_t status);
    void         note(Lender &lender, bool out, size_t length, ucs_status_t status);

    Host      &host_;
    Lenders   &lenders_;
    NicMemory &nics_;
    NvLinks   &nvlinks_;
    size_t     copying_ = 0;
    Traffic    traffic_;
};

} // namespace fuselink

#endif

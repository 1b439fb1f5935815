/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_COPIER_H
#define FUSELINK_RELAY_COPIER_H

#include "../staging/copy_lane.h"
#include "../staging/slots.h"
#include "../host/host.h"
#include "../pool.h"
#include "errand.h"
#include "../registry/relay_registry.h"
#include "host_links.h"
#include "lenders.h"

#include <deque>
#include <memory>

namespace fuselink {

/**
 * Copies between memory of this process's GPU and its memory of the host, over
 * the GPU's own link or, when that has much to do, over another GPU and the link
 * of that one, which an agent lends (RelayAgent). Either way the user hears of
 * the end once, when the bytes are where they belong: what an agent does not do,
 * because it failed, was stopped or died, is done over the own link. An agent that
 * was stopped in the middle may still write what it was to write: until it has, or
 * is gone, the slot in the host's memory is not used for anything else.
 *
 * Copies end in any order. One thread at a time (the worker's).
 */
class Copier {
public:
    /** `lenders` and `own` outlive this. Agents see `host_size` bytes at `host`. */
    Copier(Host &machine, Lenders &lenders, char *host, size_t host_size, CopyLane &own);
    ~Copier();
    Copier(const Copier &)            = delete;
    Copier &operator=(const Copier &) = delete;

    /** As those of CopyLane. Without `hurry` over the own link, which keeps up. */
    ucs_status_t begin_out(void *host, const void *gpu, size_t length,
                           bool hurry, uct_completion_t *comp)
    {
        return begin(true, static_cast<char *>(host),
                     const_cast<void *>(gpu), length, hurry, comp);
    }
    ucs_status_t begin_in(void *gpu, const void *host, size_t length,
                          uct_completion_t *comp)
    {
        return begin(false, static_cast<char *>(const_cast<void *>(host)), gpu,
                     length, true, comp);
    }

    /** The slots that begin_out() fills; they do not outlive this. */
    void set_slots(Slots &slots);

    bool     busy() const { return !ops_.empty(); }
    unsigned progress();

    /** What went over others' links so far; out of the GPU: sent. */
    const Traffic &relayed() const { return relayed_; }

private:
    /* A piece that goes over an agent; hop, then job, or the other way round. */
    struct RelayOp {
        uct_completion_t  comp; /* first: UCX gives back a pointer to it */
        Copier           *copier;
        bool              out;
        bool              hopping = false; /* else the agent has it */
        bool              ended   = false; /* this part of it */
        ucs_status_t      result = UCS_OK; /* in progress: over the own link,
                                              after all */
        char             *host;
        void             *gpu;
        size_t            length;
        uct_completion_t *user;
        Lender           *lender;
        RelayRegistry::SlotHandle slot;
        RelayErrand       errand; /* if it is not hopping */
        bool              left = false; /* its slot, with the agent */
    };

    ucs_status_t begin(bool out, char *host, void *gpu, size_t length,
                       bool hurry, uct_completion_t *comp);
    bool         begin_relayed(Lender &lender, bool out, char *host, void *gpu,
                            size_t length, uct_completion_t *comp);
    ucs_status_t begin_own(bool out, char *host, void *gpu, size_t length,
                           uct_completion_t *comp, sched::Nanos now);
    void         need_own(sched::Nanos now);
    ucs_status_t hop(RelayOp &op);
    void         post(RelayOp &op);
    void         fall_back(RelayOp &op, sched::Nanos now);
    bool         advance(RelayOp &op, sched::Nanos now);
    void         leave_behind(RelayOp &op);
    void         reclaim();
    static void  on_hop(uct_completion_t *comp);
    static void  on_own(uct_completion_t *comp);

    Host                                &machine_;
    Lenders                             &lenders_;
    char                                *host_;
    const size_t                         host_size_;
    CopyLane                            &own_;
    uint64_t                             waiting_ = 0; /* on the own link */
    Traffic                              relayed_;
    sched::Nanos                         own_takes_; /* a copy on the own link */
    std::deque<std::unique_ptr<RelayOp>> ops_;
    Slots                               *slots_ = nullptr;
    LeftBehind                           left_;

    struct Own { /* over the own link */
        uct_completion_t  comp; /* first */
        Copier           *copier;
        uct_completion_t *user;
        size_t            length;
        sched::Nanos      since;
        Own              *next_free;
    };
    Pool<Own> owns_;
};

} // namespace fuselink

#endif

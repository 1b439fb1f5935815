/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_PATH_HEALTH_H
#define FUSELINK_TRANSFER_PATH_HEALTH_H

#include "../rail/rail_health.h"
#include "../sched/units.h"
#include "../ucx.h"
#include "../wire/address.h"

#include <cstdint>

namespace fuselink {

/**
 * Whether one path is out, and since when: from its break until data has gone over it
 * again. Its rail's RailHealth hears of it.
 *
 * A break counts when the peer has confirmed it: at the end of a job connections break
 * as well, and nobody answers. One thread at a time (the worker's).
 */
class PathHealth {
public:
    /** Both outlive this. */
    PathHealth(RailHealth &rail, const wire::RailRecord &remote)
        : rail_(rail), remote_(remote)
    {
        rail_.add_path();
    }
    PathHealth(const PathHealth &)            = delete;
    PathHealth &operator=(const PathHealth &) = delete;

    /** It worked, or was tried again, and broke. @param link both ends have one,
     *  as far as is known. @param chance it did not connect, over a wire that carries, or
     *  is left behind by a silence of all rails: that is nothing of its rail's, unless it
     *  breaks again before it works */
    void broke(uint64_t peer, ucs_status_t status, bool link, bool chance, sched::Nanos now)
    {
        chance_ = chance && !chance_ && !out_;
        peer_   = peer;
        why_    = status;
        broke_  = now;
        if (chance_) {
            return;
        }
        link_   = link;
        tries_  = out_;
        if (!out_) {
            out_   = true;
            state_ = RailHealth::state_of(status);
            rail_.path_broke(far(), state_, now);
        }
    }
    /** The peer has answered, and nothing of the old connection happens any more. That of
     *  a try is no failure of its own, but where it has `lost` something it is one.
     *  @param away nothing came from the peer for long, over any rail: people are told if the
     *  next try is in vain, too */
    void drained(bool link, bool lost, bool away, sched::Nanos now)
    {
        const bool wire = link_ && link;
        if (chance_ && lost) {
            rail_.path_replaced(far(), why_, broke_, now);
        } else if (out_ && (!tries_ || (lost && !counted_))) {
            real_ = counted_ = true;
            unsaid_          = wire && away;
            rail_.path_drained(far(), state_, why_, broke_, wire && !away, now);
        } else if (out_ && unsaid_ && wire && !away) {
            unsaid_ = false;
            rail_.path_stays_out(far(), why_);
        }
    }
    /** It is not tried before that. Twice in a row, where it did not connect: it is
     *  not just that the peer has gone. */
    void rests(uint64_t peer, sched::Nanos until, sched::Nanos now)
    {
        if (chance_) {
            return;
        }
        peer_ = peer;
        if (!out_) {
            out_   = true;
            state_ = NicState::Broken;
            rail_.path_out(state_, now);
        } else {
            real_ = true;
        }
        rail_.path_rests(until);
    }
    /** Its links are back: the next break is one. */
    void linked(sched::Nanos now) { over(now); }
    /** Data has arrived over it. */
    void works(sched::Nanos now)
    {
        chance_ = false;
        if (out_) {
            out_ = real_ = counted_ = unsaid_ = false;
            rail_.path_works(far(), state_, now);
        }
    }
    /** There is no such path any more. */
    void end(sched::Nanos now)
    {
        over(now);
        rail_.remove_path();
    }

private:
    RailHealth::Far far() const
    {
        return {peer_, remote_.index, remote_.name};
    }
    void over(sched::Nanos now)
    {
        chance_ = false;
        if (out_) {
            const bool real = real_;
            out_ = real_ = counted_ = unsaid_ = false;
            rail_.path_over(state_, real, now);
        }
    }

    RailHealth             &rail_;
    const wire::RailRecord &remote_;
    uint64_t                peer_ = 0;
    ucs_status_t            why_  = UCS_OK;
    sched::Nanos            broke_;
    NicState                state_  = NicState::Up;
    bool                    out_    = false;
    bool                    real_   = false;
    bool                    counted_ = false; /* as a failure, since it is out */
    bool                    link_   = true;
    bool                    tries_  = false; /* what broke was a try */
    bool                    unsaid_ = false; /* to people, when it was drained */
    bool                    chance_ = false; /* it broke by that, and nothing else since */
};

} // namespace fuselink

#endif

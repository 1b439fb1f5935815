/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIREUP_LANE_SEARCH_H
#define FUSELINK_WIREUP_LANE_SEARCH_H

#include "../host/host.h"
#include "../rail/rail.h"
#include "../sched/units.h"
#include "../wire/address.h"
#include "candidates.h"
#include "connect_timer.h"
#include "fallback_eps.h"

#include <cstdint>

namespace fuselink {

/**
 * How long a lane of messages is looked for, where candidates have failed: in rounds, in
 * each of which all are tried, with pauses between.
 *
 * One thread at a time (the worker's).
 */
class LaneSearch {
public:
    /** All outlive this. */
    LaneSearch(Candidates &candidates, FallbackEps &fallbacks, Host &host)
        : candidates_(candidates), fallbacks_(fallbacks), host_(host)
    {
    }
    LaneSearch(const LaneSearch &)            = delete;
    LaneSearch &operator=(const LaneSearch &) = delete;

    /** A lane broke then. */
    void begin(sched::Nanos since)
    {
        rounds_.since   = since;
        rounds_.refused = {};
        looked_         = since;
    }
    /** There is a lane. */
    void end() { rounds_ = {}; }
    bool begun() const { return rounds_.since != sched::Nanos(); }

    /** No candidate is left to be tried in this round: begins the next, if it is time
     *  for it. False: it is hopeless. `first`: there was no lane before. */
    bool go_on(bool first);
    /** All may be tried again now, but for those that are being tried. */
    void begin_round();
    /** The same, with all the time there is: what was in vain may work now. */
    void begin_anew()
    {
        begin(host_.now());
        begin_round();
    }

    /** From progress. What this process did not look for, as it was stopped or away, does
     *  not count: who was asked may have answered, and nobody else was tried. */
    void look(sched::Nanos now)
    {
        const sched::Nanos step = begun() ? now - looked_ : sched::Nanos();
        rounds_.since = rounds_.since + ConnectTimer::away(step);
        if (rounds_.refused != sched::Nanos()) {
            rounds_.refused = rounds_.refused + ConnectTimer::away(step, kRefusedStep);
        }
        looked_ = now;
    }

    /** Time without an answer after which nobody is there. */
    static bool is_long(sched::Nanos time) { return time > kSilent; }
    /** It has lasted so long, and no kernel that was asked has answered. */
    bool is_over(sched::Nanos now) const
    {
        const sched::Nanos lasts = now - rounds_.since;
        return is_long(lasts) && is_hopeless(lasts, false);
    }
    /** Nobody can be expected to answer after this time without an answer. */
    bool is_hopeless(sched::Nanos time, bool first) const;

    /** A candidate broke. Its socket is still there. */
    void on_broken(uct_ep_h ep);

    /** The peer's rails that have no link, as it says: a bit for each. */
    void set_peer_down(uint16_t down) { peer_down_ = down; }
    /** Those that have one again: they are told where ours are. */
    void on_peer_back(uint16_t back) const;
    bool has_link(const Rail &rail, uint8_t remote) const
    {
        return rail.carrier &&
               (remote >= wire::kMaxRails || (peer_down_ >> remote & 1) == 0);
    }
    bool has_link(const Candidates::Candidate &one) const
    {
        return has_link(*one.rail, one.remote.index);
    }

private:
    /* A peer whose host refuses all of them for so long is no more; */
    static constexpr sched::Nanos kRefused     = sched::Nanos::millis(500);
    static constexpr sched::Nanos kRefusedStep = sched::Nanos::millis(100);
    /* and after so long, if not even that. */
    static constexpr sched::Nanos kSilent = sched::Nanos::seconds(30);

    struct Rounds {
        sched::Nanos since; /* 0: nothing has failed */
        sched::Nanos refused; /* nobody is silent any more since; 0: somebody is */
        sched::Nanos again; /* the next one begins; 0: this one is not over */
        sched::Nanos pause = sched::Nanos::millis(200); /* before that */
        bool         silent = false; /* in this one, some peer's kernel */
    };

    bool         all_streams() const;
    bool         is_silent() const;
    /* So long candidates are tried. */
    sched::Nanos patience() const { return is_silent() ? kSilent : kRefused; }

    Candidates  &candidates_;
    FallbackEps &fallbacks_;
    Host        &host_;
    Rounds       rounds_;
    sched::Nanos looked_; /* last */
    uint16_t     peer_down_ = 0;
};

} // namespace fuselink

#endif

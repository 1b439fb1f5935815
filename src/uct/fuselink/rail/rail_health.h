/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_RAIL_HEALTH_H
#define FUSELINK_RAIL_RAIL_HEALTH_H

#include "../../../ucs_ext/nic_health.h"
#include "../sched/units.h"
#include "../ucx.h"
#include "../watch/outages.h"
#include "../watch/trace.h"
#include "../watch/traffic.h"

#include <string>

namespace fuselink {

/**
 * What has failed on one rail, for people: adds up what its paths (PathHealth) and
 * lanes of messages tell, and says it in one line for each NIC, not for each of a
 * thousand peers, and in another when it is over.
 *
 * An episode begins when something is out of which nothing was said, and is over when
 * data goes over the rail again, or nothing of it is out. Nobody calls this for a
 * message or chunk that goes well. One thread at a time (the worker's).
 */
class RailHealth {
public:
    /** Hears of each change. */
    class Listener {
    public:
        virtual void on_health(unsigned rail, const NicHealth &health) = 0;

    protected:
        ~Listener() = default;
    };

    /** Where a path leads, or where messages went: a peer, and a rail by its number
     *  and name. */
    struct Far {
        uint64_t    peer;
        uint8_t     rail;
        std::string name;
    };

    /** Which rail it is, whose Traffic outlives this. */
    void begin(uint8_t index, std::string name, const Traffic &traffic)
    {
        index_   = index;
        name_    = std::move(name);
        traffic_ = &traffic;
    }
    /* They outlive the last call; null: nobody. */
    void tell(Listener *listener);
    void trace_to(Trace *trace) { trace_ = trace; }

    static NicState state_of(ucs_status_t why)
    {
        return why == UCS_ERR_ENDPOINT_TIMEOUT || why == UCS_ERR_TIMED_OUT ?
                   NicState::Silent : NicState::Broken;
    }
    NicHealth      health() const;
    const Outages &outages() const { return outages_; }

    /** The rail's link, of which somebody else says more. */
    void on_carrier(bool carries, sched::Nanos now);

    /* Lanes of messages. */
    void add_lane();
    void remove_lane();
    /** Bytes of messages that others take again, which broke here. */
    Count &messages_resent() { return outages_.messages_resent; }
    /** The peer has answered on another rail of ours, `to`. The lane broke at
     *  `since`. @param of_all  nothing came from the peer over any rail then: that is no
     *  fault of this one's */
    void messages_moved(const Far &to, ucs_status_t why, bool of_all, sched::Nanos since,
                        sched::Nanos now);

    /* Paths; PathHealth calls this. */
    void add_path();
    void remove_path();
    void path_broke(const Far &far, NicState why, sched::Nanos now);
    void path_out(NicState why, sched::Nanos now);
    void path_rests(sched::Nanos until);
    /** The peer knows that it broke; `say`: it is a fault of the wire. */
    void path_drained(const Far &far, NicState why, ucs_status_t status,
                      sched::Nanos since, bool say, sched::Nanos now);
    /** It was tried in vain, and nobody was told that it is out. */
    void path_stays_out(const Far &far, ucs_status_t status);
    /** It broke by no fault of the rail's, with something on it. It is not out. */
    void path_replaced(const Far &far, ucs_status_t status, sched::Nanos since,
                       sched::Nanos now);
    /** Data goes over it again. */
    void path_works(const Far &far, NicState why, sched::Nanos now);
    /** It is out no more. `real`: it was the rail's fault. */
    void path_over(NicState why, bool real, sched::Nanos now);
    /** Bytes of chunks that broke here go another way. */
    void chunks_resent(size_t bytes);

    /* Peers from which nothing has come for long, over this rail or any other,
     * although something waits for it here. */
    /** True if nothing was said of the rail: the caller warns of all such rails in one
     *  line. */
    bool peer_unheard(sched::Nanos since);
    void peer_heard(sched::Nanos since, sched::Nanos now);

    /** True if something new is to be said of the rail; from then on it was. */
    bool say();

    /** The interface closes: what is out has been so until now. */
    void close(sched::Nanos now);

    /** From progress, now and then. */
    void look(sched::Nanos now)
    {
        if (ucs_unlikely(lane_ != NicState::Up ||
                         shown_ != outages_.resent())) {
            look_closer(now);
        }
    }

private:
    bool out() const
    {
        return down_ || broken_ != 0 || silent_ != 0 || unheard_ != 0 ||
               lane_ != NicState::Up;
    }
    unsigned &count(NicState why)
    {
        return why == NicState::Silent ? silent_ : broken_;
    }
    void     begin_out(sched::Nanos now);
    void     end_out(sched::Nanos now);
    void     waited(sched::Nanos time);
    void     look_closer(sched::Nanos now);
    void     lane_over(sched::Nanos now);
    uint64_t moved() const
    {
        return traffic_->sent.chunks.value() +
               traffic_->received.chunks.value();
    }
    void note(Trace::Kind kind, sched::Nanos now, uint64_t peer, uint8_t remote,
              NicState why, sched::Nanos since);
    void changed();
    void say_failed(const Far &far, ucs_status_t status, bool say);

    uint8_t        index_ = 0;
    std::string    name_;
    const Traffic *traffic_  = nullptr;
    Listener      *listener_ = nullptr;
    Trace         *trace_    = nullptr;
    Outages        outages_;
    bool           down_   = false;
    bool           said_   = false; /* that something is out; */
    bool           said_unheard_ = false; /* and of peers that are not heard, of them all */
    bool           real_   = false; /* something was, by the rail's fault */
    unsigned       paths_  = 0;
    unsigned       lanes_  = 0;
    unsigned       broken_ = 0;     /* paths that are out */
    unsigned       silent_ = 0;
    unsigned       unheard_ = 0;    /* peers */
    sched::Nanos   until_;          /* paths rest */
    sched::Nanos   ended_;          /* the last episode */
    NicState       lane_   = NicState::Up; /* that of the last lane that broke */
    sched::Nanos   lane_since_;
    uint64_t       lane_chunks_ = 0;  /* by a moment after that; 0: not noted */
    uint64_t       shown_  = 0;     /* of what was sent again */
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_STALL_CLOCK_H
#define FUSELINK_SCHED_STALL_CLOCK_H

#include "units.h"

#include <algorithm>

namespace fuselink::sched {

/** What is known of one connection now, as instants of one clock; 0: never. */
struct StallView {
    Nanos now;

    /* The kernel's instants are true to so much, and waver by as much. */
    Nanos tick = Nanos::millis(10);
    Nanos slack; /* what silence has to last longer than usual */

    /* Its own. Acknowledgements are those that need no program at the other end: of
     * a kernel, or a NIC. */
    bool     in_flight = false; /* something sent is not acknowledged */
    bool     much = false; /* and so much that no kernel waits to acknowledge it */
    Nanos    acked_at;          /* the last acknowledgement of anything */
    Nanos    sent_at;           /* data last left, once more or for the first time */
    bool     sent_again = false; /* once more, as was seen; nothing was acknowledged meanwhile */
    Nanos    rtt, rtt_deviation;
    unsigned retransmits = 0;   /* time-outs in a row */
    bool     window_shut = false; /* the receiver has no room */
    unsigned probes = 0;        /* of a shut window, not answered yet */
    bool     carrier = true;    /* of the NIC here */
    bool     drops   = false;   /* packets, all the time, as was found out before */
    bool     loses   = false;   /* some, not long ago */
    unsigned wire_retries = 0;  /* of all between the two NICs: after time-outs, since the
                                   last acknowledgement there */
    bool     first   = false;   /* nothing that it has sent was ever acknowledged, or others of
                                   its NIC are so new */
    Nanos    rested;            /* nothing was under way for so long before that */

    /* A probe of the caller's between the same two NICs; and a question over this
     * connection, which the peer's program answers when it reads it. */
    Nanos    probed_at, answered_at, asked_at;

    /* Of others: the last acknowledgement between the same two NICs, and when something
     * last left there that is not acknowledged; the last thing that another path to the same
     * peer has completed, and that the peer's program has answered. */
    Nanos    pair_acked_at, pair_sent_at, peer_done_at, program_at;
};

/**
 * Decides whether a connection's wire still carries: long before the kernel's own
 * deadline, and never because the receiver is slow. One for each connection.
 *
 * A kernel acknowledges what comes whatever its program does: one that is stopped, in a
 * debugger or computing for an hour shuts its window, and still answers who asks for
 * room. So silence is the absence of acknowledgements while something is in flight, not
 * of progress. Silence is Dead when all of these hold:
 *
 * - It has lasted for the deadline: 25 ms and a tick, or three round trips and four
 *   deviations where that is more, as in deep queues (and longer where this process was wrong
 *   not long ago, see Slack); or 200 ms for the first data, and in the first half of a second
 *   of any connection of that NIC, whose round trips nobody has measured: they may meet queues
 *   on either way that were not there when the kernels connected. After a rest it is three
 *   times the rest, up to those 200 ms: others may have filled a queue meanwhile, as much as
 *   three NICs can that send to one. The kernel's instants are true to a tick of 1 to 10 ms
 *   and waver by as much, so that an acknowledgement is new only if it is a tick later than
 *   the last one, and much shorter deadlines would measure ticks.
 *   And 40 ms more where a kernel may wait so long: it does with what comes alone,
 *   and with what its program does not read, which may be busy, or have no processor.
 *   Where more than a segment is in flight, or the program was asked a question
 *   there a round trip ago, and it has answered something else in the second half and
 *   since then, and once more 8 ms later, so that it reads, there is nothing to wait for. One
 *   answer is not enough: one that has no processor of its own may have had its turn for a
 *   moment.
 * - It was watched. An observation counts for at most 8 ms: after a pause in which
 *   this process, or the whole machine, did not run, what has come meanwhile may be
 *   still to be processed.
 * - Two packets that left at different times are both unanswered. One alone may be the
 *   lost tail of a burst, which Linux sends again after 200 ms at the earliest if it
 *   was a single packet, and after two round trips otherwise (that is the second
 *   packet, also if it left before the first look, where somebody has seen the connection wait
 *   before that); after four time-outs of the kernel's its last try is enough, whatever was given
 *   to the connection since then. The caller's probe counts as one, so a lone connection needs it: from
 *   Suspect on the caller should send one, if there is a way between the two NICs
 *   that has room. Of independent losses of 1 in 1,000 two are 1 in a million, and
 *   each chance needs a connection on which nothing else passes for so long.
 * - Another path to the same peer has completed something in the second half of the
 *   silence, and not long ago: the peer's host is there. If all paths are silent, it may be the host, or
 *   this one; nothing is gained by giving up one after the other. That is for a
 *   longer deadline of the peer's.
 * - Between the same two NICs nothing else was acknowledged in that half. If
 *   something was, the wire was good, and a packet was lost or the wire fell silent a
 *   little later: Dead if all of this holds once more from then on; or after two
 *   time-outs of the kernel's in a row (0.6 s), as something in between keeps this very
 *   connection from passing; or after four (3 s) if packets of others were lost there not
 *   long ago: of a job's first bursts the same packet may be lost three times, before it is
 *   known that they are dropped all the time.
 * - Where packets are dropped all the time two are soon lost one after the other, of any
 *   connection: Dead after two time-outs only if none has heard anything for as long, though
 *   three packets were sent after time-outs since then, by any connections of this process
 *   (where others rest nothing is heard of a good wire, either); and after six (12.6 s) else.
 *
 * With a round trip of up to 1 ms and a look every millisecond a wire that falls
 * silent under traffic is Dead 26 to 45 ms after its last acknowledgement if the
 * peer's program runs, and 65 to 80 if not. With a carrier that is gone, at once. Reads
 * no clock, allocates nothing.
 */
class StallClock {
public:
    enum class Health : uint8_t {
        Fine,
        Suspect, /* silent for too long: give it nothing new, and probe it */
        Dead
    };

    static constexpr Nanos kDeadline   = Nanos::millis(25);
    static constexpr Nanos kFirst      = Nanos::millis(200);
    static constexpr Nanos kDelayedAck = Nanos::millis(40);
    /* If its program runs for so long, it has looked at all that came. */
    static constexpr Nanos kReads      = Nanos::millis(8);
    static constexpr Nanos kMostStep   = Nanos::millis(8);
    static constexpr int64_t kRested   = 3; /* times a rest that was longer than that */
    /* Two time-outs of a kernel's last so long, and these many. */
    static constexpr unsigned kTwo = 2, kThree = 3, kFour = 4, kMany = 6;
    static constexpr Nanos    kTwoTake = Nanos::millis(600), kFourTake = Nanos::seconds(3);
    /* A peer of which so long nothing was heard may not be there: it is asked all the time. */
    static constexpr Nanos    kThere     = Nanos::millis(500);
    /* Between two questions for room, each of which is answered. */
    static constexpr Nanos kRare       = Nanos::millis(1200);

    /** To be called every few milliseconds while anything is in flight. Instants do
     *  not go back. */
    Health look(const StallView &view) noexcept
    {
        const Nanos step = std::clamp(view.now - last_look_, Nanos(), kMostStep);
        last_look_       = view.now;
        if (!view.carrier) {
            return Health::Dead;
        }
        if (view.window_shut) {
            return look_at_shut(view, step);
        }
        shut_since_          = Nanos();
        const bool is_probed = view.probed_at > view.answered_at;
        const bool waits     = view.in_flight || is_probed;
        const Nanos heard    = std::max(view.acked_at, view.answered_at);
        if (!waits) {
            waits_ = false;
            return Health::Fine;
        }
        if (!waits_ || heard > own_.from + view.tick) {
            begin(view, heard);
        } else {
            own_.go_on(step, view.now);
        }
        const Nanos late = std::max(view.in_flight ? view.sent_at : Nanos(),
                                    is_probed ? view.probed_at : Nanos());
        own_.note_second(late, heard, view.tick);
        if (view.retransmits >= kFour && own_.second == Nanos()) {
            own_.second = view.sent_at; /* the kernel's others were not answered, either */
        }
        if (again_ && own_.second == Nanos() && view.sent_again && heard <= own_.from) {
            own_.second = own_.from;
        }
        if (view.pair_acked_at > wire_.from + view.tick) {
            wire_ = {view.pair_acked_at, Nanos(), Nanos()};
        } else {
            wire_.go_on(step, view.now);
        }
        wire_.note_second(std::max(late, view.pair_sent_at), view.pair_acked_at,
                          view.tick);
        drops_ = drops_ || view.drops;
        loses_ = loses_ || view.loses;
        note_program(view);
        return judge(view);
    }

    /** How long it has been silent, as far as somebody looked. */
    Nanos silence() const noexcept { return waits_ ? own_.lasts : Nanos(); }

    /** The same of all between the two NICs, of that time. */
    Nanos wire_silence() const noexcept { return waits_ ? wire_.lasts : Nanos(); }

    /** For so long before what it waits for nothing was under way: round trips that were
     *  measured before the rest say little of the queues that it meets now. */
    Nanos rested() const noexcept { return waits_ ? rested_ : Nanos(); }

    /** So long at least, and so long if the other kernel may wait. */
    static Nanos deadline(const StallView &view) noexcept
    {
        const Nanos known = std::max(kDeadline + view.tick,
                                     view.rtt * 3 + view.rtt_deviation * 4);
        const Nanos later = view.first ? kFirst : std::min(kFirst, view.rested * kRested);
        return view.slack + std::max(known, later);
    }
    /** What answers a packet has come by then. */
    static constexpr Nanos answer_within(Nanos rtt, Nanos deviation, Nanos tick) noexcept
    {
        return rtt * 2 + deviation * 4 + tick;
    }
    static Nanos longest(const StallView &view) noexcept
    {
        return deadline(view) + kDelayedAck;
    }

private:
    /* Nothing has come. */
    struct Silence {
        Nanos from;
        Nanos lasts;  /* as far as somebody looked */
        Nanos second; /* when that packet left, or probe; 0: none has */

        void go_on(Nanos step, Nanos now) noexcept
        {
            lasts = std::min(lasts + step, now - from);
        }

        /* A packet that left well after the first that is not answered, and after the
         * last answer, even one that does not count as new: what left with that one may
         * have been lost with it, in a queue that was full. */
        void note_second(Nanos late, Nanos heard, Nanos tick) noexcept
        {
            const Nanos after = std::max(from, heard) + tick;
            if (second < after) {
                second = late >= after ? late : Nanos();
            }
        }
    };

    /* Something has come, or begins to be in flight after nothing was. */
    void begin(const StallView &view, Nanos heard) noexcept
    {
        const Nanos from = waits_ ? heard :
                                    std::max({heard, view.sent_at, view.probed_at});
        own_    = {std::min(from, view.now), Nanos(), Nanos()};
        wire_   = own_;
        rested_ = waits_ ? Nanos() : own_.from - heard;
        waits_  = true;
        drops_  = false;
        loses_  = false;
        from_   = Nanos();
        runs_   = Nanos();
        again_  = view.sent_again && own_.from == view.sent_at;
    }

    /* It has answered something since so much is in flight, or since it could hear a
     * question, in the second half. What it says takes half of a round trip, and so does
     * the question. */
    void note_program(const StallView &view) noexcept
    {
        const bool asked = view.asked_at > own_.from;
        if (!view.much && !asked) {
            from_ = runs_ = Nanos();
            return;
        }
        if (from_ == Nanos()) {
            from_ = view.much ? view.now :
                                view.asked_at + view.rtt + view.rtt_deviation * 4;
        }
        if (runs_ == Nanos() &&
            view.program_at >= std::max(own_.from + deadline(view) / 2, from_)) {
            runs_ = view.program_at;
        }
    }

    Health judge(const StallView &view) const noexcept
    {
        if (own_.lasts < deadline(view) / 2) {
            return Health::Fine;
        }
        const bool  prompt = runs_ != Nanos() && view.program_at - runs_ >= kReads;
        const Nanos wait   = prompt ? deadline(view) : longest(view);
        return is_long(own_, view, wait) && is_proof(view, wait) ? Health::Dead :
                                                                   Health::Suspect;
    }

    /* With two packets that nobody has answered, and the peer's host there. */
    static bool is_long(const Silence &silence, const StallView &view,
                        Nanos wait) noexcept
    {
        const Nanos answer = answer_within(view.rtt, view.rtt_deviation, view.tick);
        return silence.lasts >= wait && silence.second != Nanos() &&
               view.now - silence.second >= answer &&
               view.peer_done_at >= silence.from + deadline(view) / 2 &&
               view.now - view.peer_done_at <= kThere;
    }

    bool is_proof(const StallView &view, Nanos wait) const noexcept
    {
        const Nanos half = deadline(view) / 2;
        if (!drops_) {
            /* The program may have stopped to run since it was seen to. */
            return std::max(wire_.from, view.pair_acked_at) < own_.from + half ||
                   view.retransmits >= (loses_ ? kFour : kTwo) ||
                   is_long(wire_, view, view.program_at >= wire_.from + half ?
                                            wait : longest(view));
        }
        return view.retransmits >= kMany ||
               (view.retransmits >= kTwo && view.wire_retries >= kThree &&
                view.now - view.pair_acked_at >= kTwoTake);
    }

    /* The kernel asks for room, after 0.2, 0.6 and 1.4 s, and so on. The other one answers
     * at once, whatever its program does, but Linux once in half a second alone
     * (tcp_oow_rate_limited): never the second, so that the third waits for its answer
     * beside it, and all connections of a peer's ask at one moment. Later two are proof:
     * each has had its half second. */
    Health look_at_shut(const StallView &view, Nanos step) noexcept
    {
        waits_ = false;
        if (view.probes == 0) {
            shut_since_ = Nanos();
            return Health::Fine;
        }
        if (shut_since_ == Nanos()) {
            shut_since_ = view.now;
            unanswered_ = second_ = Nanos();
        }
        if (view.probes < 2) {
            second_ = Nanos();
        } else if (second_ == Nanos()) {
            second_ = view.now;
        }
        const bool enough = view.probes >= 3 ||
                            (second_ != Nanos() && second_ - shut_since_ >= kRare);
        unanswered_       = enough ? unanswered_ + step : Nanos();
        return unanswered_ >= deadline(view) && view.peer_done_at > shut_since_ &&
                       view.pair_acked_at < shut_since_ ?
                   Health::Dead : Health::Suspect;
    }

    bool    waits_  = false;
    Nanos   rested_;
    bool    drops_  = false; /* the wire, since own_.from at least once */
    bool    loses_  = false; /* the same */
    Nanos   last_look_;
    Silence own_;        /* of the connection; */
    Silence wire_;       /* of all between the two NICs, since own_.from or later */
    bool    again_ = false; /* what left at own_.from did so for the second time */
    Nanos   from_;       /* its program would be heard by what it reads; 0: would not */
    Nanos   runs_;       /* it does, since then; 0: is not known */
    Nanos   shut_since_; /* a probe of a shut window is not answered since; 0: is */
    Nanos   second_;     /* another since then; 0: is */
    Nanos   unanswered_; /* for so long more than one, as far as somebody looked */
};

} // namespace fuselink::sched

#endif

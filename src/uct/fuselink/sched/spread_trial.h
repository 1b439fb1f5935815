/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_SPREAD_TRIAL_H
#define FUSELINK_SCHED_SPREAD_TRIAL_H

#include "units.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace fuselink::sched {

/**
 * Decides whether messages to one host go over several wires (MessageSpread), by trying
 * it: a second wire brings as much again where the first is the limit, and costs polls and
 * order where processors are. What is measured tells these apart badly: a kernel's round
 * trips grow with a busy processor as with a full wire.
 *
 * While segments wait on their way, it tries one and several in turn, for a few
 * milliseconds each and three times. A turn is measured when what was sent before it has
 * arrived, since what is sent in it stands behind that, and then what was sent by then: the
 * peer, which does as much, has begun later. It is measured from one arrival to another, and for
 * so long that as much has arrived as was on its way. If the worst turn of several is
 * better than the best one of one, by a margin, they are used, and that is tried again after
 * a while; a huge gain counts after one turn of each. As soon as it is not, the try is over, and
 * the next one comes ever later. What arrives at quite another speed than at the last decision
 * is other work: then it is tried again soon. A turn in which nothing arrived, or which was not
 * watched, proves nothing.
 *
 * Reads no clock, allocates nothing.
 */
class SpreadTrial {
public:
    /** How long a turn is measured, behind a while in which the turn before comes to its
     *  end, at least; and a gain that is clear after one turn of each. */
    struct Times {
        Nanos  turn   = Nanos::millis(8);
        Nanos  settle = Nanos::millis(4);
        double huge   = 1.7; /* or kNoGain */
        static constexpr double kNoGain = 1e9;
    };

    SpreadTrial() noexcept = default;
    explicit SpreadTrial(const Times &times) noexcept : times_(times) {}

    /** From time to time, some milliseconds apart while messages go: their bytes, since
     *  the beginning, those that were sent and those that have arrived. `queues`: segments
     *  wait on their way. `follows`: the peer does as much as was last returned, or sends
     *  nothing. Returns whether several are to be used until the next look. */
    bool look(Nanos now, Bytes sent, Bytes arrived, bool queues, bool follows = true) noexcept;
    /** Somebody else tries. */
    void stop(Nanos now) noexcept
    {
        if (state_ == State::Tries) {
            leave(now);
        }
    }
    /** What is sent now is other work than at the last decision. */
    void note_other_work(Nanos now) noexcept
    {
        until_ = std::min(until_, std::max(now, decided_ + soon_));
        other_ = true;
    }
    /** The same if nobody has looked for long. */
    void stop_unwatched(Nanos now) noexcept
    {
        if (now - looked_at_ >= kUnwatched) {
            stop(now);
        }
    }
    /** It has not decided. */
    bool tries() const noexcept { return state_ == State::Tries; }
    /** It has decided for several. */
    bool used() const noexcept { return state_ == State::On; }

    /** So many turns there are, those of one first. */
    static constexpr size_t kTurns = 6;
    /** A turn is over then, whatever was found; and if nobody has looked for so long. */
    static constexpr Nanos kLongestTurn = Nanos::millis(250);
    static constexpr Nanos kUnwatched   = Nanos::millis(20);
    /** For so long a turn waits for a peer that does not follow. */
    static constexpr Nanos kFollows     = Nanos::millis(30);
    /** The gain that is worth it; and one that is clear after fewer turns. */
    static constexpr double kGain        = 1.1;
    static constexpr double kClearGain   = 1.4;
    static constexpr size_t kFewestTurns = 4;
    /** What was found counts for so long, at least, and at most; if it was no gain, the same. */
    static constexpr Nanos kUsed        = Nanos::seconds(2);
    static constexpr Nanos kLongestUsed = Nanos::seconds(8);
    static constexpr Nanos kLeft       = Nanos::millis(500);
    static constexpr Nanos kLongestLeft = Nanos::seconds(8);
    /** Of other work: a speed so many times higher or lower; tried so long after the last
     *  decision, or later each time if that was no gain either. */
    static constexpr double kOther = 1.6;
    static constexpr Nanos  kSoon  = Nanos::millis(100);

private:
    enum class State { Off, Tries, On };

    void begin_turn(Nanos now, Bytes sent) noexcept;
    bool end_turn(Nanos now, Bytes sent, Bytes arrived, bool follows) noexcept;
    bool decide(Nanos now) noexcept;
    void end(State state, Nanos now, Nanos until, Rate speed) noexcept;
    /* Nothing is proved. */
    void leave(Nanos now) noexcept { end(State::Off, now, now + kSoon, {}); }
    void look_for_other_work(Nanos now, Bytes arrived) noexcept;

    const Times              times_{};
    State                    state_ = State::Off;
    Nanos                    until_; /* the next try */
    Nanos                    decided_;
    Rate                     speed_; /* then; 0: not known */
    Nanos                    soon_ = kSoon;
    bool                     other_ = false; /* tried for other work */
    Nanos                    used_ = kUsed;
    Nanos                    left_ = kLeft;
    size_t                   turn_ = 0;
    Nanos                    began_; /* this turn, */
    Bytes                    sent_;  /* and what is to arrive first */
    unsigned                 settled_ = 0; /* so often it has */
    Nanos                    looked_at_;
    Bytes                    last_;  /* had arrived by the last look */
    Nanos                    from_;  /* measured from then; 0: not yet, */
    Bytes                    arrived_; /* and what had arrived, */
    Bytes                    window_; /* and was on its way */
    std::array<Rate, kTurns> rates_{};
};

} // namespace fuselink::sched

#endif

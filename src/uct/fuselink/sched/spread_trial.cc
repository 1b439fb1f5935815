/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "spread_trial.h"

#include <algorithm>

namespace fuselink::sched {

void SpreadTrial::begin_turn(Nanos now, Bytes sent) noexcept
{
    began_   = now;
    sent_    = sent;
    settled_ = 0;
    from_    = {};
}

void SpreadTrial::end(State state, Nanos now, Nanos until, Rate speed) noexcept
{
    state_   = state;
    decided_ = now;
    until_   = until;
    speed_   = speed;
    from_    = {};
}

/* True if it is known after so many turns. */
bool SpreadTrial::decide(Nanos now) noexcept
{
    Rate one, several = rates_[1];
    for (size_t i = 0; i < turn_; i += 2) {
        one     = std::max(one, rates_[i]);
        several = std::min(several, rates_[i + 1]);
    }
    const bool last  = turn_ == kTurns;
    const bool other = other_;
    const double gain = last ? kGain : turn_ >= kFewestTurns ? kClearGain : times_.huge;
    if (several >= one * gain) {
        used_  = other ? kUsed : used_;
        end(State::On, now, now + used_, several);
        used_  = std::min(used_ * 2, kLongestUsed);
        left_  = kLeft;
        soon_  = kSoon;
        other_ = false;
        return true;
    }
    /* The turns to come could only make it less. */
    const bool lost = several < one * kGain;
    if (lost) {
        end(State::Off, now, now + left_, one);
        used_  = kUsed;
        left_  = other ? kLeft : std::min(left_ * 2, kLongestLeft);
        soon_  = other ? std::min(soon_ * 2, kLongestLeft) : soon_;
        other_ = false;
    }
    return lost;
}

/* Of so long at once that bursts are no other work: what was on its way comes and goes. */
void SpreadTrial::look_for_other_work(Nanos now, Bytes arrived) noexcept
{
    const Nanos bursts = speed_.is_zero() ? Nanos() : window_ / speed_ * 4;
    const Nanos span   = std::clamp(bursts, times_.turn * 2, kSoon);
    if (from_ == Nanos() || now - from_ > span * 2) {
        from_    = now;
        arrived_ = arrived;
    } else if (now - from_ >= span) {
        const Rate speed = (arrived - arrived_) / (now - from_);
        from_            = {};
        if (!speed.is_zero() && !speed_.is_zero() &&
            (speed > speed_ * kOther || speed * kOther < speed_)) {
            note_other_work(now);
        }
    }
}

/* True if it is over. */
bool SpreadTrial::end_turn(Nanos now, Bytes sent, Bytes arrived, bool follows) noexcept
{
    if (arrived == last_) {
        return false;
    }
    if (from_ == Nanos()) {
        if (arrived >= sent_ && settled_++ == 0) {
            sent_ = sent;
        } else if (arrived >= sent_ &&
                   now - began_ >= (follows ? times_.settle : kFollows)) {
            from_    = now;
            arrived_ = arrived;
            window_  = sent - arrived;
        }
        return false;
    }
    if (now - from_ < times_.turn || arrived - arrived_ < window_) {
        return false;
    }
    rates_[turn_] = (arrived - arrived_) / (now - from_);
    return true;
}

bool SpreadTrial::look(Nanos now, Bytes sent, Bytes arrived, bool queues,
                       bool follows) noexcept
{
    const bool watched = now - looked_at_ < kUnwatched;
    looked_at_         = now;
    if (state_ != State::Tries && now >= until_ &&
        (queues || state_ == State::On)) {
        state_ = State::Tries;
        turn_  = 0;
        begin_turn(now, sent);
    } else if (state_ != State::Tries) {
        look_for_other_work(now, arrived);
    } else if (!watched || now - began_ > kLongestTurn) {
        leave(now);
    } else if (end_turn(now, sent, arrived, follows)) {
        if (++turn_ % 2 != 0 || !decide(now)) {
            begin_turn(now, sent);
        }
    }
    last_ = arrived;
    return state_ == State::On || (state_ == State::Tries && turn_ % 2 != 0);
}

} // namespace fuselink::sched

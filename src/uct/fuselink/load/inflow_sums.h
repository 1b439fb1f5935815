/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_LOAD_INFLOW_SUMS_H
#define FUSELINK_LOAD_INFLOW_SUMS_H

#include "../sched/units.h"
#include "../wire/messages.h"

#include <array>
#include <cstdint>

namespace fuselink {

/**
 * What all peers have on their way to each of our rails, as they have said, and how many
 * they are. What one has said holds for a while.
 *
 * Sums are kept, so that who asks pays for what has changed and not for each peer of the
 * job. Belongs to the engine's thread; allocates nothing. Instants do not go back.
 */
class InflowSums {
public:
    using Loads = std::array<sched::Bytes, wire::kLoads>; /* by rail */

    InflowSums()                              = default;
    InflowSums(const InflowSums &)            = delete;
    InflowSums &operator=(const InflowSums &) = delete;

    /** What one peer has said. Not longer there than the sums; when it goes it counts no
     *  more. */
    class Share {
    public:
        Share()                         = default;
        Share(const Share &)            = delete;
        Share &operator=(const Share &) = delete;
        ~Share()
        {
            if (sums_ != nullptr) {
                sums_->remove(*this);
            }
        }

    private:
        friend class InflowSums;

        InflowSums  *sums_ = nullptr; /* that it counts in; null: it does not */
        Share       *before_ = nullptr, *after_ = nullptr;
        Loads        loads_{};
        sched::Nanos until_;
    };

    /** It has said this, which holds until then: not earlier than what was said before,
     *  by whomever. Nothing on its way to any rail: it counts as none. */
    void set(Share &share, const Loads &loads, sched::Nanos until)
    {
        if (share.sums_ != nullptr) {
            remove(share);
        }
        if (loads == Loads{}) {
            return;
        }
        share.sums_   = this;
        share.loads_  = loads;
        share.until_  = until;
        share.before_ = last_;
        share.after_  = nullptr;
        (last_ != nullptr ? last_->after_ : first_) = &share;
        last_ = &share;
        for (size_t i = 0; i < loads.size(); ++i) {
            all_[i] += loads[i];
        }
        ++senders_;
    }

    /** What does not hold any more counts no more. */
    void forget(sched::Nanos now)
    {
        while (first_ != nullptr && first_->until_ <= now) {
            remove(*first_);
        }
    }

    /** Of all, and of all but one, as of the last forget(). */
    sched::Bytes all(size_t rail) const { return all_[rail]; }
    sched::Bytes others(size_t rail, const Share &mine) const
    {
        return mine.sums_ == nullptr ? all_[rail] : all_[rail] - mine.loads_[rail];
    }

    /** With something on its way. */
    uint32_t senders() const { return senders_; }

private:
    void remove(Share &share)
    {
        (share.before_ != nullptr ? share.before_->after_ : first_) = share.after_;
        (share.after_ != nullptr ? share.after_->before_ : last_)   = share.before_;
        share.sums_ = nullptr;
        for (size_t i = 0; i < all_.size(); ++i) {
            all_[i] = all_[i] - share.loads_[i];
        }
        --senders_;
    }

    Loads    all_{};
    Share   *first_ = nullptr, *last_ = nullptr; /* those that count, the oldest first */
    uint32_t senders_ = 0;
};

} // namespace fuselink

#endif

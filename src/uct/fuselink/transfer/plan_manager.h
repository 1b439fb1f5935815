/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_PLAN_MANAGER_H
#define FUSELINK_TRANSFER_PLAN_MANAGER_H

#include "../sched/planner.h"
#include "../sched/units.h"
#include "../ucx.h"

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace fuselink {

class BulkSender;
class Rails;

/** Has the senders of an interface: one for each peer. */
class BulkSenders {
public:
    /** Calls fn for each of them, in an order that does not matter. */
    virtual void
    for_each_sender(const std::function<void(BulkSender &)> &fn) const = 0;

protected:
    ~BulkSenders() = default;
};

/**
 * Plans for the transfers of an interface that are under way to several peers at
 * once, as in an alltoallv. Links are our NICs and those of the peers, each
 * with what is on it already; peers on the same NIC share the link.
 *
 * A plan is followed only where it matters: if it would end clearly earlier
 * than dividing each transfer by the speeds of its NICs. That is so where some
 * peers are reached by fewer NICs than others, or where links are loaded
 * unequally; not in balanced traffic.
 *
 * One thread at a time (the worker's).
 */
class PlanManager {
public:
    /** The others outlive this, though they need not be there yet.
     *  @param wanted the policy follows plans */
    PlanManager(const Rails &rails, const BulkSenders &peers, bool wanted)
        : rails_(rails), peers_(peers), wanted_(wanted)
    {
    }

    /** A transfer begins. Small ones are not worth it. */
    void note(size_t length)
    {
        if (ucs_unlikely(wanted_ && length >= kLeast)) {
            due_ = true;
        }
    }
    /** Makes a plan if transfers have begun since the last one, and that was
     *  not just now. */
    void refresh(sched::Nanos now)
    {
        if (ucs_unlikely(due_) && now >= next_) {
            plan(now);
        }
    }

private:
    /* Shorter ones are over before it matters. */
    static constexpr size_t kLeast = 128 << 10;

    /* A NIC of peers, as far as we send there. */
    struct Receiver {
        sched::Rate  rate;
        sched::Bytes load;
    };

    /* A path in play. */
    struct Way {
        uint32_t    nic;      /* ours */
        uint32_t    receiver; /* in receivers_ */
        sched::Rate rate;
    };

    /* Who has something to send, and over which ways. */
    struct Sender {
        BulkSender *sender;
        size_t      first; /* in ways_ */
        size_t      ways;
    };

    void     plan(sched::Nanos now);
    bool     collect();
    void     see(const BulkSender &sender);
    bool     solve();
    uint32_t offer(const Sender &from, double &soonest);

    const Rails                    &rails_;
    const BulkSenders              &peers_;
    const bool                      wanted_;
    bool                            due_ = false;
    sched::Nanos                    next_;
    uint64_t                        followed_ = 0; /* plans, for the log */

    /* Of the plan that is being made. */
    std::unique_ptr<sched::Planner> planner_; /* once it is needed */
    std::vector<Sender>             senders_;
    std::vector<Way>                ways_;
    std::vector<Receiver>           receivers_;
    std::unordered_map<uint64_t, uint32_t> by_key_; /* where in receivers_ a NIC of peers is */
    std::vector<double>             rates_; /* bytes per second, by link */
    std::vector<double>             loads_; /* seconds, by link, unplanned */
};

} // namespace fuselink

#endif

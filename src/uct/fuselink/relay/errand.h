/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_ERRAND_H
#define FUSELINK_RELAY_ERRAND_H

#include "../registry/relay_registry.h"

#include <vector>

namespace fuselink {

/**
 * A job at an agent, for who has posted it: how long he waits. An agent's program
 * may be stopped at any moment, in the middle of a job as well, and go on an hour
 * later with what it was doing.
 */
class RelayErrand {
public:
    /** One that has not begun a job for so long is stopped, or its machine is
     *  busy: the job is taken back. */
    static constexpr sched::Nanos kLate = sched::Nanos::seconds(1);
    /** And one that has not ended it. No copy takes as long. */
    static constexpr sched::Nanos kStuck = sched::Nanos::seconds(2);
    /** So often it is asked whether the agent is alive. */
    static constexpr sched::Nanos kLook = sched::Nanos::millis(100);

    enum class Course {
        Wait,
        Done,
        Failed, /* and nothing more of it happens */
        Stuck   /* the agent has begun it, and may end it whenever it likes */
    };

    /** It is posted in this moment. */
    void begin(const RelayRegistry::SlotHandle &slot, sched::Nanos now)
    {
        slot_  = slot;
        posted_ = looked_ = now;
    }

    /** Takes it back if that is possible and it is late. `mine` is the entry of
     *  who asks. */
    Course look(RelayRegistry &registry, uint32_t mine, sched::Nanos now);

private:
    RelayRegistry::SlotHandle slot_{};
    sched::Nanos              posted_;
    sched::Nanos              looked_; /* whether the agent is alive */
};

/**
 * What was left with agents that got stuck (RelayErrand::Course::Stuck): slots of
 * theirs, and where in the host's memory they may still write to.
 */
class LeftBehind {
public:
    /** `host` is null if the agent only reads there. */
    void add(const RelayRegistry::SlotHandle &slot, char *host)
    {
        all_.push_back({slot, host});
    }
    bool empty() const { return all_.empty(); }
    /** Whether the agent at `entry` has something: it is no use asking it. */
    bool with(uint32_t entry) const;

    /** Gives back what agents have ended, or that those had who are gone. Calls
     *  ended(host) for each that was given with memory. */
    template <typename Ended>
    void look(RelayRegistry &registry, uint32_t mine, Ended &&ended)
    {
        for (size_t i = 0; i < all_.size();) {
            const One one = all_[i];
            if (!is_over(registry, one.slot, mine)) {
                ++i;
                continue;
            }
            all_[i] = all_.back();
            all_.pop_back();
            if (one.host != nullptr) {
                ended(one.host);
            }
        }
    }

private:
    struct One {
        RelayRegistry::SlotHandle slot;
        char                     *host;
    };

    static bool is_over(RelayRegistry                   &registry,
                        const RelayRegistry::SlotHandle &slot,
                        uint32_t mine);

    std::vector<One> all_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_FAULTS_H
#define FUSELINK_TEST_SIM_HARNESS_FAULTS_H

#include "actor.h"
#include "ledger.h"
#include "scenario.h"

#include <string>
#include <vector>

namespace fuselink {
class Engine;
}

namespace fuselink::sim {

struct QueuePair;

/** Has the faults of a scenario happen. */
class Faults {
public:
    Faults(const Scenario &scenario, World &world, Ledger &ledger)
        : scenario_(scenario), world_(world), ledger_(ledger)
    {
    }

    /** Before anything is opened: cables that are out. */
    void prepare();
    /** Each at its time, to these, by the numbers of their processes. */
    void begin(std::vector<Actor *> programs);
    /** Whatever lasts is over, and nothing more happens. */
    void end();
    /** All connections of this process break. */
    void break_own(const Fault &fault, uint64_t times);
    void break_all(Process &process);
    /** All endpoints are closed: what fuselink itself keeps is quiet, or will be
     *  when the NICs have given up what they have. */
    bool is_calm() const { return not_calm().empty(); }
    void check_calm() const;

private:
    std::string not_calm() const;
    std::string not_calm(Actor &program) const;
    Actor      *find(uint64_t uuid) const;
    bool        excused(Actor &one, uint64_t other) const;
    void happen(const Fault &fault);
    void silence(const Fault &fault, bool mute, bool deaf);
    void unplug(const Fault &fault);
    void excuse_silence(const Fault &fault);
    void note_loss()
    {
        world_.lost_at = world_.lost_at == 0 ? world_.time().now() :
                                               world_.lost_at;
    }
    void break_connection(const Fault &fault, bool bulk_only, Instant pause);
    bool is_bulk(const QueuePair &pair, const QueuePair &peer) const;
    bool break_stream(const Fault &fault, bool bulk_only);
    bool break_pair(const Fault &fault, bool bulk_only);
    void lag_pair(const Fault &fault, Instant pause);
    void break_lane(const Fault &fault, Instant pause);
    void break_datagrams(const Fault &fault, Instant pause);

    const Scenario      &scenario_;
    World               &world_;
    Ledger              &ledger_;
    std::vector<Actor *> programs_;
    bool                 over_ = false;
};

} // namespace fuselink::sim

#endif

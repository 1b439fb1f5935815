/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WATCH_EXIT_REPORT_H
#define FUSELINK_WATCH_EXIT_REPORT_H

#include "../sched/units.h"
#include "outages.h"
#include "totals.h"
#include "traffic.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace fuselink {

/**
 * The report that a process prints when it exits (UCX_FUSELINK_REPORT): adds up
 * what its engines moved. It costs nothing before: the counters are there
 * anyway. A process that is killed, or calls _exit(), prints none.
 *
 * Thread-safe.
 */
class ExitReport {
public:
    /** The one of this process, from the first call on.
     *  @param destination "stdout", "stderr", or the name of a file to append
     *         to, as JSON if it ends in ".json"; that of the first call holds
     *  @return nullptr, with a line, if it cannot be written there */
    static ExitReport *start(const std::string &destination,
                             std::string       &error);

    /** Something that moves bytes. Several of one name are one line. */
    struct Source {
        std::string   name;
        std::string   port; /* of the NIC; empty: there is none */
        Totals::Peers peers = Totals::Peers::OtherNodes;
        double        speed = 0;
        const Traffic *traffic = nullptr;
        const Outages *outages = nullptr; /* of what can fail */
    };
    /** `traffic` and `outages` are looked at until remove(). */
    void add(const Source &source);
    /** @param measured bytes per second, if known */
    void remove(const Traffic *traffic, double measured = 0);

    /** What there is so far. */
    Totals totals() const;

    /** For tests: one that is not written at exit. */
    explicit ExitReport(std::string destination);
    bool write(std::string &error) const;

private:
    struct Open {
        const Traffic *traffic;
        const Outages *outages;
    };
    struct Entry {
        Totals::Line               line; /* of those that are closed */
        std::string                port;
        std::optional<NicCounters> before;
        std::vector<Open>          open;
    };

    static void at_exit();

    mutable std::mutex           lock_;
    std::string                  destination_;
    int32_t                      pid_; /* a child of fork() has no report */
    sched::Nanos                 since_; /* by the machine's clock */
    std::vector<std::unique_ptr<Entry>> entries_; /* in order of appearance */
};

} // namespace fuselink

#endif

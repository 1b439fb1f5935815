/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_WATCH_CHECK_H
#define FUSELINK_TEST_SIM_HARNESS_WATCH_CHECK_H

#include "../fabric/process.h"
#include "../fabric/world.h"
#include "scenario.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fuselink {
class Rail;
}

namespace fuselink::sim {

class Program;

/**
 * What fuselink leaves for people to look at, a trace and the report at the end of
 * the process, held against what its rails have carried, and what it says of failures
 * against what the wires have seen. Both are files in memory,
 * one of each kind for all programs and runs.
 */
class WatchCheck {
public:
    WatchCheck(const Scenario &scenario, World &world,
               std::vector<std::unique_ptr<Program>> &programs)
        : scenario_(scenario), world_(world), programs_(programs)
    {
    }

    /** For the settings of that name. */
    static const std::string &trace_path();
    static const std::string &report_path();

    /** Before a program opens its interface; */
    void begin();
    /** before the first of those that are left closes it; */
    void note_traffic();
    /** and when all have.
     *  @param calm whatever was begun had ended before that */
    void check(bool calm);

private:
    struct Sum {
        uint64_t sent = 0, received = 0;
        /* What has failed. */
        uint64_t breaks = 0, moves = 0, resent = 0;

        bool operator==(const Sum &) const = default;
        std::string text() const;
        bool        covers(const Sum &other) const;
    };
    struct Broken { /* of streams of one rail */
        uint64_t sent = 0, breaks = 0, moves = 0, resent = 0; /* it says */
        StreamUse use; /* by the fabric */
    };
    using Sums = std::map<std::string, Sum>; /* by rail */

    static Sums reported();
    bool        was_late(Program &program, const Rail &rail) const;
    void        note_stream(Program &program, const Rail &rail);
    void        check_streams();
    void        check_lags();
    void        check_report(bool all);
    void        check_trace(bool all);

    const Scenario                        &scenario_;
    World                                 &world_;
    std::vector<std::unique_ptr<Program>> &programs_;
    Sums                                   before_, carried_;
    std::map<std::string, Broken>          streams_; /* by rail */
    bool                                   gone_ = false; /* some of them */
};

} // namespace fuselink::sim

#endif

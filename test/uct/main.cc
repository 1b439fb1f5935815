/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* UCT-level tests of component `fuselink`, through UCT's public interface. */

#include "cases/cases.h"

int main(int argc, char **argv)
{
    using namespace fltest;

    std::vector<Case> cases;
    for (auto group : {connect_cases, am_cases, pending_cases, rma_cases,
                       fence_cases, flush_cases, event_cases, rails_cases, sharing_cases,
                       native_cases, self_cases, failure_cases, leave_cases,
                       limits_cases, mend_cases, hostile_cases, settings_cases,
                       poller_cases, stream_cases, away_cases}) {
        for (Case &test : group()) {
            cases.push_back(std::move(test));
        }
    }
    return drive(argc, argv, cases);
}

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* What programs do with UCP, on fuselink alone unless a case says otherwise. */

#include "cases/cases.h"

int main(int argc, char **argv)
{
    using namespace fltest;

    std::vector<Case> cases;
    for (auto group : {tag_cases, match_cases, am_cases, stream_cases,
                       rma_cases, atomic_cases, many_cases, thread_cases,
                       wakeup_cases, close_cases, failure_cases,
                       listener_cases, lane_cases, share_cases}) {
        for (Case &test : group()) {
            cases.push_back(std::move(test));
        }
    }
    return drive(argc, argv, cases);
}

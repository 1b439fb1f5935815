/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_CASES_H
#define FUSELINK_TEST_CASES_H

#include "harness/case.h"

#include <vector>

namespace fltest {

/* One function for each file of this folder. */
std::vector<Case> tag_cases();
std::vector<Case> match_cases();
std::vector<Case> am_cases();
std::vector<Case> stream_cases();
std::vector<Case> rma_cases();
std::vector<Case> atomic_cases();
std::vector<Case> many_cases();
std::vector<Case> thread_cases();
std::vector<Case> wakeup_cases();
std::vector<Case> close_cases();
std::vector<Case> failure_cases();
std::vector<Case> listener_cases();
std::vector<Case> lane_cases();
std::vector<Case> share_cases();

/** Adds a case for each of UCX's protocol engines, NAME.old and NAME.new. Both
 *  sides run `both`. */
inline void for_engines(std::vector<Case> &cases, const std::string &name,
                        const std::function<void(Session &)> &both,
                        const std::vector<Setting> &settings = {})
{
    for (bool is_new : {false, true}) {
        Case test{name + (is_new ? ".new" : ".old"), both, both, settings};
        test.settings.push_back(
            {Side::Both, "UCX_PROTO_ENABLE", is_new ? "y" : "n"});
        cases.push_back(std::move(test));
    }
}

} // namespace fltest

#endif

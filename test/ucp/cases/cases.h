/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_CASES_H
#define FUSELINK_TEST_CASES_H

#include "../stack/engines.h"
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

} // namespace fltest

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_CASES_H
#define FUSELINK_TEST_CASES_H

#include "harness/case.h"

#include <vector>

namespace fltest {

/* One function for each file of this folder. A name's first part tells which
 * cluster it is for, see ../run. */
std::vector<Case> connect_cases();
std::vector<Case> am_cases();
std::vector<Case> pending_cases();
std::vector<Case> rma_cases();
std::vector<Case> fence_cases();
std::vector<Case> flush_cases();
std::vector<Case> failure_cases();
std::vector<Case> leave_cases();
std::vector<Case> limits_cases();
std::vector<Case> hostile_cases();
std::vector<Case> event_cases();
std::vector<Case> rails_cases();
std::vector<Case> sharing_cases();
std::vector<Case> native_cases();
std::vector<Case> mend_cases();
std::vector<Case> settings_cases();
std::vector<Case> self_cases();
std::vector<Case> poller_cases();
std::vector<Case> stream_cases();
std::vector<Case> away_cases();

} // namespace fltest

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_GPU_CASES_H
#define FUSELINK_TEST_GPU_CASES_H

#include "harness/case.h"
#include "stack/engines.h"

#include <vector>

namespace fltest {

/* One function for each file of this folder. */
std::vector<Case> gpu_tag_cases();
std::vector<Case> gpu_am_cases();
std::vector<Case> gpu_rma_cases();
std::vector<Case> gpu_mend_cases();

} // namespace fltest

#endif

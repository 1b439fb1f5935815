/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* What programs do with UCP and memory of GPUs. */

#include "cases/cases.h"

int main(int argc, char **argv)
{
    using namespace fltest;

    std::vector<Case> cases;
    for (auto group : {gpu_tag_cases, gpu_am_cases, gpu_rma_cases, gpu_mend_cases}) {
        for (Case &test : group()) {
            cases.push_back(std::move(test));
        }
    }
    return drive(argc, argv, cases);
}

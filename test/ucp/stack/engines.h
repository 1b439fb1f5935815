/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_ENGINES_H
#define FUSELINK_TEST_ENGINES_H

#include "harness/case.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fltest {

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

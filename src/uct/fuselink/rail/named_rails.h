/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_NAMED_RAILS_H
#define FUSELINK_RAIL_NAMED_RAILS_H

#include "../config/device_list.h"
#include "../rail/rail.h"
#include "../ucx.h"

#include <algorithm>

namespace fuselink {

/**
 * One line for each device that a setting names and that has no rail: most
 * likely it is misspelt. For settings that only say how rails are used.
 *
 * @param rails pointers to Rail, of whatever kind
 */
template <typename Rails>
void warn_of_no_rails(const char *variable, const DeviceList &list,
                      const Rails &rails)
{
    for (const auto &name : list.names()) {
        bool known = std::any_of(rails.begin(), rails.end(),
                                 [&](const auto &rail) {
                                     return rail->control().device() == name;
                                 });
        if (!known) {
            ucs_warn("%s: '%s' is not a rail", variable, name.c_str());
        }
    }
}

} // namespace fuselink

#endif

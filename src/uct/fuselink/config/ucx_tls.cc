/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucx_tls.h"

#include "../../../ucs_ext/split.h"

#include <algorithm>

namespace fuselink {

bool ucx_may_enable(const char *setting,
                    std::initializer_list<std::string_view> names)
{
    if (setting == nullptr || setting[0] == '^') {
        return true;
    }
    for (std::string_view name : split(setting)) {
        if (!name.empty() && name[0] == '\\') {
            name.remove_prefix(1); /* "only this, not what it entails" */
        }
        name = name.substr(0, name.find(':')); /* "only to connect" */
        if (std::find(names.begin(), names.end(), name) != names.end()) {
            return true;
        }
    }
    return false;
}

} // namespace fuselink

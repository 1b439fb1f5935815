/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "own_copy.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unistd.h>

namespace fuselink {

void use_own_copy(char **argv)
{
    const char *preload = getenv("LD_PRELOAD");
    if (preload == nullptr) {
        return;
    }
    std::string      others;
    bool             found = false;
    std::string_view left  = preload;
    while (!left.empty()) {
        size_t           end = std::min(left.find_first_of(" :"), left.size());
        std::string_view one = left.substr(0, end);
        if (one.find("libuct_fuselink.so") != one.npos) {
            found = true;
        } else if (!one.empty()) {
            others.append(others.empty() ? "" : ":").append(one);
        }
        left.remove_prefix(std::min(end + 1, left.size()));
    }
    if (found && setenv("LD_PRELOAD", others.c_str(), 1) == 0) {
        execv("/proc/self/exe", argv); /* if not, the transport says why */
    }
}

} // namespace fuselink

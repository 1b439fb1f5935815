/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_COMMON_NUMBER_LIST_H
#define FUSELINK_TOOLS_COMMON_NUMBER_LIST_H

#include <string_view>
#include <vector>

namespace fuselink {

/** Numbers as people write them, "0,2-5": in order, each once. False if it is no such list,
 *  is empty, or has a number above `most`. */
[[nodiscard]] bool parse_numbers(std::string_view text, unsigned most,
                                 std::vector<unsigned> &numbers);

} // namespace fuselink

#endif

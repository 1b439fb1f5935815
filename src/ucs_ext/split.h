/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_SPLIT_H
#define FUSELINK_UCS_EXT_SPLIT_H

#include <string_view>
#include <vector>

namespace fuselink {

/** What is between the commas of `text`, as it is, empty pieces included: one more
 *  than there are commas. For settings, not for fast paths. */
inline std::vector<std::string_view> split(std::string_view text)
{
    std::vector<std::string_view> pieces;
    for (;;) {
        size_t comma = text.find(',');
        pieces.push_back(text.substr(0, comma));
        if (comma == std::string_view::npos) {
            return pieces;
        }
        text.remove_prefix(comma + 1);
    }
}

} // namespace fuselink

#endif

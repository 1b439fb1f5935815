/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* The transports that can be rails in a simulation, in place of the library's
 * table: see rail/traits.h. */

#include "rail/traits.h"

namespace fuselink {
namespace {

constexpr RailTraits kTraits[] = {
    /* tl       component  bootstrap  ip     stream put    polls  keys   rx retry */
    {"sim_rc",  "sim",     "sim_ud",  false, false, true,  true,  true,  0, 67108},
    {"sim_ud",  "sim",     "",        false, false, false, true,  false, 0, 0},
    {"sim_tcp", "sim",     "",        true,  true,  true,  false, false, 0, 0},
};

} // namespace

const RailTraits *find_traits(std::string_view tl)
{
    for (const auto &traits : kTraits) {
        if (traits.tl == tl) {
            return &traits;
        }
    }
    return nullptr;
}

std::span<const RailTraits> all_traits()
{
    return kTraits;
}

} // namespace fuselink

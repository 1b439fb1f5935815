/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "traits.h"

namespace fuselink {
namespace {

/* tcp: uct_tcp_ep_put_zcopy() queues the completion until the peer's put
 * acknowledgement comes (src/uct/tcp/tcp_ep.c, the same from 1.13 to 1.22). */
constexpr RailTraits kTraits[] = {
    {"tcp", "tcp", true, true, true},
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

} // namespace fuselink

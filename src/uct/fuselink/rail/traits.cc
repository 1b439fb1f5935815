/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "traits.h"

namespace fuselink {
namespace {

/* UCX's own default is a second, and a lost last packet costs as much. Queues of NICs
 * are shorter than this by far; with 6 retries the NIC gives up after half a second, or
 * two: InfiniBand lets it take up to four times as long. It rounds up to a power of two
 * times 4.096 us, which this is. */
constexpr unsigned kRetry = 67108;

/*
 * In the order of preference, which is UCX's for few peers: a connection that
 * the NIC keeps itself, then datagrams, then the kernel.
 *
 * ib: an acknowledgement of a reliable connection (rc, dc) comes from the
 * remote NIC once it has the data, and whatever is sent to that process
 * afterwards by any way meets it in memory. ud has no put worth the name.
 *
 * tcp: uct_tcp_ep_put_zcopy() queues the completion until the peer's put
 * acknowledgement comes (src/uct/tcp/tcp_ep.c, the same from 1.13 to 1.22).
 */
constexpr RailTraits kTraits[] = {
    /* tl        component  bootstrap   ip     stream put    polls  keys   rx    retry */
    {"rc_mlx5",  "ib",      "ud_mlx5",  false, false, true,  true,  true,  4095, kRetry},
    {"dc_mlx5",  "ib",      "",         false, false, true,  true,  true,  4095, 0},
    {"rc_verbs", "ib",      "ud_verbs", false, false, true,  true,  true,  4095, kRetry},
    {"ud_mlx5",  "ib",      "",         false, false, false, true,  false, 0,    0},
    {"ud_verbs", "ib",      "",         false, false, false, true,  false, 0,    0},
    {"tcp",      "tcp",     "",         true,  true,  true,  false, false, 0,    0},
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

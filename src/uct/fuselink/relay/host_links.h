/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_HOST_LINKS_H
#define FUSELINK_RELAY_HOST_LINKS_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace fuselink {

/** A link between a GPU and the host, as one who has a piece to copy sees it:
 *  of his own GPU, or of one that lends its link. */
struct LinkView {
    uint64_t waiting; /* bytes of ours that it is to copy first */
    bool     open;    /* it takes one more now */
};

/**
 * The link that has the piece done first, all being about as fast: of links[0],
 * which is the own, and those that are lent. A lent one costs a hop between GPUs
 * first and a process that has to wake up, so it must be ahead by more than a
 * piece: then balanced and small traffic stays where it belongs.
 */
constexpr size_t choose_link(std::span<const LinkView> links, uint64_t length)
{
    size_t best = 0;
    for (size_t i = 1; i < links.size(); ++i) {
        uint64_t finish = links[i].waiting + length;
        if (links[i].open && finish < links[0].waiting &&
            (best == 0 || links[i].waiting < links[best].waiting)) {
            best = i;
        }
    }
    return best;
}

} // namespace fuselink

#endif

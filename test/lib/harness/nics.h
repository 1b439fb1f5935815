/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_NICS_H
#define FUSELINK_TEST_NICS_H

#include "case.h"
#include "channel.h"
#include "failure.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fltest {

/** Bytes sent by each NIC of this host, as the kernel counts them, headers and
 *  all: RDMA NICs, then nic0, nic1, ... */
class NicBytes {
public:
    /** Counts from now. */
    NicBytes() : start_(read()) {}

    /** Since then, in the NICs' order. */
    std::vector<uint64_t> sent() const;

private:
    static std::vector<uint64_t> read();

    std::vector<uint64_t> start_;
};

/** The rates of the cluster's NICs as the environment variable NIC_RATES tells
 *  them, "400,400,200,40", as parts of their sum; 0 for a NIC that is not to
 *  be used. */
std::vector<double> nic_shares();

/** Fails unless each NIC of `bytes` carried its share of them, give or take
 *  `slack` of the share. */
void require_shares(const std::vector<uint64_t> &bytes, double slack,
                    const char *what);

/** Moves data by `move()` on both sides, until `check(bytes)` does not fail for what the
 *  NICs have sent meanwhile at the side that `counts`: at most `most` times, and then it
 *  fails as that has. For what is right of a machine with nothing else to do: one that does
 *  something else at the wrong moment takes a NIC for slow. `Link` is of test/uct or
 *  test/ucp; both sides are through when this returns. */
template <typename Link, typename Move, typename Check>
void soon_right(Link &link, bool counts, unsigned most, Move &&move, Check &&check)
{
    for (bool again = true; again;) {
        std::string wrong;
        link.meet();
        NicBytes bytes;
        move();
        link.meet();
        if (counts) {
            try {
                check(bytes.sent());
            } catch (const Failed &failed) {
                wrong = failed.reason;
            }
        }
        --most;
        REQUIRE(wrong.empty() || most != 0, "%s", wrong.c_str());
        link.channel().send({static_cast<uint8_t>(!wrong.empty())});
        const Bytes theirs = link.channel().receive();
        again = !wrong.empty() || (theirs.size() == 1 && theirs[0] != 0);
    }
}

/** What UCX says where connections are refused, to a peer that is no more: by each
 *  NIC, twice, and once more to tell it that it has failed. */
LogLine refused_by_dead_peer(Side side);

} // namespace fltest

#endif

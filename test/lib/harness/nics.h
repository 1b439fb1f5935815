/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_NICS_H
#define FUSELINK_TEST_NICS_H

#include "case.h"

#include <cstdint>
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

/** What UCX says where connections are refused, to a peer that is no more: by each
 *  NIC, twice, and once more to tell it that it has failed. */
LogLine refused_by_dead_peer(Side side);

} // namespace fltest

#endif

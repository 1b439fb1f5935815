/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_LEFT_OUT_H
#define FUSELINK_RAIL_LEFT_OUT_H

#include <string>
#include <vector>

namespace fuselink {

/** A NIC port that is no rail, and why: for people who ask. */
struct LeftOut {
    std::string port;
    std::string why; /* begins small, no full stop */
    bool        for_good = true; /* else it may be one later */
};

using LeftOuts = std::vector<LeftOut>;

} // namespace fuselink

#endif

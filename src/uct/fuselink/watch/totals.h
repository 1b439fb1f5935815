/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WATCH_TOTALS_H
#define FUSELINK_WATCH_TOTALS_H

#include "../../../ucs_ext/nic_counters.h"
#include "identity.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselink {

/** What a process moved in all: the contents of its report. */
struct Totals {
    /* Gpu: a link between a GPU and the host, no way to a peer. */
    enum class Peers { OtherNodes, Node, Self, Gpu };

    struct Sum {
        uint64_t bytes  = 0;
        uint64_t chunks = 0;
    };
    struct Failures { /* see NicHealth */
        uint64_t breaks = 0;
        uint64_t moves  = 0;
        uint64_t resent = 0;       /* bytes */
        double   out    = 0;       /* seconds */
        double   longest_wait = 0; /* seconds */
    };
    struct Line {
        std::string name; /* tcp/eth0, posix/cma, self, own link */
        Peers       peers = Peers::OtherNodes;
        double      speed = 0;    /* reported times weight, bytes per second */
        double      measured = 0; /* at the end; 0: nothing was */
        Sum         sent; /* out of the GPU */
        Sum         received;
        Failures    failures; /* of rails */
        /* Of all programs, while the process had the NIC. */
        std::optional<NicCounters> nic;
    };

    Identity          who;
    double            seconds = 0;
    std::vector<Line> lines;

    /** Of the rails to other nodes: the largest load over capacity, divided by
     *  what it would be if all rails finished together. 1 is optimal; 0 if
     *  nothing moved. */
    double unevenness(Sum Line::*direction) const;

    /** A table for people. */
    std::string text() const;
    /** One JSON object in one line. */
    std::string json() const;

private:
    std::string failures_text() const;
    std::string gpu_text() const;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_TOP_TRAFFIC_H
#define FUSELINK_TOOLS_TOP_TRAFFIC_H

#include "reading.h"

namespace fuselink::top {

/** What moved between two readings. */
struct Traffic {
    /** The part of one process; `flow` is of the later reading. */
    struct Part {
        const Reading::Process *process = nullptr;
        const Reading::Flow    *flow    = nullptr;
        double                  rate    = 0; /* bytes per second */
    };
    /** A NIC in one direction. */
    struct Line {
        const Reading::Nic *nic = nullptr;
        Direction           direction = Direction::Out;
        double              rate      = 0; /* of all parts */
        double              of_speed  = 0; /* NaN: speed unknown */
        double              nic_rate  = 0; /* by the kernel; NaN: unknown */
        uint64_t            in_flight = 0;
        std::vector<Part>   parts; /* fastest first */
    };
    struct Totals { /* of a process */
        double   out      = 0;
        double   in       = 0;
        uint64_t borrowed = 0;
    };

    struct Link { /* of a GPU that is lent, bytes per second */
        double out = 0;
        double in  = 0;
        double nics_out = 0; /* of NICs beside it */
        double nics_in  = 0;
    };

    double              seconds = 0;
    std::vector<Line>   lines;  /* two per NIC, in the order of the reading */
    std::vector<Totals> totals; /* by process of the later reading */
    std::vector<Link>   gpu_links; /* by those of the later reading */
};

/** `after` must outlive what is returned. A process that is new in `after`
 *  counts from its beginning. */
Traffic compare(const Reading &before, const Reading &after);

} // namespace fuselink::top

#endif

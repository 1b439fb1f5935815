/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_SCALE_SCALE_H
#define FUSELINK_TEST_SIM_SCALE_SCALE_H

namespace fuselink::sim {

/** What one process's calls cost that is connected to so many others; real time, by this
 *  machine's clock. */
struct Cost {
    double poll;    /* ns: a call of progress that finds nothing */
    double look;    /* us: 128 such calls, one of which looks after everybody */
    double message; /* ns: a message of 8 bytes to one of eight peers, and its answer */
    double fence;   /* ns: a fence of the interface, and a flush, with nothing open */
    double put;     /* us: one of 32 kB, of 512 to all peers, or one to each, posted together */
};

/** False if connections do not come about, or something fails. */
bool measure_scale(unsigned peers, Cost &cost);

} // namespace fuselink::sim

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WATCH_IDENTITY_H
#define FUSELINK_WATCH_IDENTITY_H

#include <cstdint>
#include <string>

namespace fuselink {

/** This process, as a report or a trace calls it. */
struct Identity {
    std::string program;
    std::string host;
    std::string job;  /* as the launcher calls it; may be empty, */
    std::string rank; /* and so may this */
    int32_t     pid = 0;
    /* Tells processes of several hosts apart, 31 bits; hosts may have equal
     * pids. */
    uint32_t    number = 0;

    static Identity own();

    /** "app rank 3 (pid 12 on host0)" */
    std::string text() const;
};

} // namespace fuselink

#endif

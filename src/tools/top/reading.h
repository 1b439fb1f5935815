/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_TOP_READING_H
#define FUSELINK_TOOLS_TOP_READING_H

#include "../../ucs_ext/board.h"
#include "../../ucs_ext/nic_counters.h"
#include "uct/fuselink/registry/relay_registry.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselink::top {

/** What the load boards and the kernel say at one moment. All of it may be a
 *  lie of whoever wrote a board; it is bounded and printable. */
struct Reading {
    /** A NIC that somebody uses. */
    struct Nic {
        std::string name;
        uint64_t    speed = 0; /* bytes per second, as reported; 0: unknown */
        std::optional<NicCounters> counters; /* of all programs */
        std::optional<bool>        carrier = {};
    };
    /** An engine of a process: most have one. */
    struct Process {
        uid_t       owner = 0; /* of the board; with seat and id its identity */
        unsigned    seat  = 0;
        uint64_t    id    = 0;
        int32_t     pid   = 0; /* 0: of another PID namespace */
        std::string user;
        std::string program;
        std::string job;  /* as the launcher calls it, else a number */
        std::string rank; /* empty: unknown */
        Priority    priority = Priority::Normal;
    };
    /** What a process has on a NIC in one direction. */
    struct Flow {
        size_t    process = 0; /* index */
        size_t    nic     = 0; /* index */
        Direction direction = Direction::Out;
        uint64_t  in_flight = 0;
        uint64_t  completed = 0; /* since the process began */
        uint64_t  borrowed  = 0; /* of these, while the NIC was another's */
        bool      active    = false;
        bool      own       = false; /* it is the process's own NIC */
    };

    /** What has failed on a NIC, as a process has met it. */
    struct Rail {
        size_t    process = 0; /* index */
        size_t    nic     = 0; /* index */
        NicHealth health;

        /** Connections that broke are not tried again for so long, seconds. */
        double rests(int64_t now) const;
        /** Something was out for so long in all, seconds. */
        double out(int64_t now) const;
    };

    /** A GPU's link to the host that a process lends to others. */
    struct GpuLink {
        struct User { /* slots that one has now, by what they wait for */
            std::string who; /* program and pid */
            unsigned    hopping = 0; /* a copy between the GPUs */
            unsigned    waiting = 0; /* the lender */
            unsigned    copied  = 0; /* the link */
        };
        uid_t       owner = 0; /* of the registry; with id and entry its identity */
        uint32_t    entry = 0;
        uint64_t    id    = 0;
        int32_t     pid   = 0; /* 0: of another PID namespace */
        std::string user, program;
        std::string gpu; /* its UUID */
        uint32_t    slots = 0, slot_bytes = 0; /* 0 slots: when somebody asks */
        bool        needed = false; /* by the lender's own program */
        uint64_t    out = 0, in = 0; /* bytes copied for others, */
        uint64_t    nics_out = 0, nics_in = 0; /* and moved by NICs beside the GPU */
        std::vector<User> users;
    };

    int64_t              at = 0; /* Board::now() */
    size_t               boards = 0;
    std::vector<Nic>     nics; /* in the order of their names */
    std::vector<Process> processes;
    std::vector<Flow>    flows;
    std::vector<Rail>    rails;
    std::vector<GpuLink> gpu_links;
};

Reading read_boards(const std::vector<std::shared_ptr<const Board>> &boards,
                    int64_t now);

/** And what GPUs' links are lent. */
void add_gpu_links(const std::vector<std::shared_ptr<const RelayRegistry>> &registries,
                   Reading &reading);

const char *direction_name(Direction direction);
const char *priority_name(Priority priority);

} // namespace fuselink::top

#endif

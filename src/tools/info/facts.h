/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_INFO_FACTS_H
#define FUSELINK_TOOLS_INFO_FACTS_H

#include "../../ucs_ext/topology.h"
#include "../../ucs_ext/topology/paths.h"
#include "../../ucs_ext/topology/visible.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fuselink::info {

/** What the transport makes of this node, for a process that is bound as this
 *  one is and has its settings. */
struct Facts {
    struct Setting {
        std::string name; /* UCX_FUSELINK_... */
        std::string value;
        bool        given = false; /* in the environment */
    };
    struct Rail {
        std::string port;
        std::string transport;
        double      reported = 0; /* bytes per second */
        double      speed    = 0; /* that times its weight */
        int         numa_node = -1;
        Topology::Place place = Topology::Place::Unknown;
        bool        near     = true; /* taken first, else being equal */
        bool        standby  = false; /* rests while others reach the peer */
        bool        by_ip    = false; /* the kernel moves its data: no RDMA */
        bool        by_messages = false; /* bulk data, for lack of puts */
        bool        reads    = false; /* the NIC reads a peer's memory */
        std::string no_gpu_direct; /* why it does not read that of GPUs; empty:
                                      it does, */
        bool        far_gpus = false; /* also where other rails are nearer */
        /* The load board's word on other processes, now. */
        unsigned    users     = 0;
        uint64_t    in_flight = 0;
        std::string owner; /* whose own NIC it is; empty: nobody's */
    };
    struct Missing {
        std::string port;
        std::string why;
    };
    struct Gpus {
        topology::Devices devices;
        topology::Visible visible;
        /* The NIC of each rail; none if nobody has seen it. */
        std::vector<std::optional<size_t>> rail_nics;

        /** As nic_paths, over the NICs of rails. */
        std::vector<topology::NicPath> paths(size_t gpu) const;
        /** The first rail on a NIC. */
        size_t rail_of(size_t nic) const;
        /** CUDA's number of a GPU, for a process like this one; none if it does
         *  not see it, or only CUDA knows. */
        std::optional<size_t> cuda_number(size_t gpu) const;
    };
    /** A transfer, alone on idle NICs of the reported speeds. */
    struct Example {
        uint64_t              size = 0;
        std::vector<uint64_t> bytes; /* by rail */
    };

    std::string host;
    std::string cpus; /* that the process may run on, "0-3,8" */
    std::vector<Setting> settings;
    std::string policy;
    std::vector<Rail>    rails;
    std::vector<Missing> left_out;
    Gpus                 gpus;
    std::vector<Example> examples;
    std::string node_messages; /* transport for peers of this node; empty: the
                                  rails */
    std::string node_bulk;
    bool        thread = false; /* data moves while the program computes, */
    std::string thread_why;     /* as that was decided so: continues a sentence */
    bool        board = false; /* one of this user is in use */
    std::vector<std::string> notes; /* what the transport has warned of */
};

const char *place_name(Topology::Place place);

} // namespace fuselink::info

#endif

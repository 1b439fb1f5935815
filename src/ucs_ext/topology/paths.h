/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_PATHS_H
#define FUSELINK_UCS_EXT_TOPOLOGY_PATHS_H

#include "devices.h"

#include <vector>

namespace fuselink::topology {

/** A GPU over whose memory data may go on its way between another and a NIC. */
struct Relay {
    size_t     gpu;
    Connection connection; /* between it and the NIC */
    NvLink     hop;        /* between it and the GPU that has the data */
    double     rate;       /* bytes/s of all of the way, 0 is unknown */
};

/** How a GPU's data gets to a NIC, or from it. */
struct NicPath {
    enum class Way {
        Direct, /* no NIC is nearer to this GPU */
        Relay,  /* better over relays[0], which is nearer to the NIC */
        Far     /* others are nearer, and no GPU helps */
    };

    size_t     nic;
    Way        way;
    Connection connection; /* between the GPU itself and the NIC */
    double     rate;       /* bytes/s without a relay; 0 is unknown */
    /* Best first. Also those of a direct NIC, if they are nearer to it than
     * the GPU is, as where NICs are shared by GPUs of several switches. */
    std::vector<Relay> relays;

    /** The rate of the way that was chosen. */
    double best_rate() const
    {
        return way == Way::Relay ? relays[0].rate : rate;
    }
};

const char *name(NicPath::Way way);

/**
 * NICs as GPU `gpu` of `devices` should use them, best first: those that are
 * nearest; those that another GPU is nearer to, to which there is NVLink; the rest.
 *
 * A GPU can relay if NVLink leads there, access is not refused in either direction,
 * it is not divided (MIG), and it is nearer to the NIC. None for a GPU that is
 * divided itself. Depends on nothing but its arguments.
 */
std::vector<NicPath> nic_paths(const Devices &devices, size_t gpu,
                               const std::vector<size_t> &nics);
/** Of all NICs. */
std::vector<NicPath> nic_paths(const Devices &devices, size_t gpu);

} // namespace fuselink::topology

#endif

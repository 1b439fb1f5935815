/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_CANDIDATES_H
#define FUSELINK_RAIL_CANDIDATES_H

#include "../config/device_list.h"
#include "../host/network.h"
#include "left_out.h"
#include "uct_objects.h"
#include "traits.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselink {

/** A NIC port that may become a rail, with the transport chosen for it. */
struct RailCandidate {
    UctMd            *md = nullptr;
    const RailTraits *traits = nullptr;
    std::string       device;
    ucs_sys_device_t  sys_device = UCS_SYS_DEVICE_ID_UNKNOWN;
    double            weight = 1;
    bool              named  = false;  /* by the user, so no second thoughts */
    unsigned          memory = kNoMemory; /* slot in NicMemory */

    static constexpr unsigned kNoMemory = 0xff;
};

/** What the user says about rails. */
struct RailChoice {
    DeviceList                     devices;
    WeightList                     weights;
    std::vector<const RailTraits *> tls; /* best first */
};

/** Reads a list of transports for rails, best first; "all" is every one that
 *  fuselink knows. False with an error text if it is malformed. */
bool parse_rail_tls(std::string_view text,
                    std::vector<const RailTraits *> &tls, std::string &error);

/**
 * The NIC ports that become rails: each port once, with the best transport
 * that it has. A network interface whose port an RDMA device drives is that
 * device, unless it is named. In the same order in all processes of like
 * nodes.
 *
 * Those that do not are added to `left_out`. Fails with one line if a port is
 * named that is not there.
 */
ucs_status_t find_candidates(Network &network,
                             const std::vector<std::unique_ptr<UctMd>> &mds,
                             const RailChoice &choice,
                             std::vector<RailCandidate> &candidates,
                             LeftOuts &left_out);

/** What a network interface that has a link and an address now would be as a rail, though it
 *  was none when the rails were opened; nothing if it is to be none. From any thread. */
using FindLate = std::function<std::optional<RailCandidate>(const std::string &device)>;

/** Such: by the rules of find_candidates(), without asking UCX for all devices, which takes
 *  half of a second with 200 of them. None that is an RDMA port's own, if RDMA ports may be
 *  rails, nor one with no neighbour in its subnet. */
std::optional<RailCandidate>
find_late_candidate(Network &network, const std::vector<std::unique_ptr<UctMd>> &mds,
                    const RailChoice &choice, const std::string &device);

} // namespace fuselink

#endif

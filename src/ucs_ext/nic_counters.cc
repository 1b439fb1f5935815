/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "nic_counters.h"

#include "net.h"

#include <fstream>

namespace fuselink {
namespace {

/* Two files with a number each, times `unit`. */
std::optional<NicCounters> read_pair(const std::string &folder,
                                     const char *sent, const char *received,
                                     uint64_t unit)
{
    NicCounters   counters;
    std::ifstream out(folder + "/" + sent), in(folder + "/" + received);
    if (!(out >> counters.sent) || !(in >> counters.received)) {
        return {};
    }
    counters.sent     *= unit;
    counters.received *= unit;
    return counters;
}

std::optional<NicCounters> of_interface(const std::string &name)
{
    return read_pair("/sys/class/net/" + name + "/statistics", "tx_bytes",
                     "rx_bytes", 1);
}

/* A name from a hostile board must not lead to other files. */
bool is_name(const std::string &port)
{
    size_t colon = port.find(':');
    return !port.empty() && port[0] != '.' && port.size() <= 64 &&
           port.find('/') == std::string::npos &&
           (colon == std::string::npos || port[colon + 1] != '.');
}

std::string rdma_folder(const std::string &port, size_t colon)
{
    return "/sys/class/infiniband/" + port.substr(0, colon) + "/ports/" +
           port.substr(colon + 1);
}

} // namespace

std::optional<NicCounters> read_nic_counters(const std::string &port)
{
    if (!is_name(port)) {
        return {};
    }
    size_t colon = port.find(':');
    if (colon == std::string::npos) {
        return of_interface(port);
    }
    /* In words of 32 bits, by the InfiniBand specification. */
    auto counters = read_pair(rdma_folder(port, colon) + "/counters",
                              "port_xmit_data", "port_rcv_data", 4);
    if (!counters) {
        auto behind = net::rdma_netdevs(port);
        if (behind.size() == 1) {
            counters = of_interface(behind[0]);
        }
    }
    return counters;
}

std::optional<bool> read_nic_carrier(const std::string &port)
{
    if (!is_name(port)) {
        return {};
    }
    size_t        colon = port.find(':');
    bool          rdma  = colon != std::string::npos;
    std::ifstream file(rdma ? rdma_folder(port, colon) + "/state" :
                              "/sys/class/net/" + port + "/carrier");
    int state; /* 0 or 1; of RDMA "4: ACTIVE", "5: ACTIVE_DEFER" */
    if (!(file >> state)) {
        return {};
    }
    return rdma ? state == 4 || state == 5 : state != 0;
}

} // namespace fuselink

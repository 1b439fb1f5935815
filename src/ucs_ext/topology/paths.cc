/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "paths.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <tuple>

namespace fuselink::topology {
namespace {

/* The slowest of those that are known. */
double slowest(std::initializer_list<double> rates)
{
    double least = 0;
    for (double rate : rates) {
        if (rate > 0 && (least == 0 || rate < least)) {
            least = rate;
        }
    }
    return least;
}

bool can_relay(const Devices &devices, size_t gpu, size_t relay)
{
    return relay != gpu && !devices.gpu(relay).mig &&
           devices.nvlink(gpu, relay).there() &&
           devices.peer_access(gpu, relay) != PeerAccess::No &&
           devices.peer_access(relay, gpu) != PeerAccess::No;
}

/* By what is between it and the NIC; then the faster hop, of which no figure is
 * the least; then by number, so that there is one answer. */
auto order(const Relay &relay)
{
    return std::make_tuple(relay.connection, -relay.hop.rate,
                           -static_cast<double>(relay.hop.links), relay.gpu);
}

std::vector<Relay> relays_to(const Devices &devices, size_t gpu, size_t nic)
{
    std::vector<Relay> relays;
    const Nic         &to = devices.nic(nic);
    for (size_t other = 0; other < devices.gpus(); ++other) {
        Connection there = devices.to_nic(other, nic);
        if (there < devices.to_nic(gpu, nic) &&
            can_relay(devices, gpu, other)) {
            const NvLink &hop = devices.nvlink(gpu, other);
            relays.push_back({other, there, hop,
                              slowest({hop.rate, devices.gpu(other).pcie,
                                       to.pcie, to.rate})});
        }
    }
    std::sort(relays.begin(), relays.end(),
              [](const Relay &x, const Relay &y) {
                  return order(x) < order(y);
              });
    return relays;
}

auto order(const NicPath &path)
{
    bool relayed = path.way == NicPath::Way::Relay;
    return std::make_tuple(path.way,
                           relayed ? path.relays[0].connection :
                                     path.connection,
                           -path.best_rate(), path.nic);
}

} // namespace

const char *name(NicPath::Way way)
{
    return way == NicPath::Way::Direct ? "direct" :
           way == NicPath::Way::Relay  ? "relay" : "far";
}

std::vector<NicPath> nic_paths(const Devices &devices, size_t gpu)
{
    std::vector<size_t> all(devices.nics());
    std::iota(all.begin(), all.end(), 0);
    return nic_paths(devices, gpu, all);
}

std::vector<NicPath> nic_paths(const Devices &devices, size_t gpu,
                               const std::vector<size_t> &nics)
{
    std::vector<NicPath> paths;
    if (gpu >= devices.gpus() || devices.gpu(gpu).mig) {
        return paths;
    }
    Connection nearest = Connection::Unknown;
    for (size_t nic : nics) {
        nearest = std::min(nearest, devices.to_nic(gpu, nic));
    }
    for (size_t nic : nics) {
        const Nic &to = devices.nic(nic);
        NicPath    path{nic, NicPath::Way::Far, devices.to_nic(gpu, nic),
                     slowest({devices.gpu(gpu).pcie, to.pcie, to.rate}),
                     relays_to(devices, gpu, nic)};
        path.way = path.connection == nearest ? NicPath::Way::Direct :
                   !path.relays.empty()       ? NicPath::Way::Relay :
                                                NicPath::Way::Far;
        paths.push_back(std::move(path));
    }
    std::sort(paths.begin(), paths.end(),
              [](const NicPath &x, const NicPath &y) {
                  return order(x) < order(y);
              });
    return paths;
}

} // namespace fuselink::topology

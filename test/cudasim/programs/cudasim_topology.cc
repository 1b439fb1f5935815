/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/*
 * cudasim_topology FILE: checks a topology file and prints what contrib/cluster
 * needs of it, "gpus N" and "nics RATE,RATE,..."; with --links all links and
 * their rates in bytes/s instead; with --places GPUS NICS where the first of
 * each are and what joins them, as UCX_FUSELINK_TOPOLOGY takes it, of a host
 * whose NICs are nic0, nic1, ...
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sim/topology.h"

using cudasim::Topology;

namespace {

void print_links(const Topology &topology)
{
    for (const cudasim::Link &link : topology.links()) {
        printf("%s %llu\n", link.name.c_str(),
               static_cast<unsigned long long>(link.rate));
    }
}

void print_counts(const Topology &topology)
{
    printf("gpus %zu\n", topology.gpus().size());
    const char *separator = "nics ";
    for (const cudasim::Nic &nic : topology.nics()) {
        printf("%s%s", separator, nic.rate.c_str());
        separator = ",";
    }
    printf("%s", topology.nics().empty() ? "" : "\n");
}

/* Of a link, by its number: "12500000B/s" or "none". */
std::string rate_of(const Topology &topology, unsigned link)
{
    auto rate = topology.links()[link].rate;
    return rate == 0 ? "none" : std::to_string(rate) + "B/s";
}

void print_nvlinks(const Topology &topology)
{
    const auto &gpus = topology.gpus();
    if (topology.has_switch()) {
        printf("nvswitch %s\n",
               rate_of(topology, static_cast<unsigned>(gpus[0].port_out))
                   .c_str());
    }
    for (int a = 0; a < static_cast<int>(gpus.size()); ++a) {
        for (int b = a + 1; b < static_cast<int>(gpus.size()); ++b) {
            unsigned link = topology.route(a, b).links[0];
            /* A link of their own has the name of its far end. */
            if (topology.links()[link].name.ends_with(".gpu" +
                                                      std::to_string(b))) {
                printf("nvlink %d %d %s\n", a, b,
                       rate_of(topology, link).c_str());
            }
        }
    }
}

void print_places(const Topology &topology, size_t nics)
{
    const auto &gpus = topology.gpus();
    print_nvlinks(topology);
    for (size_t i = 0; i < gpus.size(); ++i) {
        printf("numa %d gpus %zu\npcie %zu %s\n", gpus[i].numa, i, i,
               rate_of(topology, static_cast<unsigned>(gpus[i].pcie_up))
                   .c_str());
    }
    nics = topology.nics().empty() ? nics :
                                     std::min(nics, topology.nics().size());
    for (size_t i = 0; i < nics; ++i) {
        cudasim::Nic nic = topology.nics().empty() ? cudasim::Nic() :
                                                     topology.nics()[i];
        printf("numa %d nics nic%zu\n", nic.numa, i);
        if (nic.gpu >= 0 && nic.gpu < static_cast<int>(gpus.size())) {
            printf("near nic%zu %d\n", i, nic.gpu);
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    const bool  links  = argc == 3 && strcmp(argv[1], "--links") == 0;
    const bool  places = argc == 5 && strcmp(argv[1], "--places") == 0;
    std::string error;
    if (argc != 2 && !links && !places) {
        fprintf(stderr, "usage: cudasim_topology [--links] FILE\n"
                        "       cudasim_topology --places GPUS NICS FILE\n");
        return 2;
    }
    auto topology = Topology::load(argv[argc - 1], error);
    if (!topology) {
        fprintf(stderr, "%s\n", error.c_str());
        return 1;
    }
    if (places) {
        if (!topology->keep(static_cast<unsigned>(atoi(argv[2])))) {
            fprintf(stderr, "GPUS '%s': accepted: 1 to %zu\n", argv[2],
                    topology->gpus().size());
            return 2;
        }
        print_places(*topology, static_cast<size_t>(atoi(argv[3])));
    } else if (links) {
        print_links(*topology);
    } else {
        print_counts(*topology);
    }
    return 0;
}

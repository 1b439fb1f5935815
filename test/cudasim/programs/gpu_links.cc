/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/*
 * gpu_links [SECONDS]: what the links between this host's emulated GPUs carry,
 * a line for each link that carried anything: bytes so far or, with SECONDS, in
 * that time, then MB/s and the part of the link's rate. The counts begin when the
 * first process opens the GPUs, and end with the last one.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "sim/clock.h"
#include "sim/node.h"
#include "sim/topology.h"

using namespace cudasim;

namespace {

std::vector<uint64_t> read_links(const Topology &topology, const Node &node)
{
    std::vector<uint64_t> bytes;
    for (unsigned i = 0; i < topology.links().size(); ++i) {
        bytes.push_back(node.carried(i));
    }
    return bytes;
}

void print(const Topology &topology, const std::vector<uint64_t> &before,
           const std::vector<uint64_t> &after, double seconds)
{
    for (size_t i = 0; i < after.size(); ++i) {
        const Link &link  = topology.links()[i];
        uint64_t    bytes = after[i] - before[i];
        if (bytes == 0) {
            continue;
        }
        printf("%-24s %llu", link.name.c_str(),
               static_cast<unsigned long long>(bytes));
        if (seconds > 0) {
            double rate = static_cast<double>(bytes) / seconds;
            printf("  %.1f MB/s", rate / 1e6);
            if (link.rate != 0) {
                printf("  %.0f%%", 100 * rate / static_cast<double>(link.rate));
            }
        }
        printf("\n");
    }
}

} // namespace

int main(int argc, char **argv)
{
    double      seconds = argc == 2 ? atof(argv[1]) : 0;
    const char *file    = getenv("CUDASIM_TOPOLOGY");
    std::string error;
    if (argc > 2 || (argc == 2 && !(seconds > 0 && seconds < 86400))) {
        fprintf(stderr, "usage: gpu_links [SECONDS]\n");
        return 2;
    }
    auto topology = Topology::load(file != nullptr ? file : "", error);
    if (!topology) {
        fprintf(stderr, "gpu_links: CUDASIM_TOPOLOGY=%s\n", error.c_str());
        return 1;
    }
    auto node = Node::open(*topology, Node::Role::Watcher, error);
    if (node == nullptr) {
        fprintf(stderr, "gpu_links: %s\n", error.c_str());
        return 1;
    }
    std::vector<uint64_t> before(topology->links().size(), 0);
    uint64_t              start = now_ns();
    if (seconds > 0) {
        before = read_links(*topology, *node);
        timespec time;
        time.tv_sec  = static_cast<time_t>(seconds);
        time.tv_nsec = static_cast<long>(
            (seconds - static_cast<double>(time.tv_sec)) * 1e9);
        nanosleep(&time, nullptr);
    }
    auto after = read_links(*topology, *node);
    print(*topology, before, after,
          seconds > 0 ? static_cast<double>(now_ns() - start) / 1e9 : 0);
    return 0;
}

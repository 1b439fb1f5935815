/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_TOPOLOGY_H
#define FUSELINK_CUDASIM_TOPOLOGY_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudasim {

constexpr unsigned kMaxGpus  = 32;
constexpr unsigned kMaxNics  = 16;
constexpr unsigned kMaxSockets = 64;
constexpr unsigned kMaxLinks   = 2 * kMaxGpus + 2 * kMaxGpus + kMaxGpus + kMaxSockets +
                               kMaxGpus * (kMaxGpus - 1);

/** One direction of something that carries copies. */
struct Link {
    std::string name;
    uint64_t    rate; /* bytes/s; 0 means without a limit */
};

/** The links that a copy occupies all at once; twice, one that it uses twice. */
struct Route {
    static constexpr unsigned kMaxLength = 4;

    unsigned links[kMaxLength];
    unsigned length = 0;

    void add(int link)
    {
        if (link >= 0) {
            links[length++] = static_cast<unsigned>(link);
        }
    }
};

constexpr int kHost = -1; /* in place of the number of a GPU */

struct Gpu {
    uint64_t memory   = 1ul << 30;
    int      numa     = 0;
    int      pcie_up  = -1; /* numbers of links, -1 where there is none */
    int      pcie_down = -1;
    int      port_out = -1; /* to and from the NVLink switch */
    int      port_in  = -1;
    int      inner    = -1; /* copies within the GPU */
};

struct Nic {
    std::string rate; /* as contrib/cluster takes it */
    int         numa = 0;
    int         gpu  = -1; /* that it shares a PCIe switch with */
};

/**
 * The GPUs of a node and what connects them, from a topology file;
 * docs/gpu-emulator.md describes it.
 */
class Topology {
public:
    static std::optional<Topology> parse(std::string_view text,
                                         std::string &error);
    static std::optional<Topology> load(const std::string &path,
                                        std::string &error);

    const std::vector<Gpu>  &gpus() const { return gpus_; }
    const std::vector<Nic>  &nics() const { return nics_; }
    const std::vector<Link> &links() const { return links_; }
    unsigned capability() const { return capability_; } /* 80 is 8.0 */
    uint64_t latency_ns() const { return latency_ns_; } /* of every copy */

    /** The same for all processes that have the same file. */
    uint64_t hash() const { return hash_; }

    /** From the memory of one GPU (or kHost) to another's. The host's memory is that at
     *  the GPU's socket.
     *  @param peer may one reach the other? If not, through the host. */
    Route route(int from, int to, bool peer = true) const;

    /** Can a GPU reach another's memory? */
    bool peers(int a, int b) const;

    /** GPUs or, with the switch, all GPUs at the other end of NVLinks. */
    std::vector<int> nvlink_ends(int gpu) const;
    bool             has_switch() const { return switch_; }

    /** Limits the number of GPUs. */
    bool keep(unsigned gpus);

private:
    struct Parser;

    int direct(int a, int b) const { return direct_[a * kMaxGpus + b]; }
    int host(int gpu) const { return host_[static_cast<size_t>(gpus_[gpu].numa)]; }
    void build_links(const Parser &parser);

    std::vector<Gpu>  gpus_;
    std::vector<Nic>  nics_;
    std::vector<Link> links_;
    std::vector<int>  direct_; /* link from one GPU to another */
    std::vector<int>  host_;   /* link of each socket's memory */
    bool              switch_     = false;
    bool              pcie_peers_ = true;
    unsigned          capability_ = 80;
    uint64_t          latency_ns_ = 0;
    uint64_t          hash_       = 0;
};

/** 12.5MB/s, 100mbit, 2GB/s, none (0). */
std::optional<uint64_t> parse_rate(std::string_view text);
/** 256MiB, 1GiB, 500MB. */
std::optional<uint64_t> parse_size(std::string_view text);
/** 5us, 1ms, 200ns. */
std::optional<uint64_t> parse_time(std::string_view text);

} // namespace cudasim

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_DIRECTIVE_H
#define FUSELINK_UCS_EXT_TOPOLOGY_DIRECTIVE_H

#include "devices.h"

#include <compare>
#include <string>
#include <vector>

namespace fuselink::topology {

/** What the lines of a topology file mean. Words of one line, never none; functions
 *  that give text give what is wrong, or nothing. */
class Directive {
public:
    using Words = std::vector<std::string>;

    /** Is it well formed? Whether its devices exist is not asked. */
    static std::string check(const Words &words);

    /** The rest is for lines that are well formed. */
    static std::string declare(const Words &words, Devices &devices);

    explicit Directive(Devices &devices) : devices_(devices) {}
    std::string apply(const Words &words);
    /** After the last line: what follows from NUMA nodes. */
    void finish();

private:
    struct Pair {
        bool   nic; /* the second is a NIC */
        size_t a, b;
        auto   operator<=>(const Pair &) const = default;
    };

    bool gpu(const std::string &word, size_t &number, std::string &why) const;
    bool nic(const std::string &word, size_t &number, std::string &why) const;
    bool gpu_list(const std::string &word, std::vector<size_t> &numbers,
                  std::string &why) const;
    bool nic_list(const std::string &word, std::vector<size_t> &numbers,
                  std::string &why) const;
    std::string apply_numa(const Words &words);
    std::string apply_pcie(const Words &words);
    std::string apply_nvlink(const Words &words);
    std::string apply_connection(const std::string &device,
                                 const std::string &gpu,
                                 Connection         connection);

    Devices            &devices_;
    std::vector<Pair>   told_; /* what lines have said explicitly */
    std::vector<size_t> numa_gpus_, numa_nics_;
};

} // namespace fuselink::topology

#endif

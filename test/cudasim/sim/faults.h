/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_FAULTS_H
#define FUSELINK_CUDASIM_FAULTS_H

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cudasim {

/** What can be made to fail. */
enum class Fault {
    Alloc,        /* device memory */
    HostAlloc,    /* pinned memory */
    HostRegister,
    Copy,         /* the copy is refused */
    CopyAsync,    /* the copy is taken, and later breaks its context */
    Peer,         /* access of one GPU to another's memory */
    IpcExport,
    IpcOpen
};

/**
 * Faults on demand: a list of POINT[@GPU[-GPU]][#FIRST[xCOUNT]], separated by
 * commas or white space. FIRST is the number of the call that fails first, in
 * this process and for these GPUs, COUNT how many fail (default: all from
 * there on). With @FILE in place of a list the file has it, and is read again
 * when it changes.
 */
class Faults {
public:
    /** @return false, with what is accepted, if the list is not understood */
    bool set(const std::string &list, std::string &error);

    /** Is this call to fail? @param gpu -1 for calls that are of no GPU */
    bool hits(Fault fault, int gpu = -1, int other = -1);

private:
    struct Rule {
        Fault    fault;
        int      gpu = -1, other = -1; /* -1: any */
        uint64_t first = 1, count = UINT64_MAX;
        uint64_t calls = 0;
    };

    static bool parse_rule(std::string_view word, Rule &rule);
    bool        parse(const std::string &list, std::string &error);
    void        reload();

    std::mutex        mutex_;
    std::vector<Rule> rules_;
    std::string       file_;
    uint64_t          file_version_ = 0;
};

} // namespace cudasim

#endif

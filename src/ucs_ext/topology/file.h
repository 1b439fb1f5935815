/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_FILE_H
#define FUSELINK_UCS_EXT_TOPOLOGY_FILE_H

#include "devices.h"

#include <string>
#include <string_view>
#include <vector>

namespace fuselink::topology {

/**
 * What a person says about a machine (UCX_FUSELINK_TOPOLOGY), where the machine says
 * it wrongly or not at all. docs/topology.md describes the lines.
 */
class File {
public:
    static constexpr size_t kMaxSize = 1 << 20;

    /** False with one line: which line of it, and what is accepted. */
    static bool parse(std::string_view text, File &file, std::string &error);
    static bool load(const std::string &path, File &file, std::string &error);

    /** Adds the devices that it has and nobody else has seen. */
    bool declare(Devices &devices, std::string &error) const;

    /** Corrects what is known of numbered devices. False with one line, if it
     *  names a device that is not there. */
    bool apply(Devices &devices, std::string &error) const;

private:
    struct Line {
        unsigned                 number = 0;
        std::vector<std::string> words;
    };

    std::vector<Line> lines_;
};

} // namespace fuselink::topology

#endif

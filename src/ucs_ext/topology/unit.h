/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_UNIT_H
#define FUSELINK_UCS_EXT_TOPOLOGY_UNIT_H

#include <optional>
#include <string_view>

namespace fuselink::topology {

/** 12.5MB/s, 400gbit, 2GB/s in bytes per second; 0 for `none`: no figure. */
std::optional<double> parse_rate(std::string_view text);

} // namespace fuselink::topology

#endif

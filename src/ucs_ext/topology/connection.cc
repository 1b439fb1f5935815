/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "connection.h"

#include <cstddef>

namespace fuselink::topology {
namespace {

/* By value. */
constexpr const char *kNames[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "-"};

} // namespace

const char *name(Connection connection)
{
    return kNames[static_cast<size_t>(connection)];
}

std::optional<Connection> connection_of(std::string_view name)
{
    for (auto i = static_cast<size_t>(Connection::Pix);
         i <= static_cast<size_t>(Connection::Sys); ++i) {
        if (name == kNames[i]) {
            return static_cast<Connection>(i);
        }
    }
    return std::nullopt;
}

} // namespace fuselink::topology

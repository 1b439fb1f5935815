/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "unit.h"

#include <charconv>

namespace fuselink::topology {

std::optional<double> parse_rate(std::string_view text)
{
    static constexpr struct {
        const char *name;
        double      factor;
    } kUnits[] = {
        {"B/s", 1},        {"kB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},
        {"kbit", 1e3 / 8}, {"mbit", 1e6 / 8}, {"gbit", 1e9 / 8},
    };
    if (text == "none") {
        return 0;
    }
    double value       = 0;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(),
                                         value);
    if (status != std::errc() || !(value > 0)) {
        return std::nullopt;
    }
    std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
    for (const auto &known : kUnits) {
        if (unit == known.name && value * known.factor < 1e18) {
            return value * known.factor;
        }
    }
    return std::nullopt;
}

} // namespace fuselink::topology

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "pci.h"

#include <charconv>
#include <cstdio>

namespace fuselink::topology {
namespace {

/* Takes a hexadecimal number of at most `digits` digits, and what follows it. */
bool take(std::string_view &text, size_t digits, char end, unsigned &value)
{
    const char *begin = text.data();
    auto [stop, status] = std::from_chars(begin, begin + text.size(), value, 16);
    auto length         = static_cast<size_t>(stop - begin);
    if (status != std::errc() || length > digits) {
        return false;
    }
    text.remove_prefix(length);
    if (end == '\0') {
        return text.empty();
    }
    if (text.empty() || text[0] != end) {
        return false;
    }
    text.remove_prefix(1);
    return true;
}

} // namespace

std::string PciAddress::text() const
{
    char text[32];
    snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", domain, bus, device,
             function);
    return text;
}

std::optional<PciAddress> PciAddress::parse(std::string_view text)
{
    PciAddress address;
    size_t     colon = text.find(':');
    bool       has_domain = colon != std::string_view::npos &&
                      text.find(':', colon + 1) != std::string_view::npos;
    if ((has_domain && !take(text, 8, ':', address.domain)) ||
        !take(text, 2, ':', address.bus) ||
        !take(text, 2, '.', address.device) ||
        !take(text, 1, '\0', address.function) || address.device > 0x1f ||
        address.function > 7) {
        return std::nullopt;
    }
    return address;
}

double pcie_rate(double gigatransfers, unsigned lanes)
{
    if (!(gigatransfers > 0) || gigatransfers > 1000 || lanes == 0 ||
        lanes > 64) {
        return 0;
    }
    double payload = gigatransfers < 8  ? 8.0 / 10 :
                     gigatransfers < 64 ? 128.0 / 130 : 242.0 / 256;
    return gigatransfers * 1e9 / 8 * lanes * payload;
}

} // namespace fuselink::topology

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "number_list.h"

#include "../../ucs_ext/split.h"

#include <algorithm>
#include <charconv>

namespace fuselink {
namespace {

bool parse_number(std::string_view text, unsigned most, unsigned &number)
{
    const char *end    = text.data() + text.size();
    const auto  parsed = std::from_chars(text.data(), end, number);
    return parsed.ec == std::errc() && parsed.ptr == end && number <= most;
}

} // namespace

bool parse_numbers(std::string_view text, unsigned most,
                   std::vector<unsigned> &numbers)
{
    numbers.clear();
    for (std::string_view part : split(text)) {
        const size_t dash  = part.find('-');
        unsigned     first = 0, last = 0;
        if (!parse_number(part.substr(0, dash), most, first)) {
            return false;
        }
        last = first;
        if (dash != part.npos &&
            (!parse_number(part.substr(dash + 1), most, last) || last < first)) {
            return false;
        }
        for (unsigned number = first; number <= last; ++number) {
            numbers.push_back(number);
        }
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return !numbers.empty();
}

} // namespace fuselink

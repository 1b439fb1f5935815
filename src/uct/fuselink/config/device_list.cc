/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "device_list.h"

#include "../../../ucs_ext/split.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace fuselink {
namespace {

std::string_view trim(std::string_view s)
{
    while (!s.empty() && s.front() == ' ') {
        s.remove_prefix(1);
    }
    while (!s.empty() && s.back() == ' ') {
        s.remove_suffix(1);
    }
    return s;
}

} // namespace

bool DeviceList::parse(std::string_view text, DeviceList &list,
                       std::string &error)
{
    static constexpr const char *kAccepted =
        "accepted: 'all', a list like 'eth0,mlx5_0:1', or '^' and a list of "
        "devices to leave out";

    DeviceList result;
    text = trim(text);
    if (text == "all") {
        list = result;
        return true;
    }
    result.mode_ = Mode::Only;
    if (!text.empty() && text.front() == '^') {
        result.mode_ = Mode::Except;
        text.remove_prefix(1);
    }
    for (std::string_view piece : split(text)) {
        std::string_view name = trim(piece);
        if (name.empty() || name == "all" ||
            name.find_first_of("^ \t") != std::string_view::npos) {
            error = "bad element '" + std::string(name) + "'; " + kAccepted;
            return false;
        }
        result.names_.emplace_back(name);
    }
    list = std::move(result);
    return true;
}

bool DeviceList::allows(std::string_view device) const
{
    bool named = std::find(names_.begin(), names_.end(), device) !=
                 names_.end();
    return mode_ == Mode::All || (mode_ == Mode::Only) == named;
}

bool WeightList::parse(std::string_view text, WeightList &list,
                       std::string &error)
{
    WeightList result;
    text = trim(text);
    if (text.empty()) {
        list = std::move(result);
        return true;
    }
    for (std::string_view piece : split(text)) {
        std::string_view element = trim(piece);
        size_t equals = element.rfind('=');
        double value  = 0;
        bool   good   = equals != std::string_view::npos && equals > 0;
        if (good) {
            std::string_view number = trim(element.substr(equals + 1));
            const char *end         = number.data() + number.size();
            auto parsed = std::from_chars(number.data(), end, value);
            good = parsed.ec == std::errc() && parsed.ptr == end &&
                   std::isfinite(value) && value > 0;
        }
        if (!good) {
            error = "bad element '" + std::string(element) +
                    "'; accepted: a list like 'eth0=2,eth1=0.5' with weights "
                    "above 0";
            return false;
        }
        result.entries_.emplace_back(trim(element.substr(0, equals)), value);
    }
    list = std::move(result);
    return true;
}

double WeightList::weight(std::string_view device) const
{
    for (const auto &[name, weight] : entries_) {
        if (name == device) {
            return weight;
        }
    }
    return 1;
}

} // namespace fuselink

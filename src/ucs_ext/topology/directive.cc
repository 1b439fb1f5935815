/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "directive.h"

#include "../split.h"
#include "../text_table.h"
#include "unit.h"

#include <algorithm>
#include <charconv>

namespace fuselink::topology {
namespace {

constexpr unsigned kMaxNumaNode = 1023;
constexpr size_t   kMaxName     = 64;

struct Verb {
    const char *name;
    const char *accepted;
    bool (*well_formed)(const Directive::Words &words);
};

bool is_number(std::string_view text, unsigned most, unsigned &value)
{
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(),
                                         value);
    return status == std::errc() && end == text.data() + text.size() &&
           value <= most;
}

bool is_number(std::string_view text, unsigned most)
{
    unsigned value;
    return is_number(text, most, value);
}

/* As the kernel allows for interfaces, but for what lists are made with. */
bool is_name(const std::string &text)
{
    return text.size() <= kMaxName &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) {
               return c > ' ' && c < 0x7f && c != ',';
           });
}

bool is_link_rate(const std::string &text)
{
    return text == "off" || parse_rate(text);
}

constexpr Verb kVerbs[] = {
    {"gpu", "gpu PCI-ADDRESS, such as 0000:3b:00.0",
     [](const auto &words) {
         return words.size() == 2 && PciAddress::parse(words[1]);
     }},
    {"nic", "nic NAME [RATE]; RATE like 400gbit, 50GB/s, none",
     [](const auto &words) {
         return (words.size() == 2 || words.size() == 3) && is_name(words[1]) &&
                (words.size() == 2 || parse_rate(words[2]));
     }},
    {"near", "near NIC GPU: they share a PCIe switch",
     [](const auto &words) { return words.size() == 3; }},
    {"connection",
     "connection NIC|GPU GPU WHAT, WHAT one of PIX, PXB, PHB, NODE, SYS",
     [](const auto &words) {
         return words.size() == 4 && connection_of(words[3]);
     }},
    {"numa", "numa NODE gpus|nics LIST, NODE from 0 to 1023",
     [](const auto &words) {
         return words.size() == 4 && is_number(words[1], kMaxNumaNode) &&
                (words[2] == "gpus" || words[2] == "nics");
     }},
    {"pcie", "pcie [GPUS] RATE; RATE like 55GB/s, 400gbit, none",
     [](const auto &words) {
         return (words.size() == 2 || words.size() == 3) &&
                parse_rate(words.back());
     }},
    {"nvlink", "nvlink all RATE, nvlink GPU GPU RATE; RATE like 200GB/s, none, "
               "or off where there is no link",
     [](const auto &words) {
         return ((words.size() == 3 && words[1] == "all") ||
                 words.size() == 4) && is_link_rate(words.back());
     }},
    {"nvswitch", "nvswitch RATE; RATE like 200GB/s, none, or off",
     [](const auto &words) {
         return words.size() == 2 && is_link_rate(words[1]);
     }},
};

/* However often a list names it. */
void add(size_t number, std::vector<size_t> &numbers)
{
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
        numbers.push_back(number);
    }
}

std::string missing(const char *kind, const std::string &word,
                    const std::string &there)
{
    return std::string("no ") + kind + " '" + printable(word, 40) + "'; " +
           (there.empty() ? "there is none" : "accepted: " + there);
}

} // namespace

std::string Directive::check(const Words &words)
{
    std::string all;
    for (const auto &verb : kVerbs) {
        if (words[0] == verb.name) {
            return verb.well_formed(words) ? "" :
                   std::string("accepted: ") + verb.accepted;
        }
        all += (all.empty() ? "accepted: " : ", ") + std::string(verb.name);
    }
    return all;
}

std::string Directive::declare(const Words &words, Devices &devices)
{
    if (words[0] == "gpu") {
        Gpu gpu;
        gpu.address = *PciAddress::parse(words[1]);
        gpu.cuda    = true;
        if (auto known = devices.find_gpu(gpu.address)) {
            devices.gpu(*known).cuda = true;
        } else if (!devices.add(std::move(gpu))) {
            return "more than " + std::to_string(Devices::kMaxGpus) + " GPUs";
        }
    } else if (words[0] == "nic") {
        Nic nic;
        nic.names = {words[1]};
        if (!devices.find_nic(words[1]) && !devices.add(std::move(nic))) {
            return "more than " + std::to_string(Devices::kMaxNics) + " NICs";
        }
        if (words.size() == 3) {
            devices.nic(*devices.find_nic(words[1])).rate =
                *parse_rate(words[2]);
        }
    }
    return {};
}

/* By number, PCI address or UUID. */
bool Directive::gpu(const std::string &word, size_t &number,
                    std::string &why) const
{
    unsigned              value;
    std::optional<size_t> found;
    if (is_number(word, Devices::kMaxGpus, value)) {
        found = value < devices_.gpus() ? std::optional<size_t>(value) :
                                          std::nullopt;
    } else if (auto address = PciAddress::parse(word)) {
        found = devices_.find_gpu(*address);
    } else {
        found = devices_.find_gpu(word);
    }
    if (!found) {
        why = missing("GPU", word, devices_.gpus() == 0 ? "" :
                      "0 to " + std::to_string(devices_.gpus() - 1) +
                          ", their PCI addresses and UUIDs");
        return false;
    }
    number = *found;
    return true;
}

bool Directive::nic(const std::string &word, size_t &number,
                    std::string &why) const
{
    auto found = devices_.find_nic(word);
    if (!found) {
        std::string there;
        for (size_t i = 0; i < std::min<size_t>(devices_.nics(), 32); ++i) {
            there += (i > 0 ? ", " : "") + devices_.nic(i).names[0];
        }
        why = missing("NIC", word, there);
        return false;
    }
    number = *found;
    return true;
}

/* 0-3,5 or names of the above kinds, with commas between them. */
bool Directive::gpu_list(const std::string &word, std::vector<size_t> &numbers,
                         std::string &why) const
{
    for (std::string_view piece : split(word)) {
        std::string part(piece);
        size_t      dash = part.find('-'), first, last;
        unsigned    digits;
        /* A UUID has dashes, too. */
        bool range = dash != std::string::npos &&
                     is_number(std::string_view(part).substr(0, dash),
                               Devices::kMaxGpus, digits) &&
                     is_number(std::string_view(part).substr(dash + 1),
                               Devices::kMaxGpus, digits);
        if (!gpu(range ? part.substr(0, dash) : part, first, why) ||
            !gpu(range ? part.substr(dash + 1) : part, last, why)) {
            return false;
        }
        for (size_t i = first; i <= last; ++i) {
            add(i, numbers);
        }
    }
    return true;
}

bool Directive::nic_list(const std::string &word, std::vector<size_t> &numbers,
                         std::string &why) const
{
    for (std::string_view piece : split(word)) {
        size_t number;
        if (!nic(std::string(piece), number, why)) {
            return false;
        }
        add(number, numbers);
    }
    return true;
}

std::string Directive::apply_numa(const Words &words)
{
    std::string         why;
    std::vector<size_t> numbers;
    unsigned            node = 0;
    is_number(words[1], kMaxNumaNode, node);
    bool gpus = words[2] == "gpus";
    if (!(gpus ? gpu_list(words[3], numbers, why) :
                 nic_list(words[3], numbers, why))) {
        return why;
    }
    auto &told = gpus ? numa_gpus_ : numa_nics_;
    for (size_t i : numbers) {
        (gpus ? devices_.gpu(i).numa_node : devices_.nic(i).numa_node) =
            static_cast<int>(node);
        add(i, told);
    }
    return {};
}

std::string Directive::apply_pcie(const Words &words)
{
    std::string         why;
    std::vector<size_t> numbers;
    if (words.size() == 3 && !gpu_list(words[1], numbers, why)) {
        return why;
    }
    for (size_t i = 0; words.size() == 2 && i < devices_.gpus(); ++i) {
        numbers.push_back(i);
    }
    for (size_t i : numbers) {
        devices_.gpu(i).pcie = *parse_rate(words.back());
    }
    return {};
}

std::string Directive::apply_nvlink(const Words &words)
{
    size_t first, second;
    NvLink link;
    if (words.back() != "off") {
        link.links          = 1;
        link.through_switch = words[0] == "nvswitch";
        link.rate           = *parse_rate(words.back());
    }
    auto set = [&](size_t a, size_t b) {
        NvLink mine = link;
        /* How many they are is known better by who has counted them. */
        if (mine.there()) {
            mine.links = std::max(devices_.nvlink(a, b).links, 1u);
        }
        devices_.set_nvlink(a, b, mine);
    };
    if (words.size() == 4) {
        std::string why;
        if (!gpu(words[1], first, why) || !gpu(words[2], second, why)) {
            return why;
        }
        if (first == second) {
            return "accepted: two different GPUs";
        }
        set(first, second);
        return {};
    }
    for (first = 0; first < devices_.gpus(); ++first) {
        for (second = first + 1; second < devices_.gpus(); ++second) {
            set(first, second);
        }
    }
    return {};
}

std::string Directive::apply_connection(const std::string &device,
                                        const std::string &gpu_word,
                                        Connection         connection)
{
    size_t      a, b;
    std::string why, other;
    if (!gpu(gpu_word, a, why)) {
        return why;
    }
    bool is_nic = nic(device, b, why);
    if (!is_nic && !gpu(device, b, other)) {
        return why;
    }
    if (is_nic) {
        devices_.set_to_nic(a, b, connection);
        told_.push_back({true, a, b});
        return {};
    }
    if (a == b) {
        return "accepted: two different GPUs";
    }
    devices_.set_between_gpus(a, b, connection);
    told_.push_back({false, std::min(a, b), std::max(a, b)});
    return {};
}

std::string Directive::apply(const Words &words)
{
    const std::string &what = words[0];
    std::string        why;
    size_t             unused;
    if (what == "near") {
        return nic(words[1], unused, why) ?
                   apply_connection(words[1], words[2], Connection::Pix) : why;
    }
    if (what == "connection") {
        return apply_connection(words[1], words[2], *connection_of(words[3]));
    }
    return what == "numa"                          ? apply_numa(words) :
           what == "pcie"                          ? apply_pcie(words) :
           what == "nvlink" || what == "nvswitch" ? apply_nvlink(words) : "";
}

/* Who says where two devices stand says what is between them, unless it was said
 * as well. */
void Directive::finish()
{
    std::sort(told_.begin(), told_.end());
    auto was_told = [&](const Pair &pair) {
        return std::binary_search(told_.begin(), told_.end(), pair);
    };
    for (size_t a : numa_gpus_) {
        int node = devices_.gpu(a).numa_node;
        for (size_t b : numa_gpus_) {
            if (a < b && !was_told({false, a, b})) {
                devices_.set_between_gpus(
                    a, b, by_numa(node, devices_.gpu(b).numa_node));
            }
        }
        for (size_t b : numa_nics_) {
            if (!was_told({true, a, b})) {
                devices_.set_to_nic(a, b,
                                    by_numa(node, devices_.nic(b).numa_node));
            }
        }
    }
}

} // namespace fuselink::topology

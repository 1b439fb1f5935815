/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "topology.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "ucs_ext/hash.h"

namespace cudasim {
namespace {

struct Unit {
    const char *name;
    double      factor;
};

/* A number and one of the units. */
template <size_t N>
std::optional<uint64_t> parse_unit(std::string_view text, const Unit (&units)[N])
{
    double value = 0;
    auto [end, status] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || !(value > 0)) {
        return std::nullopt;
    }
    std::string_view unit(end, text.data() + text.size() - end);
    for (const Unit &known : units) {
        if (unit == known.name && value * known.factor < 1e18) {
            return static_cast<uint64_t>(value * known.factor + 0.5);
        }
    }
    return std::nullopt;
}

std::vector<std::string> words_of(const std::string &line)
{
    std::istringstream       in(line.substr(0, line.find('#')));
    std::vector<std::string> words;
    for (std::string word; in >> word;) {
        words.push_back(word);
    }
    return words;
}

std::optional<unsigned> parse_number(std::string_view text, unsigned end)
{
    unsigned value = 0;
    auto [stop, status] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || stop != text.data() + text.size() ||
        value >= end) {
        return std::nullopt;
    }
    return value;
}

/* "0-3" or "5" or "0,2": numbers below end. */
std::optional<std::vector<unsigned>> parse_list(const std::string &text,
                                                unsigned end)
{
    std::vector<unsigned> list;
    std::istringstream    in(text);
    for (std::string part; std::getline(in, part, ',');) {
        size_t dash  = part.find('-');
        auto   first = parse_number(part.substr(0, dash), end);
        auto   last  = dash == std::string::npos ?
                           first :
                           parse_number(part.substr(dash + 1), end);
        if (!first || !last || *first > *last) {
            return std::nullopt;
        }
        for (unsigned i = *first; i <= *last; ++i) {
            list.push_back(i);
        }
    }
    if (list.empty()) {
        return std::nullopt;
    }
    return list;
}

} // namespace

std::optional<uint64_t> parse_rate(std::string_view text)
{
    static constexpr Unit kUnits[] = {
        {"B/s", 1},       {"kB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},
        {"kbit", 1e3 / 8}, {"mbit", 1e6 / 8}, {"gbit", 1e9 / 8},
    };
    return text == "none" ? 0 : parse_unit(text, kUnits);
}

std::optional<uint64_t> parse_size(std::string_view text)
{
    static constexpr Unit kUnits[] = {
        {"kB", 1e3},  {"MB", 1e6},      {"GB", 1e9},
        {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
    };
    return parse_unit(text, kUnits);
}

std::optional<uint64_t> parse_time(std::string_view text)
{
    static constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}};
    return parse_unit(text, kUnits);
}

/* What the lines say; links are numbered when all are known, so that the order
 * of the lines does not matter. */
struct Topology::Parser {
    struct Pair {
        unsigned a, b;
        uint64_t rate;
    };

    Topology             &topology;
    std::vector<uint64_t> pcie; /* of each GPU */
    std::vector<Pair>     pairs;
    uint64_t              switch_rate = 0, inner = 0;
    std::vector<uint64_t> host = std::vector<uint64_t>(kMaxSockets); /* each socket */

    std::string line(const std::vector<std::string> &words);
    std::string gpu_line(const std::vector<std::string> &words);
    std::string link_line(const std::vector<std::string> &words);
    std::string place_line(const std::vector<std::string> &words);
    unsigned    gpus() const { return topology.gpus_.size(); }
    static bool set_rates(const std::vector<std::string> &words, uint64_t rate,
                          std::vector<uint64_t> &rates);
};

/* The empty string, or what is accepted. */
std::string Topology::Parser::line(const std::vector<std::string> &words)
{
    const std::string &what = words[0];
    if (what == "gpus") {
        auto count = words.size() == 2 ? parse_number(words[1], kMaxGpus + 1) :
                                         std::nullopt;
        if (!count || *count == 0 || gpus() != 0) {
            return "accepted: gpus N, once, N from 1 to " +
                   std::to_string(kMaxGpus);
        }
        topology.gpus_.resize(*count);
        pcie.resize(*count);
        return "";
    }
    if (gpus() == 0) {
        return "'gpus N' has to come first";
    }
    if (what == "memory" || what == "capability" || what == "latency" ||
        what == "peers") {
        return gpu_line(words);
    }
    if (what == "pcie" || what == "nvlink" || what == "nvswitch" ||
        what == "device-memory" || what == "host-memory") {
        return link_line(words);
    }
    if (what == "nics" || what == "near" || what == "numa") {
        return place_line(words);
    }
    return "accepted: gpus, memory, capability, latency, peers, pcie, nvlink, "
           "nvswitch, device-memory, host-memory, nics, near, numa";
}

std::string Topology::Parser::gpu_line(const std::vector<std::string> &words)
{
    const std::string &what = words[0];
    if (words.size() != 2) {
        return "accepted: one value";
    }
    if (what == "memory") {
        auto size = parse_size(words[1]);
        if (!size || *size < (1 << 20) || *size > (1ul << 40)) {
            return "accepted: memory SIZE, 1MiB to 1024GiB";
        }
        for (Gpu &gpu : topology.gpus_) {
            gpu.memory = *size & ~0xffful;
        }
    } else if (what == "capability") {
        unsigned major, minor;
        char     rest;
        if (sscanf(words[1].c_str(), "%u.%u%c", &major, &minor, &rest) != 2 ||
            major > 99 || minor > 9) {
            return "accepted: capability MAJOR.MINOR";
        }
        topology.capability_ = major * 10 + minor;
    } else if (what == "latency") {
        auto time = parse_time(words[1]);
        if (!time || *time > 1000000000) {
            return "accepted: latency TIME, such as 5us";
        }
        topology.latency_ns_ = *time;
    } else {
        if (words[1] != "all" && words[1] != "nvlink") {
            return "accepted: peers all, peers nvlink";
        }
        topology.pcie_peers_ = words[1] == "all";
    }
    return "";
}

/* "WHAT RATE" or "WHAT LIST RATE": of all, or of those. */
bool Topology::Parser::set_rates(const std::vector<std::string> &words, uint64_t rate,
                                 std::vector<uint64_t> &rates)
{
    if (words.size() == 2) {
        rates.assign(rates.size(), rate);
        return true;
    }
    auto list = words.size() == 3 ? parse_list(words[1], rates.size()) : std::nullopt;
    if (!list) {
        return false;
    }
    for (unsigned i : *list) {
        rates[i] = rate;
    }
    return true;
}

std::string Topology::Parser::link_line(const std::vector<std::string> &words)
{
    const std::string &what = words[0];
    auto               rate = parse_rate(words.back());
    if (what == "pcie" && rate && set_rates(words, *rate, pcie)) {
        return "";
    } else if (what == "nvswitch" && rate && words.size() == 2) {
        topology.switch_ = true;
        switch_rate      = *rate;
        return "";
    } else if (what == "device-memory" && rate && words.size() == 2) {
        inner = *rate;
        return "";
    } else if (what == "host-memory" && rate && set_rates(words, *rate, host)) {
        return "";
    } else if (what == "nvlink" && rate && words.size() == 3 &&
               words[1] == "all") {
        for (unsigned a = 0; a < gpus(); ++a) {
            for (unsigned b = a + 1; b < gpus(); ++b) {
                pairs.push_back({a, b, *rate});
            }
        }
        return "";
    } else if (what == "nvlink" && rate && words.size() == 4) {
        auto a = parse_number(words[1], gpus());
        auto b = parse_number(words[2], gpus());
        if (a && b && *a != *b) {
            pairs.push_back({*a, *b, *rate});
            return "";
        }
    }
    return "accepted: pcie [GPUS] RATE, nvswitch RATE, nvlink all RATE, "
           "nvlink GPU GPU RATE, device-memory RATE, host-memory [NODES] RATE; "
           "RATE like 12.5MB/s, 100mbit, none";
}

std::string Topology::Parser::place_line(const std::vector<std::string> &words)
{
    auto &nics = topology.nics_;
    if (words[0] == "nics" && words.size() == 3) {
        auto count = parse_number(words[1], kMaxNics + 1);
        if (count && *count > 0 && nics.empty() && parse_rate(words[2])) {
            nics.resize(*count, Nic{words[2]});
            return "";
        }
    } else if (words[0] == "near" && words.size() == 3) {
        auto nic = parse_number(words[1], nics.size());
        auto gpu = parse_number(words[2], gpus());
        if (nic && gpu) {
            nics[*nic].gpu = static_cast<int>(*gpu);
            return "";
        }
    } else if (words[0] == "numa" && words.size() == 4) {
        auto node = parse_number(words[1], kMaxSockets);
        bool gpu  = words[2] == "gpus";
        auto list = parse_list(words[3], gpu ? gpus() : nics.size());
        if (node && list && (gpu || words[2] == "nics")) {
            for (unsigned i : *list) {
                (gpu ? topology.gpus_[i].numa : nics[i].numa) =
                    static_cast<int>(*node);
            }
            return "";
        }
    }
    return "accepted: nics N RATE, near NIC GPU, numa NODE gpus|nics LIST";
}

void Topology::build_links(const Parser &parser)
{
    auto add = [this](std::string name, uint64_t rate) {
        links_.push_back({std::move(name), rate});
        return static_cast<int>(links_.size() - 1);
    };
    host_.assign(kMaxSockets, -1);
    for (size_t i = 0; i < gpus_.size(); ++i) {
        const auto socket = static_cast<size_t>(gpus_[i].numa);
        if (host_[socket] < 0) {
            host_[socket] = add("host" + std::to_string(socket) + ".memory",
                                parser.host[socket]);
        }
        std::string name = "gpu" + std::to_string(i);
        gpus_[i].pcie_up   = add(name + ".pcie.up", parser.pcie[i]);
        gpus_[i].pcie_down = add(name + ".pcie.down", parser.pcie[i]);
        gpus_[i].inner     = add(name + ".memory", parser.inner);
        if (switch_) {
            gpus_[i].port_out = add(name + ".nvlink.out", parser.switch_rate);
            gpus_[i].port_in  = add(name + ".nvlink.in", parser.switch_rate);
        }
    }
    direct_.assign(kMaxGpus * kMaxGpus, -1);
    for (const Parser::Pair &pair : parser.pairs) {
        for (auto [from, to] : {std::pair(pair.a, pair.b),
                                std::pair(pair.b, pair.a)}) {
            int &link = direct_[from * kMaxGpus + to];
            if (link >= 0) {
                links_[link].rate = pair.rate; /* the later line wins */
            } else {
                link = add("gpu" + std::to_string(from) + ".nvlink.gpu" +
                               std::to_string(to), pair.rate);
            }
        }
    }
}

std::optional<Topology> Topology::parse(std::string_view text,
                                        std::string &error)
{
    Topology           topology;
    Parser             parser{topology, {}, {}};
    std::istringstream in{std::string(text)};
    unsigned           number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        auto words = words_of(line);
        if (words.empty()) {
            continue;
        }
        std::string accepted = parser.line(words);
        if (!accepted.empty()) {
            error = "line " + std::to_string(number) + ", '" + words[0] +
                    "': " + accepted;
            return std::nullopt;
        }
    }
    if (topology.gpus_.empty()) {
        error = "no line 'gpus N'";
        return std::nullopt;
    }
    topology.build_links(parser);
    fuselink::Hash hash;
    hash.add(text);
    topology.hash_ = hash.value();
    return topology;
}

std::optional<Topology> Topology::load(const std::string &path,
                                       std::string &error)
{
    std::ifstream      file(path);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
        error = path + ": cannot be read: " + strerror(errno);
        return std::nullopt;
    }
    auto topology = parse(text.str(), error);
    if (!topology) {
        error = path + ": " + error;
    }
    return topology;
}

bool Topology::keep(unsigned gpus)
{
    if (gpus == 0 || gpus > gpus_.size()) {
        return false;
    }
    gpus_.resize(gpus);
    return true;
}

bool Topology::peers(int a, int b) const
{
    return a == b || switch_ || direct(a, b) >= 0 || pcie_peers_;
}

Route Topology::route(int from, int to, bool peer) const
{
    Route route;
    if (from == kHost && to == kHost) { /* at the first GPU's socket */
        route.add(host(0));
        route.add(host(0));
    } else if (from == kHost) {
        route.add(host(to));
        route.add(gpus_[to].pcie_down);
    } else if (to == kHost) {
        route.add(gpus_[from].pcie_up);
        route.add(host(from));
    } else if (from == to) {
        route.add(gpus_[from].inner);
    } else if (peer && direct(from, to) >= 0) {
        route.add(direct(from, to));
    } else if (peer && switch_) {
        route.add(gpus_[from].port_out);
        route.add(gpus_[to].port_in);
    } else {
        route.add(gpus_[from].pcie_up);
        route.add(gpus_[to].pcie_down);
        if (!peer || !pcie_peers_) { /* through a buffer of the host */
            route.add(host(from));
            route.add(host(from));
        }
    }
    return route;
}

std::vector<int> Topology::nvlink_ends(int gpu) const
{
    std::vector<int> ends;
    for (int other = 0; other < static_cast<int>(gpus_.size()); ++other) {
        if (other != gpu && (switch_ || direct(gpu, other) >= 0)) {
            ends.push_back(other);
        }
    }
    return ends;
}

} // namespace cudasim

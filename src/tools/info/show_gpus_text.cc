/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "show_gpus.h"

#include "../../ucs_ext/text_table.h"

#include <algorithm>

namespace fuselink::info {
namespace {

using enum TextTable::Align;

constexpr size_t kMostText = 40; /* of what drivers call things */

std::string number_or_dash(int number)
{
    return number >= 0 ? std::to_string(number) : "-";
}

std::string megabytes(double rate)
{
    return rate > 0 ? format("%.1f", rate * 1e-6) : "-";
}

std::string gpu_name(size_t gpu)
{
    return "GPU" + std::to_string(gpu);
}

/* As nvidia-smi: NVLinks if there are any, else what is between them on PCIe. */
std::string between(const topology::Devices &devices, size_t a, size_t b)
{
    const auto &link = devices.nvlink(a, b);
    return link.there() ? "NV" + std::to_string(link.links) :
                          topology::name(devices.between_gpus(a, b));
}

std::string matrix(const Facts &facts)
{
    const auto &devices = facts.gpus.devices;
    std::vector<TextTable::Column> columns{{"GPU", Left}, {"ADDRESS", Left},
                                           {"NAME", Left}, {"CUDA"}, {"NUMA"},
                                           {"PCIE MB/s"}};
    for (size_t i = 0; i < devices.gpus(); ++i) {
        columns.push_back({gpu_name(i), Left});
    }
    for (const auto &rail : facts.rails) {
        columns.push_back({rail.port, Left});
    }
    TextTable table(std::move(columns));
    for (size_t i = 0; i < devices.gpus(); ++i) {
        const auto              &gpu  = devices.gpu(i);
        auto                     cuda = facts.gpus.cuda_number(i);
        std::vector<std::string> row{
            gpu_name(i), gpu.address.text(),
            printable(gpu.name, kMostText) + (gpu.mig ? " (MIG)" : ""),
            cuda ? std::to_string(*cuda) : "-", number_or_dash(gpu.numa_node),
            megabytes(gpu.pcie)};
        for (size_t j = 0; j < devices.gpus(); ++j) {
            row.push_back(between(devices, i, j));
        }
        for (const auto &nic : facts.gpus.rail_nics) {
            row.emplace_back(nic ? topology::name(devices.to_nic(i, *nic)) :
                                   "-");
        }
        table.add(std::move(row));
    }
    return table.text() +
           "NVn: n NVLinks. PIX: one PCIe switch. PXB: several. PHB: the "
           "host's bridge. NODE: between\nbridges of one NUMA node. SYS: "
           "between NUMA nodes. -: unknown.\n";
}

/* What is done, not what would be the shortest way. */
std::string way(const topology::NicPath &path, const Facts::Rail &rail)
{
    std::string text = used_way(path, rail);
    const bool  relayed = text == "relay";
    if (relayed) {
        text = "by " + gpu_name(path.relays[0].gpu);
    }
    const double rate = relayed ? path.best_rate() : path.rate;
    return rate > 0 ? text + " " + megabytes(rate) : text;
}

std::string paths(const Facts &facts)
{
    std::vector<TextTable::Column> columns{{"FROM, TO", Left}};
    for (const auto &rail : facts.rails) {
        columns.push_back({rail.port, Left});
    }
    TextTable table(std::move(columns));
    for (size_t i = 0; i < facts.gpus.devices.gpus(); ++i) {
        std::vector<std::string> row(facts.rails.size() + 1, "-");
        auto                     ranked = facts.gpus.paths(i);
        row[0]                          = gpu_name(i);
        for (size_t rank = 0; rank < ranked.size(); ++rank) {
            const size_t rail = facts.gpus.rail_of(ranked[rank].nic);
            row[1 + rail] = std::to_string(rank + 1) + ". " +
                            way(ranked[rank], facts.rails[rail]);
        }
        if (!ranked.empty()) {
            table.add(std::move(row));
        }
    }
    return table.empty() ? "" :
           "\nWays of GPU memory to the rails, by rank, with the MB/s of the "
           "slowest part known:\n" + table.text("  ") +
               "direct: the NIC reads and writes the GPU's memory. by GPUn: the same with "
               "slots of GPUn, to\nwhich NVLink leads, if its process lends them. host: "
               "copied to and from the host's memory, over\nthe GPU's own link or those of "
               "other GPUs that are lent.\n";
}

/* Why rails cannot do without copies: a line for each reason. */
std::string copies(const Facts &facts)
{
    std::vector<std::pair<std::string, std::string>> reasons; /* and rails */
    for (const auto &rail : facts.rails) {
        const std::string &why = rail.no_gpu_direct;
        if (why.empty()) {
            continue;
        }
        auto at = std::find_if(reasons.begin(), reasons.end(),
                               [&](const auto &one) { return one.first == why; });
        if (at == reasons.end()) {
            reasons.emplace_back(why, rail.port);
        } else {
            at->second += ", " + rail.port;
        }
    }
    std::string text;
    for (const auto &[why, rails] : reasons) {
        text += "GPU memory is copied to and from the host's for " + rails +
                ": " + why + ".\n";
    }
    return text.empty() ? text : "\n" + text;
}

} // namespace

std::string show_gpus_text(const Facts &facts)
{
    if (facts.gpus.devices.gpus() == 0) {
        return "\nGPUs: none seen.\n";
    }
    return "\n" + matrix(facts) + paths(facts) + copies(facts);
}

} // namespace fuselink::info

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "show.h"

#include "../../ucs_ext/text_table.h"
#include "fuselink_config.h"
#include "show_gpus.h"

#include <algorithm>

namespace fuselink::info {
namespace {

using enum TextTable::Align;

std::string node_name(int node)
{
    return node >= 0 ? std::to_string(node) : "-";
}

std::string others(const Facts::Rail &rail)
{
    if (rail.users == 0 && rail.owner.empty()) {
        return "-";
    }
    std::string text = format("%u use it, ", rail.users) +
                       format_bytes(rail.in_flight) + " in flight";
    return rail.owner.empty() ? text : text + ", own NIC of " + rail.owner;
}

std::string rails(const Facts &facts)
{
    if (facts.rails.empty()) {
        return "no rails: only peers of this node can be reached\n";
    }
    TextTable table({{"RAIL"}, {"PORT", Left}, {"TRANSPORT", Left},
                     {"REPORTED MB/s"}, {"WEIGHTED"}, {"NUMA"},
                     {"PLACE", Left}, {"BULK DATA", Left},
                     {"OTHERS NOW", Left}});
    for (size_t i = 0; i < facts.rails.size(); ++i) {
        const auto &rail = facts.rails[i];
        table.add({std::to_string(i), rail.port, rail.transport,
                   format("%.1f", rail.reported * 1e-6),
                   format("%.1f", rail.speed * 1e-6),
                   node_name(rail.numa_node), place_name(rail.place),
                   std::string(rail.by_messages ? "messages" :
                               rail.reads       ? "puts, gets" : "puts") +
                       (rail.standby ? ", standby" : ""),
                   others(rail)});
    }
    return table.text();
}

/* Which rails messages take, and why. */
std::string messages(const Facts &facts)
{
    if (facts.rails.empty()) {
        return {};
    }
    auto is_rdma = [](const Facts::Rail &rail) {
        return !rail.by_ip && !rail.standby;
    };
    const bool rdma = std::any_of(facts.rails.begin(), facts.rails.end(),
                                  is_rdma);
    std::string first;
    size_t      near = 0, all = 0;
    for (const auto &rail : facts.rails) {
        if (rail.standby || (rdma && rail.by_ip)) {
            continue;
        }
        ++all;
        if (rail.near) {
            ++near;
            first += (first.empty() ? "" : ", ") + rail.port;
        }
    }
    const bool  mixed = rdma && !std::all_of(facts.rails.begin(),
                                             facts.rails.end(), is_rdma);
    std::string text  = format("Messages of a peer take one %srail, those of "
                               "other peers others in turn",
                               mixed ? "RDMA " : "");
    if (near == 0 || near == all) {
        return text + ".\n";
    }
    return text + "; " + first + " first, which " +
           (near == 1 ? "is" : "are") +
           " beside the CPUs of this process. So is bulk data where all else "
           "is equal.\n";
}

std::string examples(const Facts &facts)
{
    std::vector<TextTable::Column> columns{{"TRANSFER", Left}};
    for (const auto &rail : facts.rails) {
        columns.push_back({rail.port});
    }
    TextTable table(std::move(columns));
    for (const auto &example : facts.examples) {
        std::vector<std::string> row{format_bytes(example.size)};
        for (uint64_t bytes : example.bytes) {
            row.push_back(bytes == 0 ? "-" :
                          format("%.0f %%", 100 * static_cast<double>(bytes) /
                                     static_cast<double>(example.size)));
        }
        table.add(std::move(row));
    }
    return table.empty() ? "" :
           "\nA transfer alone, by policy '" + facts.policy +
               "', where every NIC has its speed above:\n" + table.text("  ");
}

std::string missing(const Facts &facts)
{
    TextTable table({{"NOT A RAIL", Left}, {"WHY", Left}});
    for (const auto &one : facts.left_out) {
        table.add({one.port, one.why});
    }
    return table.empty() ? "" : "\n" + table.text();
}

std::string settings(const Facts &facts)
{
    TextTable table({{"SETTING", Left}, {"VALUE", Left}, {"", Left}});
    for (const auto &setting : facts.settings) {
        table.add({setting.name, setting.value,
                   setting.given ? "(environment)" : ""});
    }
    return "\n" + table.text();
}

} // namespace

const char *place_name(Topology::Place place)
{
    return place == Topology::Place::Near ? "near" :
           place == Topology::Place::Far  ? "far" : "unknown";
}

std::string show_text(const Facts &facts)
{
    std::string text = "fuselink " FUSELINK_VERSION
                       " for UCX " FUSELINK_UCX_VERSION " on " + facts.host +
                       ", a process on CPUs " + facts.cpus + "\n\n";
    text += rails(facts) + "\n" + messages(facts);
    text += facts.node_messages.empty() ?
                "Peers of this node are reached over the rails.\n" :
                "Peers of this node: " + facts.node_messages + ", bulk data " +
                    (facts.node_bulk.empty() ? "as messages" :
                                               facts.node_bulk) + ".\n";
    text += std::string("Data moves ") +
            (facts.thread ? "while the program computes, too" :
                            "in the program's calls only") +
            " (" + facts.thread_why + ").\n";
    text += facts.board ? "" :
            "Nobody is on the load board of this user.\n";
    text += examples(facts) + missing(facts) + show_gpus_text(facts) +
            settings(facts);
    return text;
}

} // namespace fuselink::info

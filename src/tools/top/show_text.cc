/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "show.h"

#include "../../ucs_ext/text_table.h"

#include <algorithm>
#include <cmath>

namespace fuselink::top {
namespace {

/* Processes that a NIC's line names; all are in the second table. */
constexpr size_t kNamed = 3;

std::string megabytes(double rate)
{
    return std::isnan(rate) ? "-" : format("%.1f", rate * 1e-6);
}

std::string who(const Reading::Process &process)
{
    std::string text = process.program;
    if (process.pid != 0) {
        text += "[" + std::to_string(process.pid) + "]";
    }
    if (!process.rank.empty()) {
        text += " rank " + process.rank;
    }
    return text;
}

/* Who moves something, or is about to; what keeps them from it goes first. */
std::string users(const Traffic::Line &line)
{
    std::string text  = line.nic->carrier.value_or(true) ? "" : "(no carrier)";
    size_t      named = 0, more = 0;
    for (const auto &part : line.parts) {
        if (part.rate <= 0 && part.flow->in_flight == 0) {
            continue;
        }
        if (named == kNamed) {
            ++more;
            continue;
        }
        ++named;
        text += (text.empty() ? "" : ", ") + who(*part.process) + " " +
                megabytes(part.rate);
    }
    return more != 0 ? text + format(", %zu more", more) : text;
}

/* What all processes together have met on a NIC. */
struct Health {
    NicState state = NicState::Up;
    double   rests = 0, out = 0, longest = 0; /* seconds */
    uint64_t paths = 0, paths_out = 0, messages = 0, breaks = 0, moves = 0;
    uint64_t resent = 0;

    void add(const Reading::Rail &rail, int64_t now)
    {
        state      = std::max(state, rail.health.state);
        rests      = std::max(rests, rail.rests(now));
        out        = std::max(out, rail.out(now));
        longest    = std::max(longest,
                              static_cast<double>(rail.health.longest) * 1e-9);
        paths     += rail.health.paths;
        paths_out += rail.health.paths_out;
        messages  += rail.health.messages;
        breaks    += rail.health.breaks;
        moves     += rail.health.moves;
        resent    += rail.health.resent;
    }
};

std::string seconds(double time)
{
    return time <= 0 ? "-" : format(time < 10 ? "%.2f s" : "%.0f s", time);
}

std::string state(const Health &health, const Reading::Nic &nic)
{
    std::string text = nic_state_name(health.state);
    text += nic.carrier.value_or(true) ? "" : " (no carrier)";
    return text + (health.rests > 0 ? ", rests " + seconds(health.rests) : "");
}

std::string failures(const Reading &reading)
{
    using enum TextTable::Align;
    std::vector<Health> nics(reading.nics.size());
    for (const auto &rail : reading.rails) {
        nics[rail.nic].add(rail, reading.at);
    }
    TextTable table({{"NIC", Left}, {"STATE", Left}, {"PATHS OUT"},
                     {"MESSAGES OF"}, {"BREAKS"}, {"MOVES"}, {"SENT AGAIN"},
                     {"OUT"}, {"LONGEST WAIT"}});
    for (size_t i = 0; i < nics.size(); ++i) {
        const Health &nic = nics[i];
        table.add({reading.nics[i].name, state(nic, reading.nics[i]),
                   format("%lu of %lu", nic.paths_out, nic.paths),
                   format("%lu peer%s", nic.messages,
                          nic.messages == 1 ? "" : "s"),
                   std::to_string(nic.breaks), std::to_string(nic.moves),
                   format_bytes(nic.resent), seconds(nic.out),
                   seconds(nic.longest)});
    }
    return table.text();
}

/* Whose data it is that goes over each GPU's link, and what that waits for. */
std::string gpu_links(const Reading &reading, const Traffic &traffic)
{
    using enum TextTable::Align;
    TextTable table({{"GPU LENT", Left}, {"BY", Left}, {"OUT MB/s"}, {"IN MB/s"},
                     {"BY NICS OUT"}, {"IN"}, {"SLOTS"}, {"HOP"}, {"WAIT"}, {"COPIED"}, {"FOR", Left}});
    for (size_t i = 0; i < reading.gpu_links.size(); ++i) {
        const auto &link = reading.gpu_links[i];
        unsigned    hopping = 0, waiting = 0, copied = 0;
        std::string users;
        for (const auto &user : link.users) {
            hopping += user.hopping;
            waiting += user.waiting;
            copied  += user.copied;
            users   += (users.empty() ? "" : ", ") + user.who;
        }
        table.add({link.gpu.substr(0, 12), /* tells the GPUs of a node apart */
                   link.program + (link.pid != 0 ? format("[%d]", link.pid) : ""),
                   megabytes(traffic.gpu_links[i].out), megabytes(traffic.gpu_links[i].in),
                   megabytes(traffic.gpu_links[i].nics_out),
                   megabytes(traffic.gpu_links[i].nics_in),
                   link.slots == 0 ? "if asked" : std::to_string(link.slots),
                   std::to_string(hopping), std::to_string(waiting), std::to_string(copied),
                   link.needed ? "(needed by its owner) " + users : users});
    }
    return table.empty() ? "" : "\n" + table.text();
}

std::string own_nics(const Reading &reading, size_t process)
{
    std::string text;
    for (const auto &flow : reading.flows) {
        if (flow.process == process && flow.own &&
            flow.direction == Direction::Out) {
            text += (text.empty() ? "" : ",") + reading.nics[flow.nic].name;
        }
    }
    return text.empty() ? "-" : text;
}

} // namespace

std::string show_text(const Reading &reading, const Traffic &traffic)
{
    using enum TextTable::Align;
    TextTable nics({{"NIC", Left}, {"DIR", Left}, {"MB/s"}, {"OF SPEED"},
                    {"IN FLIGHT"}, {"NIC TOTAL"}, {"WHO", Left}});
    for (const auto &line : traffic.lines) {
        nics.add({line.nic->name, direction_name(line.direction),
                  megabytes(line.rate),
                  std::isnan(line.of_speed) ?
                      "-" : format("%.0f %%", 100 * line.of_speed),
                  format_bytes(line.in_flight), megabytes(line.nic_rate),
                  users(line)});
    }
    std::string text = nics.text();
    if (reading.boards == 0) {
        return text + "no load board here that you may read: nobody uses "
                      "fuselink with UCX_FUSELINK_BOARD=y\n";
    }
    text += "\n" + failures(reading);
    TextTable processes({{"PID"}, {"USER", Left}, {"PROGRAM", Left},
                         {"JOB", Left}, {"RANK"}, {"PRIORITY", Left},
                         {"OUT MB/s"}, {"IN MB/s"}, {"BORROWED"},
                         {"OWN NICS", Left}});
    for (size_t i = 0; i < reading.processes.size(); ++i) {
        const auto &process = reading.processes[i];
        const auto &totals  = traffic.totals[i];
        processes.add({process.pid != 0 ? std::to_string(process.pid) : "?",
                       process.user, process.program, process.job,
                       process.rank.empty() ? "-" : process.rank,
                       priority_name(process.priority), megabytes(totals.out),
                       megabytes(totals.in), format_bytes(totals.borrowed),
                       own_nics(reading, i)});
    }
    return text + "\n" + processes.text() + gpu_links(reading, traffic);
}

} // namespace fuselink::top

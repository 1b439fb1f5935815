/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "show.h"

#include "../../ucs_ext/text_table.h"

#include <initializer_list>
#include <string_view>

namespace fuselink::top {
namespace {

/* The text exposition format, version 0.0.4. */
class Exposition {
public:
    using Label = std::pair<std::string_view, std::string>;

    void metric(std::string_view name, std::string_view type,
                std::string_view help)
    {
        name_  = name;
        text_ += "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " +
                 name_ + " " + std::string(type) + "\n";
    }
    void sample(std::initializer_list<Label> labels, uint64_t value)
    {
        sample(labels, std::to_string(value));
    }
    void sample(std::initializer_list<Label> labels, double value)
    {
        sample(labels, format("%.3f", value));
    }
    const std::string &text() const { return text_; }

private:
    void sample(std::initializer_list<Label> labels, const std::string &value)
    {
        text_ += name_;
        char before = '{';
        for (const auto &[label, what] : labels) {
            text_ += before + std::string(label) + "=\"" + escape(what) + "\"";
            before = ',';
        }
        text_ += (before == ',' ? "} " : " ") + value + "\n";
    }
    static std::string escape(const std::string &value)
    {
        std::string result;
        for (char c : value) {
            if (c == '\\' || c == '"') {
                result += '\\';
            }
            auto byte = static_cast<unsigned char>(c);
            result += c == '\n'                   ? "\\n" :
                      byte < 0x20 || byte >= 0x7f ? "?" : std::string(1, c);
        }
        return result;
    }

    std::string name_;
    std::string text_;
};

/* One of the numbers of each process on each NIC. */
template <typename Get>
void flows(Exposition &out, const Reading &reading, Get &&get)
{
    for (const auto &flow : reading.flows) {
        const auto &process = reading.processes[flow.process];
        out.sample({{"nic", reading.nics[flow.nic].name},
                    {"direction", direction_name(flow.direction)},
                    {"user", process.user},
                    {"program", process.program},
                    {"job", process.job},
                    {"rank", process.rank},
                    {"pid", std::to_string(process.pid)},
                    {"seat", std::to_string(process.seat)}},
                   get(flow));
    }
}

/* One of the numbers of what has failed for each process on each NIC. */
template <typename Get>
void rails(Exposition &out, const Reading &reading, Get &&get)
{
    for (const auto &rail : reading.rails) {
        const auto &process = reading.processes[rail.process];
        out.sample({{"nic", reading.nics[rail.nic].name},
                    {"user", process.user},
                    {"program", process.program},
                    {"job", process.job},
                    {"rank", process.rank},
                    {"pid", std::to_string(process.pid)},
                    {"seat", std::to_string(process.seat)}},
                   get(rail));
    }
}

void failures(Exposition &out, const Reading &reading)
{
    using Rail = Reading::Rail;
    out.metric("fuselink_rail_state", "gauge",
               "A NIC as a process finds it: 0 up, 1 broken, 2 silent, 3 no "
               "carrier.");
    rails(out, reading, [](const Rail &rail) {
        return static_cast<uint64_t>(rail.health.state);
    });
    out.metric("fuselink_rail_rests_seconds", "gauge",
               "For so long connections that broke are not tried again.");
    rails(out, reading,
          [&](const Rail &rail) { return rail.rests(reading.at); });
    out.metric("fuselink_rail_paths", "gauge",
               "Ways for bulk data over the NIC, of a process.");
    rails(out, reading, [](const Rail &rail) { return rail.health.paths; });
    out.metric("fuselink_rail_paths_out", "gauge",
               "The part of fuselink_rail_paths that does not work.");
    rails(out, reading, [](const Rail &rail) { return rail.health.paths_out; });
    out.metric("fuselink_rail_message_peers", "gauge",
               "Peers whose messages a process has on the NIC.");
    rails(out, reading, [](const Rail &rail) { return rail.health.messages; });
    out.metric("fuselink_path_breaks_total", "counter",
               "Paths over the NIC that worked and broke.");
    rails(out, reading, [](const Rail &rail) { return rail.health.breaks; });
    out.metric("fuselink_message_moves_total", "counter",
               "Peers whose messages went to another NIC, as this one failed.");
    rails(out, reading, [](const Rail &rail) { return rail.health.moves; });
    out.metric("fuselink_resent_bytes_total", "counter",
               "Bytes that were sent again, because they were on this NIC when "
               "a path or the messages of a peer broke.");
    rails(out, reading, [](const Rail &rail) { return rail.health.resent; });
    out.metric("fuselink_rail_out_seconds_total", "counter",
               "Time with something of the NIC out.");
    rails(out, reading, [&](const Rail &rail) { return rail.out(reading.at); });
    out.metric("fuselink_rail_longest_wait_seconds", "gauge",
               "The longest time from a break on the NIC until the peer had "
               "answered on it.");
    rails(out, reading, [](const Rail &rail) {
        return static_cast<double>(rail.health.longest) * 1e-9;
    });
}

/* One of the numbers of each GPU whose link is lent. */
template <typename Get>
void gpu_links(Exposition &out, const Reading &reading, const char *direction, Get &&get)
{
    for (const auto &link : reading.gpu_links) {
        out.sample({{"gpu", link.gpu},
                    {"direction", direction},
                    {"user", link.user},
                    {"program", link.program},
                    {"pid", std::to_string(link.pid)}},
                   get(link));
    }
}

} // namespace

std::string show_prometheus(const Reading &reading)
{
    Exposition out;
    out.metric("fuselink_boards", "gauge",
               "Load boards that could be read, one per user.");
    out.sample({}, reading.boards);
    out.metric("fuselink_processes", "gauge",
               "Engines that have a seat on a board and use a NIC here.");
    out.sample({}, reading.processes.size());

    out.metric("fuselink_nic_speed_bytes_per_second", "gauge",
               "Speed of the NIC as its transport reports it.");
    for (const auto &nic : reading.nics) {
        out.sample({{"nic", nic.name}}, nic.speed);
    }
    out.metric("fuselink_nic_carrier", "gauge",
               "1 if the NIC has a carrier, 0 if its cable is out.");
    for (const auto &nic : reading.nics) {
        if (nic.carrier) {
            out.sample({{"nic", nic.name}}, uint64_t{*nic.carrier});
        }
    }
    out.metric("fuselink_nic_total_bytes_total", "counter",
               "Bytes that the NIC moved for all programs, by the kernel.");
    for (const auto &nic : reading.nics) {
        if (nic.counters) {
            out.sample({{"nic", nic.name}, {"direction", "out"}},
                       nic.counters->sent);
            out.sample({{"nic", nic.name}, {"direction", "in"}},
                       nic.counters->received);
        }
    }
    out.metric("fuselink_completed_bytes_total", "counter",
               "Bulk data that a process moved over the NIC.");
    flows(out, reading,
          [](const Reading::Flow &flow) { return flow.completed; });
    out.metric("fuselink_borrowed_bytes_total", "counter",
               "The part of fuselink_completed_bytes_total that went while "
               "the NIC was another process's own.");
    flows(out, reading,
          [](const Reading::Flow &flow) { return flow.borrowed; });
    out.metric("fuselink_in_flight_bytes", "gauge",
               "Bulk data that a process has on its way over the NIC.");
    flows(out, reading,
          [](const Reading::Flow &flow) { return flow.in_flight; });
    failures(out, reading);
    out.metric("fuselink_gpu_lent_bytes_total", "counter",
               "Bytes that were copied between a GPU and the host for other "
               "processes than the GPU's own.");
    gpu_links(out, reading, "out", [](const Reading::GpuLink &link) { return link.out; });
    gpu_links(out, reading, "in", [](const Reading::GpuLink &link) { return link.in; });
    out.metric("fuselink_gpu_nics_bytes_total", "counter",
               "Bytes that NICs beside a GPU moved through its memory for other "
               "processes than the GPU's own.");
    gpu_links(out, reading, "out", [](const Reading::GpuLink &link) { return link.nics_out; });
    gpu_links(out, reading, "in", [](const Reading::GpuLink &link) { return link.nics_in; });
    return out.text();
}

} // namespace fuselink::top

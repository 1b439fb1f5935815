/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "show.h"

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
        text_ += name_;
        char before = '{';
        for (const auto &[label, what] : labels) {
            text_ += before + std::string(label) + "=\"" + escape(what) + "\"";
            before = ',';
        }
        text_ += (before == ',' ? "} " : " ") + std::to_string(value) + "\n";
    }
    const std::string &text() const { return text_; }

private:
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
            out.sample({{"nic", nic.name}}, *nic.carrier);
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
    return out.text();
}

} // namespace fuselink::top

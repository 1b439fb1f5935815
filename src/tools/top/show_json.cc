/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "show.h"

#include "../../ucs_ext/json.h"

#include <ctime>

namespace fuselink::top {
namespace {

/* Who is meant everywhere in the document. */
void identify(Json &json, const Reading::Process &process)
{
    if (process.pid != 0) {
        json.field("pid", process.pid);
    } else {
        json.key("pid").null();
    }
    json.field("uid", process.owner).field("seat", process.seat);
}

void add_process(Json &json, const Reading::Process &process,
                 const Traffic::Totals &totals)
{
    json.begin_object();
    identify(json, process);
    json.field("user", process.user).field("program", process.program);
    json.field("job", process.job);
    json.field_or_null("rank", !process.rank.empty(), process.rank);
    json.field("priority", priority_name(process.priority));
    json.field("out_bytes_per_second", totals.out);
    json.field("in_bytes_per_second", totals.in);
    json.field("borrowed_bytes", totals.borrowed);
    json.end_object();
}

void add_line(Json &json, const Traffic::Line &line)
{
    const auto counters = line.nic->counters.value_or(NicCounters{});
    json.begin_object();
    json.field("nic", line.nic->name);
    json.field("direction", direction_name(line.direction));
    json.field("speed_bytes_per_second", line.nic->speed);
    json.field_or_null("carrier", line.nic->carrier.has_value(),
                       line.nic->carrier.value_or(false));
    json.field("bytes_per_second", line.rate);
    json.field("of_speed", line.of_speed);
    json.field("in_flight_bytes", line.in_flight);
    json.field("nic_bytes_per_second", line.nic_rate);
    json.field_or_null("nic_bytes", line.nic->counters.has_value(),
                       line.direction == Direction::Out ? counters.sent :
                                                          counters.received);
    json.key("processes").begin_array();
    for (const auto &part : line.parts) {
        json.begin_object();
        identify(json, *part.process);
        json.field("bytes_per_second", part.rate);
        json.field("in_flight_bytes", part.flow->in_flight);
        json.field("completed_bytes", part.flow->completed);
        json.field("borrowed_bytes", part.flow->borrowed);
        json.field("active", part.flow->active).field("own", part.flow->own);
        json.end_object();
    }
    json.end_array().end_object();
}

void add_rail(Json &json, const Reading &reading, const Reading::Rail &rail)
{
    const NicHealth &health = rail.health;
    json.begin_object().field("nic", reading.nics[rail.nic].name);
    identify(json, reading.processes[rail.process]);
    json.field("state", nic_state_name(health.state));
    json.field("rests_seconds", rail.rests(reading.at));
    json.field("paths", health.paths).field("paths_out", health.paths_out);
    json.field("message_peers", health.messages);
    json.field("path_breaks", health.breaks);
    json.field("message_moves", health.moves);
    json.field("resent_bytes", health.resent);
    json.field("out_seconds", rail.out(reading.at));
    json.field("longest_wait_seconds",
               static_cast<double>(health.longest) * 1e-9);
    json.end_object();
}

void add_gpu_link(Json &json, const Reading::GpuLink &link, const Traffic::Link &rate)
{
    json.begin_object().field("gpu", link.gpu);
    json.field_or_null("pid", link.pid != 0, link.pid);
    json.field("uid", link.owner).field("user", link.user).field("program", link.program);
    json.field("slots", link.slots).field("slot_bytes", link.slot_bytes);
    json.field("needed", link.needed);
    json.field("out_bytes", link.out).field("in_bytes", link.in);
    json.field("out_bytes_per_second", rate.out).field("in_bytes_per_second", rate.in);
    json.field("nics_out_bytes", link.nics_out).field("nics_in_bytes", link.nics_in);
    json.field("nics_out_bytes_per_second", rate.nics_out);
    json.field("nics_in_bytes_per_second", rate.nics_in);
    json.key("users").begin_array();
    for (const auto &user : link.users) {
        json.begin_object().field("who", user.who).field("hopping", user.hopping);
        json.field("waiting", user.waiting).field("copied", user.copied).end_object();
    }
    json.end_array().end_object();
}

} // namespace

std::string show_json(const Reading &reading, const Traffic &traffic)
{
    Json json;
    json.begin_object();
    json.field("time", static_cast<long>(time(nullptr)));
    json.field("seconds", traffic.seconds).field("boards", reading.boards);
    json.key("nics").begin_array();
    for (const auto &line : traffic.lines) {
        add_line(json, line);
    }
    json.end_array().key("rails").begin_array();
    for (const auto &rail : reading.rails) {
        add_rail(json, reading, rail);
    }
    json.end_array().key("processes").begin_array();
    for (size_t i = 0; i < reading.processes.size(); ++i) {
        add_process(json, reading.processes[i], traffic.totals[i]);
    }
    json.end_array().key("gpu_links").begin_array();
    for (size_t i = 0; i < reading.gpu_links.size(); ++i) {
        add_gpu_link(json, reading.gpu_links[i], traffic.gpu_links[i]);
    }
    json.end_array().end_object();
    return json.text() + "\n";
}

} // namespace fuselink::top

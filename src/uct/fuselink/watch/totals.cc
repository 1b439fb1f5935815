/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "totals.h"

#include "../../../ucs_ext/json.h"
#include "../../../ucs_ext/text_table.h"

#include <algorithm>

namespace fuselink {
namespace {

const char *peers_name(Totals::Peers peers)
{
    return peers == Totals::Peers::OtherNodes ? "other nodes" :
           peers == Totals::Peers::Node       ? "this node" : "this process";
}

std::string megabytes(uint64_t bytes)
{
    return format("%.1f", static_cast<double>(bytes) * 1e-6);
}

/* The part of one rail in all bytes to other nodes. */
std::string share(const Totals &totals, const Totals::Line &line,
                  Totals::Sum Totals::Line::*direction)
{
    uint64_t all = 0;
    for (const auto &one : totals.lines) {
        all += one.peers == Totals::Peers::OtherNodes ? (one.*direction).bytes :
                                                        0;
    }
    return line.peers != Totals::Peers::OtherNodes || all == 0 ?
               "-" :
               format("%.1f %%",
                      100 * static_cast<double>((line.*direction).bytes) /
                          static_cast<double>(all));
}

void add_sum(Json &json, const char *name, const Totals::Sum &sum)
{
    json.key(name).begin_object().field("bytes", sum.bytes);
    json.field("chunks", sum.chunks).end_object();
}

} // namespace

double Totals::unevenness(Sum Line::*direction) const
{
    double bytes = 0, capacity = 0, worst = 0;
    for (const auto &line : lines) {
        double speed = line.measured > 0 ? line.measured : line.speed;
        if (line.peers != Peers::OtherNodes || speed <= 0) {
            continue;
        }
        auto load  = static_cast<double>((line.*direction).bytes);
        bytes     += load;
        capacity  += speed;
        worst      = std::max(worst, load / speed);
    }
    return bytes > 0 ? worst / (bytes / capacity) : 0;
}

std::string Totals::text() const
{
    using enum TextTable::Align;
    std::string text = "fuselink: bulk data of " + who.text();
    text += who.job.empty() ? "" : ", job " + who.job;
    text += format(", %.1f s\n", seconds);
    TextTable table({{"RAIL", Left}, {"PEERS", Left}, {"SENT MB"}, {"SHARE"},
                     {"CHUNKS"}, {"RECEIVED MB"}, {"SHARE"}, {"CHUNKS"},
                     {"MEASURED MB/s"}, {"NIC SENT MB"}, {"NIC RECEIVED MB"}});
    for (const auto &line : lines) {
        if (line.peers == Peers::Gpu) {
            continue;
        }
        table.add({line.name, peers_name(line.peers),
                   megabytes(line.sent.bytes), share(*this, line, &Line::sent),
                   std::to_string(line.sent.chunks),
                   megabytes(line.received.bytes),
                   share(*this, line, &Line::received),
                   std::to_string(line.received.chunks),
                   line.measured > 0 ? format("%.1f", line.measured * 1e-6) :
                                       "-",
                   line.nic ? megabytes(line.nic->sent) : "-",
                   line.nic ? megabytes(line.nic->received) : "-"});
    }
    text += table.text("  ");
    double out = unevenness(&Line::sent), in = unevenness(&Line::received);
    if (out > 0 || in > 0) {
        text += "  load of the busiest rail for its speed, 1 is even:";
        text += out > 0 ? format(" %.2f sent", out) : "";
        text += out > 0 && in > 0 ? "," : "";
        text += in > 0 ? format(" %.2f received", in) : "";
        text += "\n";
    }
    return text + failures_text() + gpu_text();
}

/* Nothing, if nothing has failed. */
std::string Totals::failures_text() const
{
    using enum TextTable::Align;
    TextTable table({{"FAILED RAIL", Left}, {"BREAKS"}, {"MESSAGES MOVED"},
                     {"SENT AGAIN MB"}, {"OUT s"}, {"LONGEST WAIT s"}});
    bool      any = false;
    for (const auto &line : lines) {
        const Failures &failures = line.failures;
        if (failures.breaks == 0 && failures.moves == 0 && failures.out <= 0) {
            continue;
        }
        any = true;
        table.add({line.name, std::to_string(failures.breaks),
                   std::to_string(failures.moves), megabytes(failures.resent),
                   format("%.3f", failures.out),
                   format("%.3f", failures.longest_wait)});
    }
    return any ? table.text("  ") : std::string();
}

/* Nothing, if no bytes went over a link of a GPU. */
std::string Totals::gpu_text() const
{
    using enum TextTable::Align;
    TextTable table({{"LINK OF A GPU", Left}, {"OUT MB"}, {"COPIES"}, {"IN MB"},
                     {"COPIES"}});
    uint64_t bytes = 0;
    for (const auto &line : lines) {
        if (line.peers == Peers::Gpu) {
            bytes += line.sent.bytes + line.received.bytes;
            table.add({line.name, megabytes(line.sent.bytes),
                       std::to_string(line.sent.chunks),
                       megabytes(line.received.bytes),
                       std::to_string(line.received.chunks)});
        }
    }
    return bytes != 0 ? table.text("  ") : std::string();
}

std::string Totals::json() const
{
    Json json;
    json.begin_object().field("program", who.program);
    json.field("host", who.host).field("pid", who.pid);
    json.field("job", who.job).field("rank", who.rank);
    json.field("seconds", seconds).key("rails").begin_array();
    for (const auto &line : lines) {
        if (line.peers == Peers::Gpu) {
            continue;
        }
        json.begin_object().field("name", line.name);
        json.field("peers", peers_name(line.peers));
        json.field("speed_bytes_per_second", line.speed);
        json.field("measured_bytes_per_second", line.measured);
        add_sum(json, "sent", line.sent);
        add_sum(json, "received", line.received);
        if (line.peers == Peers::OtherNodes) {
            json.key("failures").begin_object();
            json.field("path_breaks", line.failures.breaks);
            json.field("message_moves", line.failures.moves);
            json.field("resent_bytes", line.failures.resent);
            json.field("out_seconds", line.failures.out);
            json.field("longest_wait_seconds", line.failures.longest_wait);
            json.end_object();
        }
        json.key("nic_bytes");
        if (line.nic) {
            json.begin_object().field("sent", line.nic->sent);
            json.field("received", line.nic->received).end_object();
        } else {
            json.null();
        }
        json.end_object();
    }
    json.end_array().key("gpu_links").begin_array();
    for (const auto &line : lines) {
        if (line.peers == Peers::Gpu) {
            json.begin_object().field("name", line.name);
            add_sum(json, "out", line.sent);
            add_sum(json, "in", line.received);
            json.end_object();
        }
    }
    json.end_array().field("unevenness_sent", unevenness(&Line::sent));
    json.field("unevenness_received", unevenness(&Line::received));
    json.end_object();
    return json.text() + "\n";
}

} // namespace fuselink

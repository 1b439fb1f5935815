/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "show.h"

#include "../../ucs_ext/json.h"
#include "fuselink_config.h"
#include "show_gpus.h"

namespace fuselink::info {
namespace {

void number_or_null(Json &json, const char *name, int number)
{
    json.field_or_null(name, number >= 0, number);
}

void text_or_null(Json &json, const char *name, const std::string &text)
{
    json.field_or_null(name, !text.empty(), text);
}

void add_rail(Json &json, const Facts::Rail &rail)
{
    json.begin_object();
    json.field("port", rail.port).field("transport", rail.transport);
    json.field("reported_bytes_per_second", rail.reported);
    json.field("speed_bytes_per_second", rail.speed);
    number_or_null(json, "numa_node", rail.numa_node);
    json.field("place", place_name(rail.place)).field("near", rail.near);
    json.field("standby", rail.standby);
    json.field("bulk_by_messages", rail.by_messages);
    json.field("reads", rail.reads);
    json.field("gpu_direct", rail.no_gpu_direct.empty());
    text_or_null(json, "no_gpu_direct", rail.no_gpu_direct);
    json.field("users", rail.users);
    json.field("in_flight_bytes", rail.in_flight);
    text_or_null(json, "owner", rail.owner);
    json.end_object();
}

void add_example(Json &json, const Facts::Example &example,
                 const Facts &facts)
{
    json.begin_object().field("bytes", example.size).key("rails");
    json.begin_object();
    for (size_t i = 0; i < example.bytes.size(); ++i) {
        json.field(facts.rails[i].port, example.bytes[i]);
    }
    json.end_object().end_object();
}

} // namespace

std::string show_json(const Facts &facts)
{
    Json json;
    json.begin_object().field("fuselink", FUSELINK_VERSION);
    json.field("ucx", FUSELINK_UCX_VERSION).field("host", facts.host);
    json.field("cpus", facts.cpus).field("policy", facts.policy);
    json.key("progress").begin_object().field("thread", facts.thread);
    json.field("why", facts.thread_why).end_object();
    json.field("board", facts.board).key("rails").begin_array();
    for (const auto &rail : facts.rails) {
        add_rail(json, rail);
    }
    json.end_array().key("left_out").begin_array();
    for (const auto &one : facts.left_out) {
        json.begin_object().field("port", one.port).field("why", one.why);
        json.end_object();
    }
    json.end_array().key("node").begin_object();
    text_or_null(json, "messages", facts.node_messages);
    text_or_null(json, "bulk", facts.node_bulk);
    json.end_object().key("gpus");
    show_gpus_json(json, facts);
    json.key("examples").begin_array();
    for (const auto &example : facts.examples) {
        add_example(json, example, facts);
    }
    json.end_array().key("settings").begin_array();
    for (const auto &setting : facts.settings) {
        json.begin_object().field("name", setting.name);
        json.field("value", setting.value).field("given", setting.given);
        json.end_object();
    }
    json.end_array().key("notes").begin_array();
    for (const auto &note : facts.notes) {
        json.value(note);
    }
    json.end_array().end_object();
    return json.text() + "\n";
}

} // namespace fuselink::info

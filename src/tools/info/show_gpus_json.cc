/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "show_gpus.h"

namespace fuselink::info {
namespace {

void rate_or_null(Json &json, const char *name, double rate)
{
    json.field_or_null(name, rate > 0, rate);
}

void add_connection(Json &json, const char *name,
                    topology::Connection connection)
{
    json.field_or_null(name, connection != topology::Connection::Unknown,
                       topology::name(connection));
}

void add_peers(Json &json, const topology::Devices &devices, size_t gpu)
{
    json.key("peers").begin_array();
    for (size_t other = 0; other < devices.gpus(); ++other) {
        if (other == gpu) {
            continue;
        }
        const auto &link   = devices.nvlink(gpu, other);
        auto        access = devices.peer_access(gpu, other);
        json.begin_object().field("gpu", other);
        add_connection(json, "pcie", devices.between_gpus(gpu, other));
        json.field("nvlinks", link.links);
        json.field("nvswitch", link.through_switch);
        rate_or_null(json, "nvlink_bytes_per_second", link.rate);
        json.field_or_null("access", access != topology::PeerAccess::Unknown,
                           access == topology::PeerAccess::Yes);
        json.end_object();
    }
    json.end_array();
}

void add_paths(Json &json, const Facts &facts, size_t gpu)
{
    json.key("paths").begin_array();
    for (const auto &path : facts.gpus.paths(gpu)) {
        const auto &rail = facts.rails[facts.gpus.rail_of(path.nic)];
        json.begin_object();
        json.field("rail", rail.port);
        json.field("way", topology::name(path.way));
        json.field("used", used_way(path, rail));
        add_connection(json, "connection", path.connection);
        rate_or_null(json, "bytes_per_second", path.rate);
        json.key("relays").begin_array();
        for (const auto &relay : path.relays) {
            json.begin_object().field("gpu", relay.gpu);
            add_connection(json, "connection", relay.connection);
            rate_or_null(json, "hop_bytes_per_second", relay.hop.rate);
            rate_or_null(json, "bytes_per_second", relay.rate);
            json.end_object();
        }
        json.end_array().end_object();
    }
    json.end_array();
}

void add_gpu(Json &json, const Facts &facts, size_t i)
{
    const auto &devices = facts.gpus.devices;
    const auto &gpu     = devices.gpu(i);
    auto        cuda    = facts.gpus.cuda_number(i);
    json.begin_object().field("gpu", i);
    json.field("bus_id", gpu.address.text());
    for (const auto &[name, text] : {std::pair("uuid", &gpu.uuid),
                                     std::pair("name", &gpu.name)}) {
        json.field_or_null(name, !text->empty(), *text);
    }
    json.field_or_null("cuda", cuda.has_value(), cuda.value_or(0));
    json.field_or_null("numa_node", gpu.numa_node >= 0, gpu.numa_node);
    json.field("mig", gpu.mig);
    rate_or_null(json, "pcie_bytes_per_second", gpu.pcie);
    json.key("distances").begin_object();
    for (size_t rail = 0; rail < facts.rails.size(); ++rail) {
        auto nic = facts.gpus.rail_nics[rail];
        add_connection(json, facts.rails[rail].port.c_str(),
                       nic ? devices.to_nic(i, *nic) :
                             topology::Connection::Unknown);
    }
    json.end_object();
    add_peers(json, devices, i);
    add_paths(json, facts, i);
    json.end_object();
}

} // namespace

void show_gpus_json(Json &json, const Facts &facts)
{
    json.begin_array();
    for (size_t i = 0; i < facts.gpus.devices.gpus(); ++i) {
        add_gpu(json, facts, i);
    }
    json.end_array();
}

} // namespace fuselink::info

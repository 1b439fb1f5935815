/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ground.h"

#include "../fabric/queue_pair.h"
#include "../fabric/stream.h"
#include "../uct/memory.h"
#include "ucx.h"

#include <cstdarg>
#include <cstdlib>
#include <string>

namespace fuselink::sim {
namespace {

/* What fuselink says: nothing without a reason. */
ucs_log_func_rc_t on_log(const char *, unsigned, const char *,
                         ucs_log_level_t level,
                         const ucs_log_component_config_t *, const char *format,
                         va_list arguments)
{
    World *world = World::current;
    if (world == nullptr || level > UCS_LOG_LEVEL_INFO) {
        return UCS_LOG_FUNC_RC_STOP;
    }
    char text[1024];
    vsnprintf(text, sizeof(text), format, arguments);
    const std::string line  = text;
    const auto        tells = [&](const char *what) {
        return line.find(what) != std::string::npos;
    };
    if (tells("carries data again")) {
        world->count(Count::PathsMended);
    }
    const bool broken = tells("its data goes over the other rails");
    const bool moved  = tells("messages to peer") && tells("go over rail");
    world->count(Count::PathsBroken, broken);
    world->count(Count::LanesMoved, moved);
    world->count(Count::Unheard, tells("nothing has come from peer"));
    if ((broken || moved) && world->on_failover) {
        world->on_failover();
    }
    if (level > UCS_LOG_LEVEL_WARN) {
        return UCS_LOG_FUNC_RC_STOP;
    }
    world->count(Count::Warnings);
    if (world->on_foreign_warning && !line.starts_with("fuselink: ")) {
        world->on_foreign_warning(line);
    }
    if (tells("no rail takes messages to peer")) {
        world->count(Count::LanesFailed);
        /* Of RDMA NICs nobody says that he leaves: see README.md, "What may be". */
        if (!world->lanes_may_fail && !world->profile().rdma) {
            world->journal().violate("whoever leaves in order is taken for a "
                                     "NIC that fails: " + line);
        }
    }
    const bool uneven = tells("each side uses those that reach"); /* they may be */
    if (world->is_fair && !uneven && !world->stalled) {
        world->journal().violate("warns where nothing has happened: " + line);
    }
    return UCS_LOG_FUNC_RC_STOP;
}

} // namespace

void prepare_once()
{
    static bool prepared = false;
    if (prepared) {
        return;
    }
    prepared = true;
    register_component();
    register_gpu_component();
    if (getenv("UCX_LOG_LEVEL") == nullptr) {
        ucs_global_opts.log_component.log_level = UCS_LOG_LEVEL_INFO;
        ucs_log_push_handler(on_log);
    }
}

std::vector<std::unique_ptr<NodeMemory>> add_nodes(World          &world,
                                                   const Scenario &scenario)
{
    std::vector<std::unique_ptr<NodeMemory>> memories;
    for (unsigned node = 0; node < scenario.nodes; ++node) {
        world.add_node(scenario.nics);
        for (Nic &nic : world.nics(node)) {
            const size_t at = node * scenario.nics + nic.index;
            nic.rate        = scenario.rates[at];
            nic.delay       = scenario.delays[at];
        }
        memories.push_back(std::make_unique<NodeMemory>(world));
    }
    return memories;
}

/* Nobody uses anything any more: so nothing is left of it. */
void check_left_over(World &world)
{
    const auto violate = [&](const std::string &what) {
        world.journal().violate(what);
    };
    for (const auto &process : world.processes()) {
        const std::string who = "process " + std::to_string(process->index());
        if (process->endpoints != 0) {
            violate(who + " leaves " + std::to_string(process->endpoints) +
                    " endpoints");
        }
        if (process->registrations() != 0) {
            violate(who + " leaves " +
                    std::to_string(process->registrations()) +
                    " registrations");
        }
        if (process->sockets != 0) {
            violate(who + " leaves " + std::to_string(process->sockets) +
                    " sockets");
        }
    }
    if (!world.queue_pairs().empty()) {
        violate(std::to_string(world.queue_pairs().size()) +
                " queue pairs are left");
    }
}

} // namespace fuselink::sim

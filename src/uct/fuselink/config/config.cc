/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "config.h"

#include <cstddef>

namespace fuselink {
namespace {

const char *connect_modes[] = {"auto", "iface", "ep", nullptr};
const char *priorities[]    = {"low", "normal", "high", nullptr};

} // namespace

/* The structs are standard layout up to their C base, which is what UCS's
 * own tables rely on; GCC only warns because of the nested base member. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

ucs_config_field_t md_config_table[] = {
    {"", "", nullptr, offsetof(MdConfig, super),
     UCS_CONFIG_TYPE_TABLE(uct_md_config_table)},

    {"DEVICES", "all",
     "NIC ports to use as rails, in the syntax of UCX_NET_DEVICES: 'all', a\n"
     "list like 'eth0,mlx5_0:1', or '^' and a list of ports to leave out.\n"
     "'all' is every port that is up, except loopback\n"
     "and bridges that have only virtual ports.",
     offsetof(MdConfig, devices), UCS_CONFIG_TYPE_STRING},

    {"WEIGHTS", "",
     "Corrects the speed that a rail reports: a list like 'eth0=2,eth1=0.5'.\n"
     "A rail starts with its reported speed times its weight; policy 'stripe'\n"
     "keeps that share, policy 'finish' replaces it by what it measures.",
     offsetof(MdConfig, weights), UCS_CONFIG_TYPE_STRING},

    {"NODE_LANES", "posix,sysv,cma",
     "Lanes for peers of the same node, best first: a subset of 'posix',\n"
     "'sysv' (messages) and 'cma' (bulk data). 'none' sends even node-local\n"
     "traffic over the rails.",
     offsetof(MdConfig, node_lanes), UCS_CONFIG_TYPE_STRING},

    {"RAIL_TLS", "all",
     "Transports for rails, best first; a port gets the first that it has:\n"
     "'all' or a list of rc_mlx5, dc_mlx5, rc_verbs, ud_mlx5, ud_verbs, tcp.",
     offsetof(MdConfig, rail_tls), UCS_CONFIG_TYPE_STRING},

    {nullptr, nullptr, nullptr, 0, {}}};

ucs_config_field_t iface_config_table[] = {
    {"", "", nullptr, offsetof(IfaceConfig, super),
     UCS_CONFIG_TYPE_TABLE(uct_iface_config_table)},

    {"SCHED", "finish",
     "Which path the next chunk of a bulk transfer takes:\n"
     "  single - all of it on one rail; the control to compare with\n"
     "  stripe - fixed shares by reported speed, as UCX's own multi-rail\n"
     "  idle   - the own NIC if it is idle, else an idle one of others, else\n"
     "           the own\n"
     "  finish - the rail on which it would arrive first, from bytes in\n"
     "           flight and measured speed\n"
     "  plan   - what a plan over all transfers posted together says; finish\n"
     "           where there is none\n"
     "  auto   - plan where there is one, else finish\n"
     "The transport makes no plans yet.",
     offsetof(IfaceConfig, sched), UCS_CONFIG_TYPE_STRING},

    {"MIN_CHUNK", "16k",
     "Smallest piece of a bulk transfer that is worth a path of its own.",
     offsetof(IfaceConfig, min_chunk), UCS_CONFIG_TYPE_MEMUNITS},

    {"MAX_CHUNK", "4m", "Largest piece of a bulk transfer.",
     offsetof(IfaceConfig, max_chunk), UCS_CONFIG_TYPE_MEMUNITS},

    {"CHUNK_TIME", "2ms",
     "How long a chunk should occupy its rail: with the rail's speed this\n"
     "gives the chunk's size, between MIN_CHUNK and MAX_CHUNK. Shorter adapts\n"
     "faster, longer costs less per byte.",
     offsetof(IfaceConfig, chunk_time), UCS_CONFIG_TYPE_TIME},

    {"INLINE_GET", "8k",
     "Gets up to this size are answered by a message instead of being written\n"
     "into place over the rails.",
     offsetof(IfaceConfig, inline_get), UCS_CONFIG_TYPE_MEMUNITS},

    {"CONNECT", "auto",
     "How bulk paths are connected: 'iface' straight to the address of the\n"
     "peer's interface, 'ep' endpoint to endpoint by fuselink's handshake,\n"
     "'auto' as the rail's transport allows, 'iface' first.",
     offsetof(IfaceConfig, connect), UCS_CONFIG_TYPE_ENUM(connect_modes)},

    {"MAX_QPS", "1024",
     "Queue pairs on one NIC port. Peers for whom none is left are talked to\n"
     "by datagrams, which is slower and needs none.",
     offsetof(IfaceConfig, max_qps), UCS_CONFIG_TYPE_UINT},

    {"BOARD", "y",
     "Share with the other processes of this user on this node what is in\n"
     "flight on each NIC, through shared memory of which nothing is left when\n"
     "the last of them ends.",
     offsetof(IfaceConfig, board), UCS_CONFIG_TYPE_BOOL},

    {"PRIORITY", "normal",
     "Of the job: a NIC on which a job of higher priority sends is left to it\n"
     "as long as there is another one. 'low', 'normal' or 'high'; the same in\n"
     "all processes of a job.",
     offsetof(IfaceConfig, priority), UCS_CONFIG_TYPE_ENUM(priorities)},

    {"OWN", "auto",
     "NIC ports that are this process's own: others leave them while it sends.\n"
     "A list like 'eth0', 'none', or 'auto': with policy 'idle' one for each\n"
     "process of the job, in turn, with others none.",
     offsetof(IfaceConfig, own), UCS_CONFIG_TYPE_STRING},

    {"BORROW", "all",
     "NIC ports of other processes that this one may use while their owners do\n"
     "not: 'all', 'none', a list, or '^' and a list of ports to leave alone.",
     offsetof(IfaceConfig, borrow), UCS_CONFIG_TYPE_STRING},

    {"BORROW_MAX", "inf",
     "Bytes that may be in flight on one NIC port of another process.",
     offsetof(IfaceConfig, borrow_max), UCS_CONFIG_TYPE_MEMUNITS},

    {nullptr, nullptr, nullptr, 0, {}}};

#pragma GCC diagnostic pop

} // namespace fuselink

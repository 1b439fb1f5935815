/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "config.h"

#include <cstddef>

namespace fuselink {
namespace {

const char *connect_modes[] = {"auto", "iface", "ep", nullptr};
const char *priorities[]    = {"low", "normal", "high", nullptr};
const char *progress_modes[] = {"caller", "thread", "auto", nullptr};

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
     "keeps that share, the others replace it by what is measured.",
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

    {"TOPOLOGY", "",
     "A file that says which GPUs and NICs are near each other, where the\n"
     "machine says it wrongly or not at all. Empty: none.",
     offsetof(MdConfig, topology), UCS_CONFIG_TYPE_STRING},

    {"GPU_COPIES", "y",
     "Memory of GPUs goes through the host's memory to NICs that cannot read\n"
     "it. With 'y' fuselink copies it, chunk by chunk, with 'n' UCX does. The\n"
     "same in all processes of a job.",
     offsetof(MdConfig, gpu_copies), UCS_CONFIG_TYPE_BOOL},

    {"GPU_DIRECT", "auto",
     "Which NICs read and write memory of GPUs themselves, of those with which\n"
     "UCX can register it (fuselink_info says which). What the others carry\n"
     "goes through the host's memory. 'auto': those nearest to the GPU, 'y':\n"
     "all, 'n': none.",
     offsetof(MdConfig, gpu_direct), UCS_CONFIG_TYPE_TERNARY_AUTO},

    {nullptr, nullptr, nullptr, 0, {}}};

ucs_config_field_t iface_config_table[] = {
    {"", "", nullptr, offsetof(IfaceConfig, super),
     UCS_CONFIG_TYPE_TABLE(uct_iface_config_table)},

    {"SCHED", "auto",
     "Which path the next chunk of a bulk transfer takes:\n"
     "  single - all of it on one rail; the control to compare with\n"
     "  stripe - fixed shares by reported speed, as UCX's own multi-rail\n"
     "  idle   - the own NIC if it is idle, else an idle one of others, else\n"
     "           the own\n"
     "  finish - the rail on which it would arrive first, from bytes in\n"
     "           flight and measured speed\n"
     "  plan   - what a plan over all transfers posted together says; finish\n"
     "           where there is none\n"
     "  auto   - plan where there is one, else finish",
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
     "A list like 'eth0', 'none', or 'auto': one near the process's GPU or\n"
     "cores, of those one that belongs to fewest others; other jobs leave it,\n"
     "with policy 'idle' others of the same job as well.",
     offsetof(IfaceConfig, own), UCS_CONFIG_TYPE_STRING},

    {"BORROW", "all",
     "NIC ports of other processes that this one may use while their owners do\n"
     "not: 'all', 'none', a list, or '^' and a list of ports to leave alone.",
     offsetof(IfaceConfig, borrow), UCS_CONFIG_TYPE_STRING},

    {"BORROW_MAX", "inf",
     "Bytes that may be in flight on one NIC port of another process.",
     offsetof(IfaceConfig, borrow_max), UCS_CONFIG_TYPE_MEMUNITS},

    {"STANDBY", "none",
     "NIC ports that are used for a peer only when no other rail of this\n"
     "process reaches it: 'none', a list, or '^' and a list of those that are\n"
     "not on standby. The same on all nodes.",
     offsetof(IfaceConfig, standby), UCS_CONFIG_TYPE_STRING},

    {"REPORT", "",
     "Where a process writes, when it exits, what it moved over each rail:\n"
     "'stdout', 'stderr', or a file to append to, in which %p is replaced by\n"
     "the process's number and %h by the host's name; as JSON if it ends in\n"
     "'.json'. Empty: nowhere.",
     offsetof(IfaceConfig, report), UCS_CONFIG_TYPE_STRING},

    {"TRACE", "",
     "A file for the chunks of bulk data that the process sent and received,\n"
     "for Perfetto or chrome://tracing, written when its UCX workers are\n"
     "closed. %p and %h as above: each process needs a file of its own.\n"
     "Empty: none.",
     offsetof(IfaceConfig, trace), UCS_CONFIG_TYPE_STRING},

    {"TRACE_SIZE", "8m",
     "Memory for the trace of one UCX worker; when it is full the oldest\n"
     "chunks are forgotten.",
     offsetof(IfaceConfig, trace_size), UCS_CONFIG_TYPE_MEMUNITS},

    /* Before RELAY_MEMORY: uct_config_get() takes the first name that begins like
     * the one that it is asked for. */
    {"RELAY", "auto",
     "Memory of GPUs that fuselink copies (GPU_COPIES) also goes over other\n"
     "processes' GPUs of the node and their links to the host, while they do not\n"
     "need these themselves, and that of others over this process's GPU. That\n"
     "takes up to 8 slots of the GPU's memory, no more than RELAY_MEMORY.\n"
     "'auto' between GPUs with NVLink, 'y' between all processes, also where it\n"
     "gains nothing, 'n' not at all.",
     offsetof(IfaceConfig, relay), UCS_CONFIG_TYPE_TERNARY_AUTO},

    {"RELAY_MEMORY", "16m",
     "Memory of the host, for the GPU of each worker, through which memory of\n"
     "GPUs goes to and from NICs that cannot read it: half of it for what goes\n"
     "out, half for what comes in, which other processes write to. None of it\n"
     "until it is used, and never more.",
     offsetof(IfaceConfig, relay_memory), UCS_CONFIG_TYPE_MEMUNITS},

    {"GPU_CHUNK", "256k", "The size of a slot of it: the largest piece that is\n"
     "copied at once.",
     offsetof(IfaceConfig, gpu_chunk), UCS_CONFIG_TYPE_MEMUNITS},

    {"PROGRESS", "auto",
     "Who moves data while the program computes: 'caller' nobody, it moves in\n"
     "the program's calls; 'thread' a thread of fuselink's, which needs some of\n"
     "a processor then, and next to nothing while the program calls; 'auto' a\n"
     "thread, unless very many processes of the node share a processor.",
     offsetof(IfaceConfig, progress), UCS_CONFIG_TYPE_ENUM(progress_modes)},

    {"SPREAD", "auto",
     "Messages to one peer, too, go over several NICs: 'auto' while that brings\n"
     "more of them than one NIC does, which is tried now and then, 'y' always,\n"
     "'n' never. Only over TCP.",
     offsetof(IfaceConfig, spread), UCS_CONFIG_TYPE_TERNARY_AUTO},

    {nullptr, nullptr, nullptr, 0, {}}};

#pragma GCC diagnostic pop

} // namespace fuselink

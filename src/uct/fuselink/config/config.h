/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONFIG_CONFIG_H
#define FUSELINK_CONFIG_CONFIG_H

#include "../ucx.h"

namespace fuselink {

inline constexpr const char *kConfigPrefix = "FUSELINK_";

/* Settings of the memory domain: UCX_FUSELINK_*. Plain C layout, filled by
 * UCS's parser; md_config_table describes each field to the user. */
struct MdConfig {
    uct_md_config_t super;
    char           *devices;
    char           *weights;
    char           *node_lanes;
    char           *rail_tls;
    char           *topology;
    int             gpu_copies;
    int             gpu_direct; /* ucs_ternary_auto_value_t */
};

/* Settings of the interfaces: UCX_FUSELINK_*. */
struct IfaceConfig {
    uct_iface_config_t super;
    char              *sched;
    size_t             min_chunk;
    size_t             max_chunk;
    double             chunk_time;
    size_t             inline_get;
    int                connect;
    unsigned           max_qps;
    int                board;
    int                priority;
    char              *own;
    char              *borrow;
    size_t             borrow_max;
    char              *standby;
    char              *report;
    char              *trace;
    size_t             trace_size;
    size_t             relay_memory;
    size_t             gpu_chunk;
    int                relay; /* ucs_ternary_auto_value_t */
    int                progress; /* ProgressMode */
    int                spread; /* ucs_ternary_auto_value_t */
};

/* Values of IfaceConfig::progress. */
enum ProgressMode { kProgressCaller, kProgressThread, kProgressAuto };

/* Values of IfaceConfig::connect. */
enum ConnectMode { kConnectAuto, kConnectIface, kConnectEp };

extern ucs_config_field_t md_config_table[];
extern ucs_config_field_t iface_config_table[];

} // namespace fuselink

#endif

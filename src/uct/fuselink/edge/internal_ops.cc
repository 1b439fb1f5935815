/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "internal_ops.h"

#include "../wire/address.h"
#include "unsupported_op.h"

namespace fuselink {

#if FUSELINK_UCX_MINOR == 13

const uint64_t kInterNodeFlag = 0;

void set_bandwidth(uct_perf_attr_t *attr, double bytes_per_second)
{
    if (attr->field_mask & UCT_PERF_ATTR_FIELD_BANDWIDTH) {
        attr->bandwidth = {.dedicated = 0, .shared = bytes_per_second};
    }
}

uct_iface_internal_ops_t internal_ops_table()
{
    return {
        .iface_estimate_perf = uct_base_iface_estimate_perf,
        .iface_vfs_refresh   = kUnsupportedOp, /* nothing to show */
        .ep_query            = kUnsupportedOp,
        .ep_invalidate       = kUnsupportedOp,
    };
}

#elif FUSELINK_UCX_MINOR == 22

namespace {

/* Says why an address is not reached. All devices' addresses have the same
 * form, so this needs no knowledge of the device. */
void explain(uct_iface_h iface, const uct_iface_is_reachable_params_t *params)
{
    wire::DeviceAddress own, peer;
    if (uct_iface_get_device_address(
            iface, reinterpret_cast<uct_device_addr_t *>(&own)) != UCS_OK) {
        return;
    }
    memcpy(&peer, params->device_addr, sizeof(peer));
    if (peer.magic != own.magic) {
        uct_iface_fill_info_str_buf(params, "not an address of fuselink");
    } else if (peer.version != own.version) {
        uct_iface_fill_info_str_buf(
            params, "peer speaks fuselink protocol version %d, this process "
            "version %d", peer.version, own.version);
    } else if (peer.kind != own.kind) {
        uct_iface_fill_info_str_buf(params, "another device of fuselink");
    } else if (own.kind >= static_cast<uint8_t>(wire::DeviceKind::Gpu)) {
        uct_iface_fill_info_str_buf(params, "UCX's transport for GPUs does not "
                                    "reach the peer");
    } else if (own.kind == static_cast<uint8_t>(wire::DeviceKind::Rails)) {
        uct_iface_fill_info_str_buf(
            params, "peer is on this node, for which device 'node' is");
    } else if (peer.node != own.node) {
        uct_iface_fill_info_str_buf(
            params, own.kind == static_cast<uint8_t>(wire::DeviceKind::Self) ?
                        "peer is another process" : "peer is on another node");
    } else {
        uct_iface_fill_info_str_buf(params, "a lane of the node, see "
                                    "UCX_FUSELINK_NODE_LANES, does not reach "
                                    "the peer");
    }
}

int is_reachable_v2(const uct_iface_h iface,
                    const uct_iface_is_reachable_params_t *params)
{
    if (!(params->field_mask & UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR)) {
        return 0;
    }
    auto length = UCS_PARAM_VALUE(UCT_IFACE_IS_REACHABLE_FIELD, params,
                                  device_addr_length, DEVICE_ADDR_LENGTH,
                                  sizeof(wire::DeviceAddress));
    if (length < sizeof(wire::DeviceAddress)) {
        uct_iface_fill_info_str_buf(params, "not an address of fuselink");
        return 0;
    }
    auto *iface_addr = UCS_PARAM_VALUE(UCT_IFACE_IS_REACHABLE_FIELD, params,
                                       iface_addr, IFACE_ADDR, nullptr);
    if (!uct_iface_is_reachable(iface, params->device_addr, iface_addr)) {
        explain(iface, params);
        return 0;
    }
    return uct_iface_scope_is_reachable(iface, params);
}

} // namespace

const uint64_t kInterNodeFlag = UCT_IFACE_FLAG_INTER_NODE;

void set_bandwidth(uct_perf_attr_t *attr, double bytes_per_second)
{
    uct_ppn_bandwidth_t bandwidth = {.dedicated = 0,
                                     .shared    = bytes_per_second};
    if (attr->field_mask & UCT_PERF_ATTR_FIELD_BANDWIDTH) {
        attr->bandwidth = bandwidth;
    }
    if (attr->field_mask & UCT_PERF_ATTR_FIELD_PATH_BANDWIDTH) {
        attr->path_bandwidth = bandwidth;
    }
}

uct_iface_internal_ops_t internal_ops_table()
{
    return {
        .iface_query_v2        = uct_iface_base_query_v2,
        .iface_estimate_perf   = uct_base_iface_estimate_perf,
        .iface_vfs_refresh     = kUnsupportedOp, /* nothing to show */
        .ep_query              = kUnsupportedOp,
        .ep_invalidate         = kUnsupportedOp,
        .ep_connect_to_ep_v2   = kUnsupportedOp,
        .iface_is_reachable_v2 = is_reachable_v2,
        .ep_is_connected       = uct_base_ep_is_connected,
        .ep_get_device_ep      = kUnsupportedOp,
        .ep_put_sgl_zcopy      = kUnsupportedOp,
    };
}

#endif

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "internal_ops.h"

#include "../wire/address.h"
#include "unsupported_op.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace fuselink {

namespace {

#ifdef FUSELINK_HAS_UCT_IFACE_INTERNAL_OPS_T_IFACE_IS_REACHABLE_V2 /* 1.15 */

/* Why not, for who asks. UCX has a function of this kind from 1.18 on. */
[[gnu::format(printf, 2, 3)]] void
say(const uct_iface_is_reachable_params_t *params, const char *format, ...)
{
    char        *text   = UCS_PARAM_VALUE(UCT_IFACE_IS_REACHABLE_FIELD, params, info_string,
                                          INFO_STRING, nullptr);
    const size_t length = UCS_PARAM_VALUE(UCT_IFACE_IS_REACHABLE_FIELD, params,
                                          info_string_length, INFO_STRING_LENGTH, 0);
    if (text != nullptr && length != 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, length, format, arguments);
        va_end(arguments);
    }
}

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
        say(params, "not an address of fuselink");
    } else if (peer.version != own.version) {
        say(params, "peer speaks fuselink protocol version %d, this process version %d",
            peer.version, own.version);
    } else if (peer.kind != own.kind) {
        say(params, "another device of fuselink");
    } else if (own.kind >= static_cast<uint8_t>(wire::DeviceKind::Gpu)) {
        say(params, "UCX's transport for GPUs does not reach the peer");
    } else if (own.kind == static_cast<uint8_t>(wire::DeviceKind::Rails)) {
        say(params, "peer is on this node, for which device 'node' is");
    } else if (peer.node != own.node) {
        say(params, own.kind == static_cast<uint8_t>(wire::DeviceKind::Self) ?
                        "peer is another process" : "peer is on another node");
    } else {
        say(params, "a lane of the node, see UCX_FUSELINK_NODE_LANES, does not reach "
            "the peer");
    }
}

/* That of a whole device, if it asks for so much. */
bool in_scope(uct_iface_h iface, const uct_iface_is_reachable_params_t *params)
{
#ifdef FUSELINK_HAS_UCT_IFACE_SCOPE_IS_REACHABLE /* 1.16 */
    return uct_iface_scope_is_reachable(iface, params);
#else
    return uct_base_iface_is_reachable_v2(iface, params);
#endif
}

int is_reachable_v2(const uct_iface_h iface,
                    const uct_iface_is_reachable_params_t *params)
{
    if (!(params->field_mask & UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR)) {
        return 0;
    }
#ifdef FUSELINK_HAS_UCT_IFACE_IS_REACHABLE_PARAMS_T_DEVICE_ADDR_LENGTH /* 1.18 */
    auto length = UCS_PARAM_VALUE(UCT_IFACE_IS_REACHABLE_FIELD, params,
                                  device_addr_length, DEVICE_ADDR_LENGTH,
                                  sizeof(wire::DeviceAddress));
    if (length < sizeof(wire::DeviceAddress)) {
        say(params, "not an address of fuselink");
        return 0;
    }
#endif
    auto *iface_addr = UCS_PARAM_VALUE(UCT_IFACE_IS_REACHABLE_FIELD, params,
                                       iface_addr, IFACE_ADDR, nullptr);
    if (!uct_iface_is_reachable(iface, params->device_addr, iface_addr)) {
        explain(iface, params);
        return 0;
    }
    return in_scope(iface, params);
}

#endif

} // namespace

#ifdef FUSELINK_HAS_UCT_IFACE_FLAG_INTER_NODE /* 1.18 */
const uint64_t kInterNodeFlag = UCT_IFACE_FLAG_INTER_NODE;
#else
const uint64_t kInterNodeFlag = 0;
#endif

void set_bandwidth(uct_perf_attr_t *attr, double bytes_per_second)
{
    uct_ppn_bandwidth_t bandwidth = {.dedicated = 0,
                                     .shared    = bytes_per_second};
    if (attr->field_mask & UCT_PERF_ATTR_FIELD_BANDWIDTH) {
        attr->bandwidth = bandwidth;
    }
#ifdef FUSELINK_HAS_UCT_PERF_ATTR_T_PATH_BANDWIDTH /* 1.19 */
    if (attr->field_mask & UCT_PERF_ATTR_FIELD_PATH_BANDWIDTH) {
        attr->path_bandwidth = bandwidth;
    }
#endif
}

uct_iface_internal_ops_t internal_ops_table()
{
    return {
#ifdef FUSELINK_HAS_UCT_IFACE_INTERNAL_OPS_T_IFACE_QUERY_V2 /* 1.20, not 1.21 */
        .iface_query_v2         = uct_iface_base_query_v2,
#endif
        .iface_estimate_perf    = uct_base_iface_estimate_perf,
        .iface_vfs_refresh      = kUnsupportedOp, /* nothing to show */
#ifdef FUSELINK_HAS_UCT_IFACE_INTERNAL_OPS_T_IFACE_MEM_ELEMENT_PACK /* 1.20 alone */
        .iface_mem_element_pack = kUnsupportedOp,
#endif
        .ep_query               = kUnsupportedOp,
        .ep_invalidate          = kUnsupportedOp,
#ifdef FUSELINK_HAS_UCT_IFACE_INTERNAL_OPS_T_EP_CONNECT_TO_EP_V2 /* 1.14 */
        .ep_connect_to_ep_v2    = kUnsupportedOp,
#endif
#ifdef FUSELINK_HAS_UCT_IFACE_INTERNAL_OPS_T_IFACE_IS_REACHABLE_V2
        .iface_is_reachable_v2  = is_reachable_v2,
#endif
#ifdef FUSELINK_HAS_UCT_IFACE_INTERNAL_OPS_T_EP_IS_CONNECTED /* 1.16 */
        .ep_is_connected        = uct_base_ep_is_connected,
#endif
#ifdef FUSELINK_HAS_UCT_IFACE_INTERNAL_OPS_T_EP_GET_DEVICE_EP /* 1.20 */
        .ep_get_device_ep       = kUnsupportedOp,
#endif
#ifdef FUSELINK_HAS_UCT_IFACE_INTERNAL_OPS_T_EP_PUT_SGL_ZCOPY /* 1.22 */
        .ep_put_sgl_zcopy       = kUnsupportedOp,
#endif
    };
}

} // namespace fuselink

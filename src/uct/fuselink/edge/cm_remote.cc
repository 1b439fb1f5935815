/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "cm_remote.h"

#include "../wire/address.h"

namespace fuselink {
namespace {

/* All of our peers. */
constexpr wire::DeviceAddress kRailsBySocket = {
    wire::kDeviceMagic, wire::kProtocolVersion,
    static_cast<uint8_t>(wire::DeviceKind::Rails), 0, wire::kAnyNode};

} // namespace

CmRemote::CmRemote(const uct_cm_remote_data_t &real) : told_(real)
{
    if (real.field_mask & UCT_CM_REMOTE_DATA_FIELD_DEV_ADDR) {
        told_.dev_addr = reinterpret_cast<const uct_device_addr_t *>(&kRailsBySocket);
        told_.dev_addr_length = sizeof(kRailsBySocket);
    }
    if (ucs_test_all_flags(real.field_mask,
                           UCT_CM_REMOTE_DATA_FIELD_CONN_PRIV_DATA |
                               UCT_CM_REMOTE_DATA_FIELD_CONN_PRIV_DATA_LENGTH)) {
        data_ = wire::read_cm_data({static_cast<const uint8_t *>(real.conn_priv_data),
                                    real.conn_priv_data_length});
        told_.conn_priv_data        = data_.data.data();
        told_.conn_priv_data_length = data_.data.size();
    }
}

} // namespace fuselink

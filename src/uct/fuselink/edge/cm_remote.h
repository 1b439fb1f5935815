/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_CM_REMOTE_H
#define FUSELINK_EDGE_CM_REMOTE_H

#include "../ucx.h"
#include "../wire/cm_data.h"

namespace fuselink {

/** What UCX's own connection manager says of a peer, as ours says it (see Cm): the device is
 *  our `rails`, of any node, and our trailer is gone. Untrusted. Lives while it is told. */
class CmRemote {
public:
    explicit CmRemote(const uct_cm_remote_data_t &real);
    CmRemote(const CmRemote &)            = delete;
    CmRemote &operator=(const CmRemote &) = delete;

    const uct_cm_remote_data_t *get() const { return &told_; }

    /** Of a peer with which this fuselink cannot speak: the protocol version it has; else 0. */
    uint8_t other_version() const
    {
        return data_.version == wire::kProtocolVersion ? 0 : data_.version;
    }

private:
    wire::CmData         data_;
    uct_cm_remote_data_t told_;
};

} // namespace fuselink

#endif

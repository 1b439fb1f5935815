/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_INFLOW_H
#define FUSELINK_PEER_INFLOW_H

#include "../conn/connection.h"
#include "../conn/peer_registry.h"
#include "../host/host.h"
#include "../load/load_view.h"
#include "../rail/rails.h"
#include "../sched/units.h"
#include "../wire/messages.h"

#include <array>

namespace fuselink {

/**
 * What one peer has on its way to our NICs, as it says when it asks, and the
 * answer: what all others bring there.
 *
 * One thread at a time (the worker's).
 */
class Inflow {
public:
    Inflow(Connection &conn, const Host &host, const Rails &rails,
           LoadView &loads, const PeerRegistry &others)
        : conn_(conn), host_(host), rails_(rails), loads_(loads),
          others_(others)
    {
    }

    /** A wire::LoadAsk, untrusted. */
    void on_ask(const void *data, size_t length);

    /** To our rail, as the peer said not long ago. */
    sched::Bytes to(size_t rail, sched::Nanos now) const
    {
        return !conn_.failed() && now < until_ ? bytes_[rail] : sched::Bytes();
    }

    /** To any of them. */
    bool brings(sched::Nanos now) const { return any_ && !conn_.failed() && now < until_; }

private:
    Connection         &conn_;
    const Host         &host_;
    const Rails        &rails_;
    LoadView           &loads_;
    const PeerRegistry &others_;
    std::array<sched::Bytes, wire::kLoads> bytes_{}; /* by rail */
    bool                                   any_ = false; /* of them is not 0 */
    sched::Nanos                           until_;   /* they hold */
};

} // namespace fuselink

#endif

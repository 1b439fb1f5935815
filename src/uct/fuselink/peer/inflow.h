/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_INFLOW_H
#define FUSELINK_PEER_INFLOW_H

#include "../conn/connection.h"
#include "../host/host.h"
#include "../load/load_view.h"
#include "../rail/rails.h"

namespace fuselink {

/**
 * What one peer has on its way to our NICs, as it says when it asks, and the
 * answer: what all others bring there.
 *
 * One thread at a time (the worker's).
 */
class Inflow {
public:
    Inflow(Connection &conn, const Host &host, const Rails &rails, LoadView &loads)
        : conn_(conn), host_(host), rails_(rails), loads_(loads)
    {
    }

    /** A wire::LoadAsk, untrusted. */
    void on_ask(const void *data, size_t length);

private:
    Connection       &conn_;
    const Host       &host_;
    const Rails      &rails_;
    LoadView         &loads_;
    InflowSums::Share share_;
};

} // namespace fuselink

#endif

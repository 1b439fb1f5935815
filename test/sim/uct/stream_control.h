/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCT_STREAM_CONTROL_H
#define FUSELINK_TEST_SIM_UCT_STREAM_CONTROL_H

#include "host/stream_control.h"

namespace fuselink::sim {

/**
 * What a simulated kernel knows of streams. As a real one it cannot tell what the
 * other side has received before that is acknowledged; here that takes no time. A
 * window that opens is known at once, even over a wire that is silent, and one that
 * is shut is asked for only when somebody looks.
 */
class SimStreamControl final : public StreamControl {
public:
    bool look(uct_ep *ep, StreamState &state) override;
    void bound(uct_ep *ep, sched::Bytes bytes) override;
    bool addresses(uct_ep *ep, SocketAddress &here,
                   SocketAddress &there) override;
    bool end(uct_ep *ep, bool has_link) override;
    unsigned end_from(uct_iface *iface, const SocketAddress &far,
                      bool has_link) override;
    bool discard(uct_ep *ep) override;
};

} // namespace fuselink::sim

#endif

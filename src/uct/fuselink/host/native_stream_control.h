/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_NATIVE_STREAM_CONTROL_H
#define FUSELINK_HOST_NATIVE_STREAM_CONTROL_H

#include "stream_control.h"

namespace fuselink {

/** For endpoints and interfaces of UCX's tcp, as built in this very release of
 *  UCX (edge/version.h sees to that). Others have no socket here. */
class NativeStreamControl final : public StreamControl {
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

/** The socket of an endpoint of the connection manager of UCX's tcp. */
int socket_of_cm(uct_ep *ep);

} // namespace fuselink

#endif

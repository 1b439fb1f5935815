/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "native_stream_control.h"

#include "../ucx.h"
#include "tcp_socket.h"

#include <cstring>

/* The one place that knows how UCX's tcp keeps its sockets. */
extern "C" {
#include <uct/tcp/tcp.h>
#include <uct/tcp/tcp_sockcm_ep.h>
}

namespace fuselink {
namespace {

bool is_tcp(uct_iface_h iface)
{
    auto *base = ucs_derived_of(iface, uct_base_iface_t);
    return strcmp(base->md->component->name, UCT_TCP_NAME) == 0;
}

/* -1: none. */
int socket_of(uct_ep_h ep)
{
    return is_tcp(ep->iface) ? ucs_derived_of(ep, uct_tcp_ep_t)->fd : -1;
}

/* Where the interface accepts connections; also when UCX has closed the listening
 * socket, as it does for good when accept() fails. */
bool listening_address(uct_iface_h iface, SocketAddress &address)
{
    return tcp_socket::from_kernel(
        ucs_derived_of(iface, uct_tcp_iface_t)->config.ifaddr, address);
}

} // namespace

bool NativeStreamControl::look(uct_ep *ep, StreamState &state)
{
    return tcp_socket::look(socket_of(ep), state);
}

void NativeStreamControl::bound(uct_ep *ep, sched::Bytes bytes)
{
    const int fd = socket_of(ep);
    if (fd >= 0 && ucs_derived_of(ep->iface, uct_tcp_iface_t)->sockopt.sndbuf ==
                       UCS_MEMUNITS_AUTO) {
        tcp_socket::bound(fd, bytes);
    }
}

bool NativeStreamControl::addresses(uct_ep *ep, SocketAddress &here,
                                    SocketAddress &there)
{
    return tcp_socket::addresses(socket_of(ep), here, there);
}

bool NativeStreamControl::end(uct_ep *ep, bool has_link)
{
    const int fd = socket_of(ep);
    /* In the midst of UCX's handshake the other side's UCX would complain, and this
     * one begin anew. */
    return fd >= 0 &&
           ucs_derived_of(ep, uct_tcp_ep_t)->conn_state ==
               UCT_TCP_EP_CONN_STATE_CONNECTED &&
           tcp_socket::end(fd, has_link);
}

unsigned NativeStreamControl::end_from(uct_iface *iface, const SocketAddress &far,
                                       bool has_link)
{
    SocketAddress near;
    int           events = -1;
    if (!is_tcp(iface) || !listening_address(iface, near) ||
        uct_iface_event_fd_get(iface, &events) != UCS_OK) {
        return 0;
    }
    return tcp_socket::end_from(events, near, far, has_link);
}

bool NativeStreamControl::discard(uct_ep *ep)
{
    return tcp_socket::discard(socket_of(ep));
}

int socket_of_cm(uct_ep *ep)
{
    return ucs_derived_of(ep, uct_tcp_sockcm_ep_t)->fd;
}

} // namespace fuselink

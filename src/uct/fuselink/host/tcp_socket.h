/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_TCP_SOCKET_H
#define FUSELINK_HOST_TCP_SOCKET_H

#include "socket_address.h"
#include "stream_control.h"

#include <string_view>
#include <vector>

struct sockaddr_storage;

/** A TCP connection by its file descriptor, which stays the caller's. */
namespace fuselink::tcp_socket {

/** False, and nothing changed, if `fd` is no TCP socket. */
bool look(int fd, StreamState &state);

/** False if that is no address of IPv4 or IPv6. */
bool from_kernel(const sockaddr_storage &from, SocketAddress &to);

/** As StreamControl::bound(). */
void bound(int fd, sched::Bytes bytes);

/** A connection over which nothing is heard of the other kernel for so long ends with an
 *  error, whether this side has something to send or not. From a second on. */
void limit_silence(int fd, sched::Nanos limit);

/** This process listens at that port, at whatever address. A system call or two for each of
 *  its descriptors. */
bool listens_here(uint16_t port);

/** Also of a connection that the other side has reset or closed. False if it never
 *  was one, or after end(). */
bool addresses(int fd, SocketAddress &here, SocketAddress &there);

/** As StreamControl::end(): afterwards the socket is readable, and says that it
 *  was reset. */
bool end(int fd, bool has_link);

/** As StreamControl::discard(). */
bool discard(int fd);

/** As StreamControl::end_from(), for the connections that `epoll` watches and that
 *  were accepted at `near`. */
unsigned end_from(int epoll, const SocketAddress &near, const SocketAddress &far,
                  bool has_link);

/** The descriptors that an epoll set watches, by what /proc/self/fdinfo says of
 *  the set; that text. */
std::vector<int> watched_by(int epoll);
std::vector<int> watched_in(std::string_view fdinfo);

} // namespace fuselink::tcp_socket

#endif

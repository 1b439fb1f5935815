/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "tcp_socket.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace fuselink::tcp_socket {
namespace {

/* Those of the kernel, which linux/tcp.h does not name. */
enum State { kEstablished = 1, kSynSent = 2, kSynReceived = 3, kClose = 7 };

StreamState::Phase phase_of(unsigned state)
{
    switch (state) {
    case kEstablished:
        return StreamState::Phase::Established;
    case kSynSent:
    case kSynReceived:
        return StreamState::Phase::Connecting;
    default:
        return StreamState::Phase::Closed;
    }
}

bool is_tcp(int fd)
{
    int       protocol = 0;
    socklen_t length   = sizeof(protocol);
    return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 &&
           protocol == IPPROTO_TCP;
}

/* TCP's instants are in the kernel's ticks of 1 to 10 ms, told in milliseconds. */
sched::Nanos kernel_tick()
{
    static const sched::Nanos tick = [] {
        timespec resolution{};
        return clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) == 0 &&
                       resolution.tv_sec == 0 ?
                   std::clamp(sched::Nanos(resolution.tv_nsec),
                              sched::Nanos::millis(1), sched::Nanos::millis(10)) +
                       sched::Nanos::millis(1) :
                   StreamState().tick;
    }();
    return tick;
}

} // namespace

bool from_kernel(const sockaddr_storage &from, SocketAddress &to)
{
    if (from.ss_family == AF_INET) {
        const auto &in = reinterpret_cast<const sockaddr_in &>(from);
        to             = {};
        to.family      = 4;
        memcpy(to.ip.data(), &in.sin_addr, sizeof(in.sin_addr));
        to.port = ntohs(in.sin_port);
        return true;
    }
    if (from.ss_family == AF_INET6) {
        const auto &in6 = reinterpret_cast<const sockaddr_in6 &>(from);
        to              = {};
        to.port         = ntohs(in6.sin6_port);
        if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) {
            to.family = 4;
            memcpy(to.ip.data(), in6.sin6_addr.s6_addr + 12, 4);
        } else {
            to.family = 6;
            memcpy(to.ip.data(), &in6.sin6_addr, sizeof(in6.sin6_addr));
        }
        return true;
    }
    return false;
}

bool look(int fd, StreamState &state)
{
    tcp_info  info{};
    socklen_t length = sizeof(info);
    int       queued = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) {
        return false;
    }
    if (ioctl(fd, SIOCOUTQ, &queued) != 0) { /* it listens */
        return false;
    }
    const bool gone = info.tcpi_state == kClose; /* the counts are what they were */
    using sched::Nanos;
    state.phase          = phase_of(info.tcpi_state);
    state.unacked        = sched::Bytes(gone ? 0 : static_cast<unsigned>(queued));
    state.unsent         = sched::Bytes(gone ? 0 : info.tcpi_notsent_bytes);
    state.segments       = gone ? 0 : info.tcpi_unacked;
    state.acked          = info.tcpi_bytes_acked;
    state.received       = info.tcpi_bytes_received;
    state.resent         = info.tcpi_bytes_retrans;
    state.in_vain        = info.tcpi_dsack_dups;
    state.packets        = info.tcpi_segs_in;
    state.retransmits    = info.tcpi_retransmits;
    state.backoff        = info.tcpi_backoff;
    state.probes         = info.tcpi_probes;
    state.tick           = kernel_tick();
    state.since_ack      = Nanos::millis(info.tcpi_last_ack_recv);
    state.since_sent     = Nanos::millis(info.tcpi_last_data_sent);
    state.since_received = Nanos::millis(info.tcpi_last_data_recv);
    state.rtt            = Nanos::micros(info.tcpi_rtt);
    state.rtt_deviation  = Nanos::micros(info.tcpi_rttvar);
    state.least_rtt      = info.tcpi_min_rtt == UINT32_MAX ?
                               Nanos() : Nanos::micros(info.tcpi_min_rtt);
    state.timeout        = Nanos::micros(info.tcpi_rto);
    state.delivery       = static_cast<double>(info.tcpi_delivery_rate);
    state.mss            = info.tcpi_snd_mss;
    state.starved        = info.tcpi_delivery_rate_app_limited;
    /* An older kernel writes less. */
    state.window = length >= offsetof(tcp_info, tcpi_snd_wnd) +
                                 sizeof(info.tcpi_snd_wnd) ?
                       info.tcpi_snd_wnd : StreamState::kUnknown;
    return true;
}

void bound(int fd, sched::Bytes bytes)
{
    /* More than kernels take by themselves. */
    constexpr sched::Bytes kMany = sched::Bytes::mib(4);
    const int size = static_cast<int>(std::min(bytes, kMany).count());
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    if (bytes > kMany) {
        /* Where a host allows less than that, the kernel goes on to decide, if it is new
         * enough (Linux 5.14). */
        const int unlocked = 0;
        setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof(unlocked));
    }
}

void limit_silence(int fd, sched::Nanos limit)
{
    /* The kernel asks each second where nothing is under way, and goes by the limit for both. */
    const int  often = 1, on = 1;
    const auto millis = static_cast<unsigned>(limit.count() / 1'000'000);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &often, sizeof(often));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &often, sizeof(often));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &millis, sizeof(millis));
}

bool listens_here(uint16_t port)
{
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
        const std::string name = entry.path().filename();
        int               fd = -1, listens = 0;
        sockaddr_storage  own{};
        SocketAddress     address;
        socklen_t         length = sizeof(listens), own_length = sizeof(own);
        std::from_chars(name.data(), name.data() + name.size(), fd);
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0 &&
            getsockname(fd, reinterpret_cast<sockaddr *>(&own), &own_length) == 0 &&
            from_kernel(own, address) && address.port == port) {
            return true;
        }
    }
    return false;
}

bool addresses(int fd, SocketAddress &here, SocketAddress &there)
{
    sockaddr_storage own{}, other{};
    socklen_t        length = sizeof(own);
    if (getsockname(fd, reinterpret_cast<sockaddr *>(&own), &length) != 0) {
        return false;
    }
    /* Not getpeername(): that knows nothing any more of a connection that the
     * other side has reset, from which what came before can still be read. This
     * takes no more room than it fills. */
    length = std::min<socklen_t>(length, sizeof(other));
    return getsockopt(fd, SOL_SOCKET, SO_PEERNAME, &other, &length) == 0 &&
           from_kernel(other, there) && from_kernel(own, here);
}

bool end(int fd, bool has_link)
{
    if (!is_tcp(fd)) {
        return false;
    }
    if (!has_link) {
        /* The reset goes there, and no further: nobody has the address. */
        constexpr char kNowhere[] = "lo";
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, kNowhere, sizeof(kNowhere));
    }
    sockaddr none{};
    none.sa_family = AF_UNSPEC;
    /* Drops both of the kernel's queues, sends a reset, and leaves one behind for
     * who reads or writes next. */
    if (connect(fd, &none, sizeof(none)) != 0) {
        return false;
    }
    /* Who waits to read is not woken by that: by this he is, though the call says
     * that there is nothing to shut down any more. */
    shutdown(fd, SHUT_RDWR);
    return true;
}

bool discard(int fd)
{
    if (!is_tcp(fd)) {
        return false;
    }
    /* Not for ever: the other side may go on to send. */
    constexpr size_t kOnce = 1 << 20;
    for (unsigned i = 0; i < 16; ++i) {
        if (recv(fd, nullptr, kOnce, MSG_TRUNC | MSG_DONTWAIT) <= 0) {
            break;
        }
    }
    return true;
}

unsigned end_from(int epoll, const SocketAddress &near, const SocketAddress &far,
                  bool has_link)
{
    unsigned count = 0;
    for (int fd : watched_by(epoll)) {
        SocketAddress here, there;
        if (addresses(fd, here, there) && here == near && there == far) {
            count += end(fd, has_link);
        }
    }
    return count;
}

std::vector<int> watched_by(int epoll)
{
    const std::string path = "/proc/self/fdinfo/" + std::to_string(epoll);
    const int         fd   = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return {};
    }
    std::string text;
    char        piece[4096];
    for (;;) {
        const ssize_t got = read(fd, piece, sizeof(piece));
        if (got > 0) {
            text.append(piece, static_cast<size_t>(got));
        } else if (got == 0 || errno != EINTR) {
            break;
        }
    }
    close(fd);
    return watched_in(text);
}

std::vector<int> watched_in(std::string_view fdinfo)
{
    constexpr std::string_view kTag = "tfd:";
    std::vector<int>           all;
    while (!fdinfo.empty()) {
        const size_t     length = std::min(fdinfo.find('\n'), fdinfo.size());
        std::string_view line   = fdinfo.substr(0, length);
        fdinfo.remove_prefix(std::min(length + 1, fdinfo.size()));
        if (!line.starts_with(kTag)) {
            continue;
        }
        line.remove_prefix(kTag.size());
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        int fd;
        if (std::from_chars(line.data(), line.data() + line.size(), fd).ec ==
                std::errc() && fd >= 0) {
            all.push_back(fd);
        }
    }
    return all;
}

} // namespace fuselink::tcp_socket

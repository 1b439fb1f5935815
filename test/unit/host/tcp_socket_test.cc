/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "host/tcp_socket.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace fuselink {
namespace {

using Phase = StreamState::Phase;

class Fd {
public:
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd &&other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    ~Fd()
    {
        if (fd_ >= 0) {
            close(fd_);
        }
    }
    operator int() const { return fd_; }

private:
    int fd_;
};

bool becomes_true(const std::function<bool()> &condition)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

sockaddr_storage loopback(int family)
{
    sockaddr_storage address{};
    address.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET) {
        reinterpret_cast<sockaddr_in &>(address).sin_addr.s_addr =
            htonl(INADDR_LOOPBACK);
    } else {
        reinterpret_cast<sockaddr_in6 &>(address).sin6_addr = in6addr_loopback;
    }
    return address;
}

/* Accepts connections at a loopback address. */
class Server {
public:
    explicit Server(int family = AF_INET)
        : fd_(socket(family, SOCK_STREAM, 0)), address_(loopback(family))
    {
        socklen_t length = sizeof(address_);
        auto     *any    = reinterpret_cast<sockaddr *>(&address_);
        there_           = fd_ >= 0 && bind(fd_, any, length) == 0 &&
                 listen(fd_, 8) == 0 && getsockname(fd_, any, &length) == 0;
    }

    bool there() const { return there_; }
    int  fd() const { return fd_; }
    const sockaddr_storage &address() const { return address_; }
    Fd   accept() const { return Fd(::accept(fd_, nullptr, nullptr)); }
    Fd   connect() const
    {
        Fd fd(socket(address_.ss_family, SOCK_STREAM, 0));
        EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr *>(&address_),
                            sizeof(address_)), 0) << strerror(errno);
        return fd;
    }
    SocketAddress at() const
    {
        SocketAddress at;
        EXPECT_TRUE(tcp_socket::from_kernel(address_, at));
        return at;
    }

private:
    Fd               fd_;
    sockaddr_storage address_;
    bool             there_ = false;
};

SocketAddress here_of(int fd)
{
    SocketAddress here, there;
    EXPECT_TRUE(tcp_socket::addresses(fd, here, there));
    return here;
}

/* Writes until the kernel takes no more. */
size_t fill(int fd)
{
    char   piece[4096] = {};
    size_t all = 0;
    for (;;) {
        const ssize_t now = send(fd, piece, sizeof(piece),
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (now <= 0) {
            return all;
        }
        all += static_cast<size_t>(now);
    }
}

bool readable(int fd)
{
    pollfd one{fd, POLLIN, 0};
    return poll(&one, 1, 0) == 1 && (one.revents & POLLIN) != 0;
}

TEST(TcpSocket, SeesWhatTheOtherKernelHasAcknowledged)
{
    Server server;
    ASSERT_TRUE(server.there());
    Fd   client = server.connect(), accepted = server.accept();
    char text[1000] = {};
    ASSERT_EQ(send(client, text, sizeof(text), 0), 1000);
    StreamState sent, got;
    ASSERT_TRUE(becomes_true([&] {
        return tcp_socket::look(client, sent) && sent.unacked.is_zero();
    }));
    EXPECT_EQ(sent.phase, Phase::Established);
    EXPECT_EQ(sent.segments, 0u);
    EXPECT_GE(sent.acked, 1000u);
    EXPECT_FALSE(sent.window_shut());
    EXPECT_GT(sent.rtt.count(), 0);
    EXPECT_GT(sent.timeout, sent.rtt);
    EXPECT_LT(sent.since_ack, sched::Nanos::seconds(60));
    EXPECT_LT(sent.since_sent, sched::Nanos::seconds(60));
    ASSERT_TRUE(tcp_socket::look(accepted, got));
    EXPECT_EQ(got.received, 1000u);
}

TEST(TcpSocket, AReceiverThatDoesNotReadShutsItsWindow)
{
    Server server;
    ASSERT_TRUE(server.there());
    Fd           client = server.connect(), accepted = server.accept();
    const size_t wrote = fill(client);
    StreamState  state;
    /* It is asked for more room, and answers each time. */
    ASSERT_TRUE(becomes_true([&] {
        return tcp_socket::look(client, state) && state.window_shut() &&
               state.backoff != 0 && state.probes == 0;
    }));
    EXPECT_EQ(state.phase, Phase::Established);
    EXPECT_EQ(state.retransmits, 0u);
    EXPECT_EQ(state.in_flight(), sched::Bytes());
    EXPECT_FALSE(state.unsent.is_zero());
    EXPECT_GE(state.acked + state.unacked.count(), wrote);
    /* And opens it. */
    std::string data(wrote, ' ');
    ASSERT_EQ(recv(accepted, data.data(), wrote, MSG_WAITALL),
              static_cast<ssize_t>(wrote));
    ASSERT_TRUE(becomes_true([&] {
        return tcp_socket::look(client, state) && !state.window_shut() &&
               state.unacked.is_zero();
    }));
}

TEST(TcpSocket, OneThatTheOtherSideHasClosedIsClosed)
{
    Server server;
    ASSERT_TRUE(server.there());
    Fd client = server.connect();
    {
        Fd accepted = server.accept();
    }
    StreamState state;
    EXPECT_TRUE(becomes_true([&] {
        return tcp_socket::look(client, state) && state.phase == Phase::Closed;
    }));
}

/* Only a reset that is the first word of the other kernel says that nobody listens. */
TEST(TcpSocket, TellsARefusalFromAnyOtherEnd)
{
    StreamState      state;
    sockaddr_storage address;
    {
        Server server;
        address = server.address();
        Fd client(server.connect());
        {
            Fd     accepted = server.accept();
            linger reset{1, 0};
            setsockopt(accepted, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        }
        ASSERT_TRUE(becomes_true([&] {
            return tcp_socket::look(client, state) &&
                   state.phase == StreamState::Phase::Closed;
        }));
        EXPECT_FALSE(state.refused());
        EXPECT_FALSE(state.unreachable());
    }
    Fd client(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    ASSERT_TRUE(tcp_socket::look(client, state));
    EXPECT_TRUE(state.unreachable()); /* nothing has come from anywhere */
    connect(client, reinterpret_cast<const sockaddr *>(&address), sizeof(sockaddr_in));
    ASSERT_TRUE(becomes_true([&] {
        return tcp_socket::look(client, state) &&
               state.phase == StreamState::Phase::Closed;
    }));
    EXPECT_TRUE(state.refused());
    EXPECT_FALSE(state.unreachable());
}

TEST(TcpSocket, WhatIsNoConnection)
{
    Server server;
    ASSERT_TRUE(server.there());
    Fd  unconnected(socket(AF_INET, SOCK_STREAM, 0));
    Fd  datagrams(socket(AF_INET, SOCK_DGRAM, 0));
    Fd  file(open("/dev/null", O_RDWR));
    StreamState   state;
    SocketAddress here, there;
    for (int fd : {static_cast<int>(datagrams), static_cast<int>(file), -1}) {
        EXPECT_FALSE(tcp_socket::look(fd, state)) << fd;
        EXPECT_FALSE(tcp_socket::end(fd, true)) << fd;
        EXPECT_FALSE(tcp_socket::discard(fd)) << fd;
        EXPECT_FALSE(tcp_socket::addresses(fd, here, there)) << fd;
    }
    EXPECT_FALSE(tcp_socket::look(server.fd(), state));
    EXPECT_FALSE(tcp_socket::addresses(unconnected, here, there));
    EXPECT_EQ(fcntl(file, F_GETFD), 0); /* still there */
}

TEST(TcpSocket, SeesWhereThisProcessListens)
{
    Fd               fd(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_storage address = loopback(AF_INET);
    socklen_t        length  = sizeof(address);
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(sockaddr_in)), 0);
    ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr *>(&address), &length), 0);
    const uint16_t port = ntohs(reinterpret_cast<sockaddr_in &>(address).sin_port);
    EXPECT_FALSE(tcp_socket::listens_here(port)); /* yet */
    ASSERT_EQ(listen(fd, 1), 0);
    EXPECT_TRUE(tcp_socket::listens_here(port));
    EXPECT_FALSE(tcp_socket::listens_here(static_cast<uint16_t>(port ^ 1)));
}

TEST(TcpSocket, ASilenceHasALimit)
{
    Fd fd(socket(AF_INET, SOCK_STREAM, 0));
    tcp_socket::limit_silence(fd, sched::Nanos::seconds(5));
    auto is = [&](int level, int name) {
        unsigned  value  = 0;
        socklen_t length = sizeof(value);
        EXPECT_EQ(getsockopt(fd, level, name, &value, &length), 0);
        return value;
    };
    EXPECT_EQ(is(IPPROTO_TCP, TCP_USER_TIMEOUT), 5000u);
    EXPECT_EQ(is(IPPROTO_TCP, TCP_KEEPIDLE), 1u);
    EXPECT_EQ(is(IPPROTO_TCP, TCP_KEEPINTVL), 1u);
    EXPECT_NE(is(SOL_SOCKET, SO_KEEPALIVE), 0u);
    tcp_socket::limit_silence(-1, sched::Nanos::seconds(5)); /* no harm */
}

TEST(TcpSocket, BothSidesNameTheSameTwoEnds)
{
    for (int family : {AF_INET, AF_INET6}) {
        Server server(family);
        if (family == AF_INET6 && !server.there()) {
            GTEST_SKIP() << "no IPv6 here";
        }
        ASSERT_TRUE(server.there());
        Fd            client = server.connect(), accepted = server.accept();
        SocketAddress a, b, c, d;
        ASSERT_TRUE(tcp_socket::addresses(client, a, b));
        ASSERT_TRUE(tcp_socket::addresses(accepted, c, d));
        EXPECT_EQ(a, d);
        EXPECT_EQ(b, c);
        EXPECT_EQ(b, server.at());
        EXPECT_EQ(a.family, family == AF_INET ? 4 : 6);
        EXPECT_NE(a.port, 0);
        EXPECT_NE(a, b);
    }
}

TEST(TcpSocket, AnIpv4AddressInIpv6IsOneOfIpv4)
{
    sockaddr_storage mapped{};
    auto &in6           = reinterpret_cast<sockaddr_in6 &>(mapped);
    in6.sin6_family     = AF_INET6;
    in6.sin6_port       = htons(77);
    const uint8_t ip[4] = {10, 1, 2, 3};
    in6.sin6_addr.s6_addr[10] = in6.sin6_addr.s6_addr[11] = 0xff;
    memcpy(in6.sin6_addr.s6_addr + 12, ip, sizeof(ip));
    SocketAddress address;
    ASSERT_TRUE(tcp_socket::from_kernel(mapped, address));
    EXPECT_EQ(address, (SocketAddress{4, {10, 1, 2, 3}, 77}));
    mapped.ss_family = AF_UNIX;
    EXPECT_FALSE(tcp_socket::from_kernel(mapped, address));
}

TEST(TcpSocket, AnEndDropsWhatHasCome)
{
    Server server;
    ASSERT_TRUE(server.there());
    Fd client = server.connect(), accepted = server.accept();
    Fd events(epoll_create1(0));
    epoll_event one{EPOLLIN, {}};
    ASSERT_EQ(epoll_ctl(events, EPOLL_CTL_ADD, accepted, &one), 0);
    EXPECT_GT(fill(client), 0u);
    ASSERT_TRUE(becomes_true([&] { return readable(accepted); }));
    ASSERT_TRUE(tcp_socket::end(accepted, true));
    /* Whoever waits to read is woken, by that and not by an error alone. */
    ASSERT_EQ(epoll_wait(events, &one, 1, 0), 1);
    EXPECT_NE(one.events & EPOLLIN, 0u);
    char byte;
    EXPECT_EQ(recv(accepted, &byte, 1, MSG_DONTWAIT), -1);
    EXPECT_EQ(errno, ECONNRESET);
    EXPECT_LE(recv(accepted, &byte, 1, MSG_DONTWAIT), 0);
    /* The other kernel is told, and drops what it had still to send. */
    ASSERT_TRUE(becomes_true([&] {
        return recv(client, &byte, 1, MSG_DONTWAIT) == -1 &&
               errno == ECONNRESET;
    }));
    StreamState state;
    ASSERT_TRUE(tcp_socket::look(client, state));
    EXPECT_EQ(state.phase, Phase::Closed);
    ASSERT_TRUE(tcp_socket::look(accepted, state));
    EXPECT_EQ(state.phase, Phase::Closed);
    EXPECT_TRUE(state.unacked.is_zero());
    EXPECT_TRUE(tcp_socket::end(accepted, true)); /* once more */
}

TEST(TcpSocket, AnEndDropsWhatWasToBeSent)
{
    Server server;
    ASSERT_TRUE(server.there());
    Fd           client = server.connect(), accepted = server.accept();
    const size_t wrote = fill(client);
    StreamState  state;
    ASSERT_TRUE(becomes_true([&] {
        return tcp_socket::look(client, state) && state.window_shut();
    }));
    ASSERT_TRUE(tcp_socket::end(client, true));
    EXPECT_EQ(send(client, "x", 1, MSG_NOSIGNAL), -1);
    EXPECT_EQ(errno, ECONNRESET);
    EXPECT_EQ(send(client, "x", 1, MSG_NOSIGNAL), -1);
    EXPECT_EQ(errno, EPIPE);
    /* It gets what its kernel had, and no more. */
    size_t      got = 0;
    std::string piece(65536, ' ');
    ssize_t     now;
    while ((now = recv(accepted, piece.data(), piece.size(), 0)) > 0) {
        got += static_cast<size_t>(now);
    }
    EXPECT_EQ(now, -1);
    EXPECT_EQ(errno, ECONNRESET);
    EXPECT_LT(got, wrote);
}

/* Without, the kernel resets the connection, and what it still has to send is
 * dropped. */
TEST(TcpSocket, WhatWasSentLastArrivesWhereTheRestIsNotRead)
{
    for (bool discards : {false, true}) {
        Server server;
        ASSERT_TRUE(server.there());
        std::optional<Fd> client(server.connect());
        Fd                accepted = server.accept();
        const size_t      wrote    = fill(*client); /* more than there is room for */
        const std::string late(10000, ' ');
        ASSERT_EQ(send(accepted, late.data(), late.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(late.size()));
        StreamState state;
        ASSERT_TRUE(becomes_true([&] {
            return tcp_socket::look(*client, state) &&
                   state.received >= late.size();
        }));
        if (discards) {
            EXPECT_TRUE(tcp_socket::discard(*client));
        }
        client.reset();
        size_t      got = 0;
        std::string piece(65536, ' ');
        ssize_t     now;
        while ((now = recv(accepted, piece.data(), piece.size(), 0)) > 0) {
            got += static_cast<size_t>(now);
        }
        EXPECT_EQ(now, discards ? 0 : -1);
        EXPECT_EQ(got == wrote, discards);
    }
}

TEST(TcpSocket, EndsThatOfTheNamedOriginAndNoOther)
{
    Server server, other;
    ASSERT_TRUE(server.there() && other.there());
    Fd first = server.connect(), accepted_first = server.accept();
    Fd second = server.connect(), accepted_second = server.accept();
    Fd elsewhere = other.connect(), accepted_elsewhere = other.accept();
    Fd events(epoll_create1(0)), others(epoll_create1(0));
    epoll_event one{EPOLLIN, {}};
    const auto watch = [&](int set, int fd) {
        ASSERT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, fd, &one), 0);
    };
    watch(events, accepted_first);
    watch(events, accepted_second);
    watch(events, elsewhere);
    watch(others, accepted_elsewhere);
    const auto ended = [](int fd) {
        StreamState state;
        return tcp_socket::look(fd, state) && state.phase == Phase::Closed;
    };
    /* Nobody, of another set, of another port of ours, and one that we made. */
    EXPECT_EQ(tcp_socket::end_from(events, server.at(), {4, {127, 0, 0, 2}, 1}, true),
              0u);
    EXPECT_EQ(tcp_socket::end_from(events, other.at(), here_of(elsewhere), true), 0u);
    EXPECT_EQ(tcp_socket::end_from(events, other.at(), here_of(first), true), 0u);
    EXPECT_EQ(tcp_socket::end_from(events, server.at(), other.at(), true), 0u);
    EXPECT_FALSE(ended(accepted_first) || ended(accepted_second) ||
                 ended(elsewhere) || ended(accepted_elsewhere));

    EXPECT_EQ(tcp_socket::end_from(events, server.at(), here_of(second), true), 1u);
    EXPECT_TRUE(ended(accepted_second));
    EXPECT_FALSE(ended(accepted_first) || ended(elsewhere) ||
                 ended(accepted_elsewhere));
    EXPECT_TRUE(becomes_true([&] { return ended(second); }));
    EXPECT_EQ(tcp_socket::end_from(events, server.at(), here_of(first), true), 1u);
    EXPECT_EQ(tcp_socket::end_from(others, other.at(), here_of(elsewhere), true), 1u);
    EXPECT_EQ(tcp_socket::end_from(-1, server.at(), server.at(), true), 0u);
}

/* The reset of who sent comes before: what came with it could still be read. */
TEST(TcpSocket, EndsOneThatWasResetAndHasUnreadBytes)
{
    for (int family : {AF_INET, AF_INET6}) {
        Server server(family);
        if (family == AF_INET6 && !server.there()) {
            GTEST_SKIP() << "no IPv6 here";
        }
        ASSERT_TRUE(server.there());
        Fd                  client = server.connect(), accepted = server.accept();
        const SocketAddress far = here_of(client);
        Fd                  events(epoll_create1(0));
        epoll_event         one{EPOLLIN, {}};
        ASSERT_EQ(epoll_ctl(events, EPOLL_CTL_ADD, accepted, &one), 0);
        ASSERT_EQ(send(client, "abc", 3, 0), 3);
        ASSERT_TRUE(becomes_true([&] { return readable(accepted); }));
        ASSERT_TRUE(tcp_socket::end(client, true));
        StreamState state;
        ASSERT_TRUE(becomes_true([&] {
            return tcp_socket::look(accepted, state) &&
                   state.phase == Phase::Closed;
        }));
        char bytes[3];
        ASSERT_EQ(recv(accepted, bytes, 3, MSG_PEEK | MSG_DONTWAIT), 3);
        EXPECT_EQ(tcp_socket::end_from(events, server.at(), far, true), 1u);
        EXPECT_LE(recv(accepted, bytes, 3, MSG_DONTWAIT), 0);
        EXPECT_EQ(tcp_socket::end_from(events, server.at(), far, true), 0u);
    }
}

TEST(TcpSocket, ThoseThatAnEpollSetWatches)
{
    Fd events(epoll_create1(0));
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    Fd a(ends[0]), b(ends[1]);
    EXPECT_TRUE(tcp_socket::watched_by(events).empty());
    EXPECT_TRUE(tcp_socket::watched_by(a).empty());
    epoll_event one{EPOLLIN, {}};
    ASSERT_EQ(epoll_ctl(events, EPOLL_CTL_ADD, a, &one), 0);
    EXPECT_EQ(tcp_socket::watched_by(events), std::vector<int>{a});
    /* More than comes with one read. */
    std::vector<Fd> many;
    for (int i = 0; i < 300; ++i) {
        many.emplace_back(dup(b));
        ASSERT_EQ(epoll_ctl(events, EPOLL_CTL_ADD, many.back(), &one), 0);
    }
    EXPECT_EQ(tcp_socket::watched_by(events).size(), 301u);
}

TEST(TcpSocket, ReadsWhatTheKernelSaysOfAnEpollSet)
{
    EXPECT_EQ(tcp_socket::watched_in(
                  "pos:\t0\nflags:\t02\nmnt_id:\t15\n"
                  "tfd:       12 events:       19 data:     7f00 pos:0 ino:8\n"
                  "tfd:      507 events: 80000019 data: ffffffffffffffff\n"),
              (std::vector<int>{12, 507}));
    EXPECT_TRUE(tcp_socket::watched_in("").empty());
    EXPECT_TRUE(tcp_socket::watched_in("tfd:").empty());
    EXPECT_TRUE(tcp_socket::watched_in("tfd:   ").empty());
    EXPECT_TRUE(tcp_socket::watched_in("tfd: -5 events").empty());
    EXPECT_TRUE(tcp_socket::watched_in("tfd: x\n\n\ntf").empty());
    EXPECT_EQ(tcp_socket::watched_in("tfd: 3"), std::vector<int>{3});
}

} // namespace
} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "channel.h"

#include "failure.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace fltest {
namespace {

using Clock = std::chrono::steady_clock;

sockaddr_in socket_address(const Place &place)
{
    sockaddr_in result{};
    result.sin_family = AF_INET;
    result.sin_port   = htons(static_cast<uint16_t>(place.port));
    REQUIRE(inet_pton(AF_INET, place.address.c_str(), &result.sin_addr) == 1,
            "'%s' is not an IPv4 address", place.address.c_str());
    return result;
}

void set_nodelay(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

bool wait_readable(int fd, double seconds)
{
    pollfd entry{fd, POLLIN, 0};
    return poll(&entry, 1, static_cast<int>(seconds * 1000)) == 1;
}

void receive_all(int fd, void *data, size_t length, double seconds)
{
    auto *at = static_cast<char *>(data);
    while (length != 0) {
        REQUIRE(wait_readable(fd, seconds),
                "the other process said nothing for %g s", seconds);
        ssize_t n = recv(fd, at, length, 0);
        REQUIRE(n > 0, "the other process has left");
        at     += n;
        length -= static_cast<size_t>(n);
    }
}

void send_all(int fd, const void *data, size_t length)
{
    auto *at = static_cast<const char *>(data);
    while (length != 0) {
        ssize_t n = ::send(fd, at, length, MSG_NOSIGNAL);
        REQUIRE(n > 0, "the other process has left");
        at     += n;
        length -= static_cast<size_t>(n);
    }
}

} // namespace

Channel::~Channel()
{
    if (fd_ >= 0) {
        close(fd_);
    }
}

Channel Channel::connect(const Place &place, double seconds)
{
    sockaddr_in to = socket_address(place);
    auto deadline  = Clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        REQUIRE(fd >= 0, "socket(): %s", strerror(errno));
        if (::connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof(to)) == 0) {
            set_nodelay(fd);
            return Channel(fd);
        }
        int error = errno;
        close(fd);
        REQUIRE(Clock::now() < deadline, "cannot connect to %s:%d: %s",
                place.address.c_str(), place.port, strerror(error));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

void Channel::send(const Bytes &message) const
{
    /* In one piece: who finds the beginning may read, and leave. */
    uint64_t length = message.size();
    Bytes    whole(sizeof(length) + message.size());
    memcpy(whole.data(), &length, sizeof(length));
    std::copy(message.begin(), message.end(), whole.begin() + sizeof(length));
    send_all(fd_, whole.data(), whole.size());
}

Bytes Channel::receive(double seconds) const
{
    uint64_t length;
    receive_all(fd_, &length, sizeof(length), seconds);
    REQUIRE(length < (1u << 20), "garbage on the management connection");
    Bytes message(length);
    receive_all(fd_, message.data(), length, seconds);
    return message;
}

bool Channel::readable() const
{
    return wait_readable(fd_, 0);
}

void Channel::send_mark(uint64_t mark) const
{
    Bytes message(sizeof(mark));
    memcpy(message.data(), &mark, sizeof(mark));
    send(message);
}

void Channel::expect_mark(uint64_t mark, double seconds) const
{
    Bytes message = receive(seconds);
    uint64_t got  = ~uint64_t{0};
    if (message.size() == sizeof(got)) {
        memcpy(&got, message.data(), sizeof(got));
    }
    REQUIRE(got == mark, "the processes are out of step: mark %lu, not %lu",
            static_cast<unsigned long>(got), static_cast<unsigned long>(mark));
}

Listener::Listener(const Place &place)
    : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
    int one        = 1;
    sockaddr_in at = socket_address(place);
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    REQUIRE(bind(fd_, reinterpret_cast<sockaddr *>(&at), sizeof(at)) == 0 &&
                listen(fd_, 16) == 0,
            "cannot listen on %s:%d: %s", place.address.c_str(), place.port,
            strerror(errno));
}

Listener::~Listener()
{
    close(fd_);
}

Channel Listener::accept(double seconds) const
{
    REQUIRE(wait_readable(fd_, seconds), "nobody connected for %g s", seconds);
    int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    REQUIRE(fd >= 0, "accept(): %s", strerror(errno));
    set_nodelay(fd);
    return Channel(fd);
}

} // namespace fltest

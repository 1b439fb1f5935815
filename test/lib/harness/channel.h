/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_CHANNEL_H
#define FUSELINK_TEST_CHANNEL_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fltest {

using Bytes = std::vector<uint8_t>;

/** Where a process listens. */
struct Place {
    std::string address;
    int         port;
};

/** Messages between the two processes of a case, beside what is tested: a TCP
 *  connection over the management network. Every wait has a limit. */
class Channel {
public:
    Channel() = default;
    explicit Channel(int fd) : fd_(fd) {}
    ~Channel();
    Channel(Channel &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Channel &operator=(Channel &&other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }

    /** Tries until somebody listens there, or `seconds` have passed. */
    static Channel connect(const Place &place, double seconds);

    void  send(const Bytes &message) const;
    Bytes receive(double seconds = 30) const;

    /** True if receive() would find a message, or the other's end. */
    bool readable() const;

    /** A number that both sides pass at the same time. */
    void send_mark(uint64_t mark) const;
    void expect_mark(uint64_t mark, double seconds = 30) const;

    bool open() const { return fd_ >= 0; }
    int  fd() const { return fd_; }

private:
    int fd_ = -1;
};

/** A listening socket. */
class Listener {
public:
    explicit Listener(const Place &place);
    ~Listener();
    Listener(const Listener &)            = delete;
    Listener &operator=(const Listener &) = delete;

    Channel accept(double seconds) const;

private:
    int fd_;
};

} // namespace fltest

#endif

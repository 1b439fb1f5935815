/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_UNIT_PROCESS_H
#define FUSELINK_CUDASIM_UNIT_PROCESS_H

#include <functional>
#include <map>
#include <string>
#include <sys/types.h>
#include <type_traits>

namespace cudasim_test {

/** To the process at the other end. */
class Channel {
public:
    explicit Channel(int fd) : fd_(fd) {}

    template <typename T> void send(const T &value)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        send_bytes(&value, sizeof(value));
    }
    /** Zeros if the other end is gone. */
    template <typename T> T receive()
    {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        receive_bytes(&value, sizeof(value));
        return value;
    }

private:
    void send_bytes(const void *data, size_t size);
    void receive_bytes(void *data, size_t size);

    int fd_;
};

using Settings = std::map<std::string, std::string>;

/**
 * A process with an emulated node of its own: the driver reads its settings
 * once, and does not live through a fork, so this program itself never calls
 * it.
 */
class Process {
public:
    /** @param topology text of a topology file
     *  @param body what it does; what it EXPECTs counts */
    Process(const std::string &topology, std::function<void(Channel &)> body,
            const Settings &settings = {});
    ~Process();
    Process(const Process &)            = delete;
    Process &operator=(const Process &) = delete;

    Channel &channel() { return channel_; }
    pid_t    pid() const { return pid_; }
    void     kill_9();
    /** Was all it expected so? */
    bool good();
    /** The signal that ended it, or 0. */
    int signal();

private:
    int wait();

    pid_t   pid_ = -1;
    int     fd_  = -1;
    Channel channel_{-1};
    int     status_ = -1;
};

/** The body in a process; for tests that need one only. */
void run(const std::string &topology, std::function<void()> body,
         const Settings &settings = {});

} // namespace cudasim_test

#endif

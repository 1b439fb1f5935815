/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_FABRIC_BELL_H
#define FUSELINK_TEST_SIM_FABRIC_BELL_H

#include <sys/eventfd.h>
#include <unistd.h>

namespace fuselink::sim {

/** A descriptor for who sleeps, which is readable from ring() to hush(). Of either only
 *  the first is a system call. */
class Bell {
public:
    Bell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
    ~Bell()
    {
        if (fd_ >= 0) {
            close(fd_);
        }
    }
    Bell(const Bell &)            = delete;
    Bell &operator=(const Bell &) = delete;

    /** -1: there was no descriptor left. */
    int  fd() const { return fd_; }
    bool is_rung() const { return rung_; }
    void ring()
    {
        if (!rung_) {
            rung_ = true;
            eventfd_write(fd_, 1);
        }
    }
    void hush()
    {
        if (rung_) {
            rung_ = false;
            eventfd_t times;
            eventfd_read(fd_, &times);
        }
    }

private:
    const int fd_;
    bool      rung_ = false;
};

} // namespace fuselink::sim

#endif

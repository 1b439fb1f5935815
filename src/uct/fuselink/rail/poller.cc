/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "poller.h"

#include <sys/epoll.h>
#include <unistd.h>

namespace fuselink {

Poller::Poller()
    : cold_interval_(ucs_time_from_sec(kColdInterval)),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC))
{
}

Poller::~Poller()
{
    if (epoll_fd_ >= 0) {
        close(epoll_fd_);
    }
}

ucs_status_t Poller::add(LowerIface &iface, unsigned &index)
{
    if (epoll_fd_ < 0) {
        ucs_error("fuselink: epoll_create1() failed: %m");
        return UCS_ERR_IO_ERROR;
    }
    if (count_ == kMaxIfaces) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }
    Entry &entry = entries_[count_];
    entry.iface  = &iface;

    int fd;
    if ((iface.attr().cap.event_flags & UCT_IFACE_FLAG_EVENT_FD) &&
        uct_iface_event_fd_get(iface.handle(), &fd) == UCS_OK) {
        epoll_event event{};
        event.events   = EPOLLIN;
        event.data.u32 = count_;
        if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
            ucs_error("fuselink: epoll_ctl(%s/%s) failed: %m",
                      iface.tl().c_str(), iface.device().c_str());
            return UCS_ERR_IO_ERROR;
        }
    } else {
        entry.always = true;
        hot_        |= uint64_t{1} << count_;
    }
    index = count_++;
    return UCS_OK;
}

unsigned Poller::poll_one(unsigned index)
{
    Entry &entry = entries_[index];
    busy_        = true;
    unsigned n   = uct_iface_progress(entry.iface->handle());
    busy_        = false;
    if (n != 0) {
        entry.idle = 0;
    } else if (++entry.idle > kIdleLimit && entry.holds == 0 &&
               !entry.always) {
        hot_ &= ~(uint64_t{1} << index);
    }
    return n;
}

unsigned Poller::poll_cold()
{
    epoll_event events[kMaxIfaces];
    int n = epoll_wait(epoll_fd_, events, static_cast<int>(count_), 0);
    unsigned progressed = 0;
    for (int i = 0; i < n; ++i) {
        unsigned index = events[i].data.u32;
        uint64_t bit   = uint64_t{1} << index;
        if (!(hot_ & bit)) {
            hot_ |= bit;
            entries_[index].idle = 0;
            progressed += poll_one(index);
        }
    }
    return progressed;
}

unsigned Poller::progress()
{
    unsigned count = 0;
    for (uint64_t mask = hot_; mask != 0; mask &= mask - 1) {
        count += poll_one(static_cast<unsigned>(__builtin_ctzll(mask)));
    }

    /* Reading the clock is cheap, but this runs in the busiest loop of a
     * process whose traffic may all be within the node. */
    if ((++tick_ & 7) == 0 || force_cold_) {
        ucs_time_t now = ucs_get_time();
        if (now >= next_cold_ || force_cold_) {
            force_cold_ = false;
            next_cold_  = now + cold_interval_;
            count      += poll_cold();
        }
    }
    return count;
}

ucs_status_t Poller::arm(unsigned events)
{
    for (unsigned i = 0; i < count_; ++i) {
        ucs_status_t status = uct_iface_event_arm(entries_[i].iface->handle(),
                                                  events);
        if (status != UCS_OK) {
            return status;
        }
    }
    /* Whatever ends the wait is then seen by the first progress call. */
    force_cold_ = true;
    return UCS_OK;
}

} // namespace fuselink

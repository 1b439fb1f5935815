/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "poller.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace fuselink {
namespace {

constexpr uint32_t kWakeIndex = UINT32_MAX; /* not an interface */

} // namespace

Poller::Poller()
    : cold_interval_busy_(ucs_time_from_sec(kColdIntervalBusy)),
      cold_interval_idle_(ucs_time_from_sec(kColdIntervalIdle)),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))
{
    epoll_event event{};
    event.events   = EPOLLIN;
    event.data.u32 = kWakeIndex;
    if (epoll_fd_ >= 0 && wake_fd_ >= 0 &&
        epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event) != 0) {
        close(wake_fd_);
        wake_fd_ = -1;
    }
}

Poller::~Poller()
{
    if (epoll_fd_ >= 0) {
        close(epoll_fd_);
    }
    if (wake_fd_ >= 0) {
        close(wake_fd_);
    }
}

void Poller::on_async_event(void *arg, unsigned)
{
    uint64_t one = 1;
    /* Full means that it is readable, which is all that is wanted. */
    ssize_t written = write(static_cast<Poller *>(arg)->wake_fd_, &one,
                            sizeof(one));
    (void)written;
}

ucs_status_t Poller::add(LowerIface &iface, bool cheap, unsigned &index)
{
    if (epoll_fd_ < 0 || wake_fd_ < 0) {
        ucs_error("fuselink: no file descriptors to wait with: %m");
        return UCS_ERR_IO_ERROR;
    }
    if (count_ == kMaxIfaces) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }
    Entry &entry = entries_[count_];
    entry.iface  = &iface;
    entry.cheap  = cheap;
    if (!(iface.attr().cap.event_flags & UCT_IFACE_FLAG_EVENT_FD) ||
        uct_iface_event_fd_get(iface.handle(), &entry.fd) != UCS_OK) {
        entry.fd    = -1;
        entry.cheap = true;
    }
    if (entry.cheap) {
        hot_ |= uint64_t{1} << count_;
    } else {
        watch(count_, true);
        if (!entry.watched) {
            return UCS_ERR_IO_ERROR;
        }
    }
    index = count_++;
    return UCS_OK;
}

void Poller::remove(unsigned index)
{
    watch(index, false);
    hot_           &= ~(uint64_t{1} << index);
    entries_[index] = Entry{};
    --count_;
}

void Poller::watch(unsigned index, bool on)
{
    Entry &entry = entries_[index];
    if (entry.fd < 0 || entry.watched == on) {
        return;
    }
    epoll_event event{};
    event.events   = EPOLLIN;
    event.data.u32 = index;
    if (epoll_ctl(epoll_fd_, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, entry.fd,
                  &event) != 0) {
        ucs_error("fuselink: epoll_ctl(%s/%s) failed: %m",
                  entry.iface->tl().c_str(), entry.iface->device().c_str());
        return;
    }
    entry.watched = on;
}

/* A hot interface leaves the epoll set: its own set would wake the outer one
 * at each packet, which is a tenth of the cost of a small message. */
void Poller::heat(unsigned index)
{
    hot_ |= uint64_t{1} << index;
    entries_[index].idle = 0;
    watch(index, false);
}

void Poller::cool(unsigned index)
{
    if (entries_[index].cheap) {
        return;
    }
    watch(index, true);
    if (entries_[index].watched) {
        hot_ &= ~(uint64_t{1} << index);
    }
}

unsigned Poller::poll_one(unsigned index)
{
    Entry &entry = entries_[index];
    busy_        = true;
    unsigned n   = uct_iface_progress(entry.iface->handle());
    busy_        = false;
    if (n != 0) {
        entry.idle = 0;
    } else if (++entry.idle > kIdleLimit && entry.holds == 0) {
        entry.idle = 0;
        cool(index);
    }
    return n;
}

unsigned Poller::poll_cold()
{
    epoll_event events[kMaxIfaces + 1];
    int n = epoll_wait(epoll_fd_, events, static_cast<int>(count_) + 1, 0);
    unsigned progressed = 0;
    for (int i = 0; i < n; ++i) {
        unsigned index = events[i].data.u32;
        if (index == kWakeIndex) {
            continue; /* those interfaces are polled anyway */
        }
        uint64_t bit   = uint64_t{1} << index;
        if (!(hot_ & bit)) {
            heat(index);
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
            if (armed_) {
                disarm();
            }
            next_cold_  = now + (hot_ != 0 ? cold_interval_busy_ :
                                             cold_interval_idle_);
            count      += poll_cold();
        }
    }
    return count;
}

ucs_status_t Poller::arm(unsigned events)
{
    uint64_t seen; /* what it said is in the past; from here on it counts */
    ssize_t  got = read(wake_fd_, &seen, sizeof(seen));
    (void)got;
    for (unsigned i = 0; i < count_; ++i) {
        ucs_status_t status = uct_iface_event_arm(entries_[i].iface->handle(),
                                                  events);
        if (status != UCS_OK) {
            return status;
        }
    }
    /* While the user sleeps, the hot ones must be able to wake it too. What
     * ends the wait is then seen by the first progress call. */
    for (unsigned i = 0; i < count_; ++i) {
        watch(i, true);
    }
    force_cold_ = true;
    armed_      = true;
    return UCS_OK;
}

/* The sleep is over: see heat(). */
void Poller::disarm()
{
    armed_ = false;
    for (uint64_t mask = hot_; mask != 0; mask &= mask - 1) {
        watch(static_cast<unsigned>(__builtin_ctzll(mask)), false);
    }
}

} // namespace fuselink

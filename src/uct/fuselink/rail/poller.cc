/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "poller.h"

#include <algorithm>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace fuselink {
namespace {

constexpr uint32_t kWakeIndex = UINT32_MAX; /* not an interface */

/* So many that all that was in a queue has been seen, also if others fill it
 * meanwhile: UCX takes 16 messages at a time of some 4000. */
constexpr unsigned kMostPolls = 1024;
/* So many in a row that count nothing: UCX's TCP counts no event of which nobody hears. */
constexpr unsigned kNothing = 8;

} // namespace

Poller::Poller(const Host &host)
    : host_(host), epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      alarm_(host.make_alarm())
{
    epoll_event event{};
    event.events   = EPOLLIN;
    event.data.u32 = kWakeIndex;
    if (epoll_fd_ >= 0 && wake_fd_ >= 0 &&
        epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event) != 0) {
        close(wake_fd_);
        wake_fd_ = -1;
    }
    if (alarm_ && epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, alarm_->fd(), &event) != 0) {
        alarm_.reset();
    }
}

void Poller::wake_by(int fd)
{
    epoll_event event{};
    event.events   = EPOLLIN;
    event.data.u32 = kWakeIndex;
    if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
        ucs_debug("fuselink: epoll_ctl(%d) failed: %m", fd);
    }
}

void Poller::wake_in(sched::Nanos time)
{
    if (alarm_ && (alarm_set_ || time != sched::Nanos())) {
        alarm_set_ = time != sched::Nanos();
        alarm_->set(time);
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

ucs_status_t Poller::add(uct_iface_h iface, uint64_t event_flags,
                         const std::string &name, bool cheap, unsigned &index)
{
    if (epoll_fd_ < 0 || wake_fd_ < 0) {
        ucs_error("fuselink: no file descriptors to wait with: %m");
        return UCS_ERR_IO_ERROR;
    }
    if (count_ == kMaxIfaces) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }
    Entry &entry   = entries_[count_];
    entry.iface    = iface;
    names_[count_] = name;
    if (!(event_flags & UCT_IFACE_FLAG_EVENT_FD) ||
        uct_iface_event_fd_get(iface, &entry.fd) != UCS_OK) {
        entry.fd = -1;
        cheap    = true;
    }
    if (cheap) {
        cheap_ |= uint64_t{1} << count_;
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
    cheap_         &= ~(uint64_t{1} << index);
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
        ucs_error("fuselink: epoll_ctl(%s) failed: %m", names_[index].c_str());
        return;
    }
    entry.watched = on;
    watched_     += on ? 1 : -1;
}

/* A hot interface leaves the epoll set: its own set would wake the outer one
 * at each packet, which is a tenth of the cost of a small message. */
void Poller::heat(unsigned index)
{
    hot_ |= uint64_t{1} << index;
    fruitless_           = 0;
    entries_[index].idle = 0;
    watch(index, false);
}

/* Nothing happened there for a while. */
void Poller::cool(unsigned index)
{
    entries_[index].idle = 0;
    if (entries_[index].holds != 0) {
        return;
    }
    uint64_t bit = uint64_t{1} << index;
    if (!(cheap_ & bit)) {
        watch(index, true);
        if (!entries_[index].watched) {
            return;
        }
    }
    hot_ &= ~bit;
}

void Poller::drain(unsigned index)
{
    unsigned nothing = 0;
    for (unsigned polls = 0; polls < kMostPolls && nothing < kNothing; ++polls) {
        nothing = poll(index) != 0 ? 0 : nothing + 1;
    }
}

unsigned Poller::poll_cold()
{
    unsigned progressed = 0;
    for (uint64_t mask = cheap_ & ~hot_; mask != 0; mask &= mask - 1) {
        unsigned index = static_cast<unsigned>(__builtin_ctzll(mask));
        unsigned n     = poll(index);
        if (n != 0) {
            heat(index);
            progressed += n;
        }
    }
    if (watched_ == 0) {
        return progressed;
    }
    /* Three wake: ourselves, the alarm, and who tells of links. */
    epoll_event events[kMaxIfaces + 3];
    int n = epoll_wait(epoll_fd_, events, static_cast<int>(count_) + 3, 0);
    for (int i = 0; i < n; ++i) {
        unsigned index = events[i].data.u32;
        if (index == kWakeIndex) {
            continue; /* those interfaces are polled anyway */
        }
        uint64_t bit   = uint64_t{1} << index;
        if (!(hot_ & bit)) {
            heat(index);
            progressed += poll(index);
        }
    }
    return progressed;
}

/* `found`: by polling the hot ones, in the same call. */
unsigned Poller::look_at_cold(unsigned found)
{
    const sched::Nanos now = host_.now();
    const bool forced = forced_;
    forced_           = false;
    if (armed_) {
        disarm();
    }
    const bool rdma = hot_ != 0 && (hot_ & ~cheap_) == 0 && watched_ == 0;
    stride_         = rdma ? kStrideCheap : kStride;
    until_cold_     = stride_;
    all_looked_at_  = forced || now >= next_cold_;
    if (!all_looked_at_) {
        return 0;
    }
    unsigned count = poll_cold();
    quiet_         = found + count == 0;
    if (rdma) {
        fruitless_ = count != 0 ? 0 : fruitless_ + 1;
        next_cold_ = now + std::min(kColdIntervalRdma * (1 + fruitless_ / 8),
                                    kColdIntervalMost);
    } else {
        fruitless_ = 0;
        next_cold_ = now + (hot_ != 0 ? kColdIntervalBusy :
                                        kColdIntervalIdle);
    }
    return count;
}

ucs_status_t Poller::arm(unsigned events)
{
    /* What an interface's own thread said may be for its progress to go on
     * with, and a queue that has something already does not say so when it is
     * armed. So interfaces that are polled were all polled just now, and
     * nobody has said anything since. */
    uint64_t   seen;
    const bool said = read(wake_fd_, &seen, sizeof(seen)) > 0;
    if (said || (cheap_ != 0 &&
                 !(all_looked_at_ && until_cold_ == stride_))) {
        look_next_time();
        armed_for_ = 0;
        return UCS_ERR_BUSY;
    }
    const bool sure = cheap_ == 0 || (armed_for_ == events && quiet_);
    armed_for_      = 0;
    for (unsigned i = 0; i < count_; ++i) {
        ucs_status_t status = uct_iface_event_arm(entries_[i].iface, events);
        if (status != UCS_OK) {
            return status;
        }
    }
    look_next_time();
    if (!sure) {
        armed_for_ = events;
        return UCS_ERR_BUSY;
    }
    /* While the user sleeps, the hot ones must be able to wake it too. What
     * ends the wait is then seen by the first progress call. */
    for (unsigned i = 0; i < count_; ++i) {
        watch(i, true);
    }
    armed_ = true;
    return UCS_OK;
}

/* The next progress() polls all there is. */
void Poller::look_next_time()
{
    until_cold_ = 1;
    forced_     = true;
}

/* The sleep is over: see heat(). What is polled needs no watching. */
void Poller::disarm()
{
    armed_ = false;
    for (uint64_t mask = hot_ | cheap_; mask != 0; mask &= mask - 1) {
        watch(static_cast<unsigned>(__builtin_ctzll(mask)), false);
    }
}

} // namespace fuselink

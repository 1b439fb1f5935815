/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "deputy.h"

#include "../../../ucs_ext/progress_choice.h"
#include "engine.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace fuselink {

Deputy::Deputy(Host &host, Engine &engine, Turns &turns)
    : host_(host), engine_(engine), turns_(turns),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))
{
}

Deputy::~Deputy()
{
    work_.reset(); /* it comes to an end */
    turns_.share(false);
    if (wake_fd_ >= 0) {
        close(wake_fd_);
    }
}

bool Deputy::start(std::string &error)
{
    if (wake_fd_ < 0) {
        error = "no file descriptor to be woken by";
        return false;
    }
    turns_.share(true);
    called_ = moved_ = host_.now();
    work_ = host_.begin_work(*this, error);
    if (!work_) {
        turns_.share(false);
    }
    return work_ != nullptr;
}

void Deputy::stop()
{
    stop_.store(true, std::memory_order_relaxed);
    uint64_t one     = 1;
    ssize_t  written = write(wake_fd_, &one, sizeof(one));
    (void)written;
}

/* The program has called not long ago, or is inside of a call. */
bool Deputy::present(sched::Nanos now)
{
    const uint64_t calls = turns_.calls();
    if (calls != calls_) {
        const uint64_t events = engine_.events();
        calls_  = calls;
        called_ = now;
        if (helps_) {
            helps_     = false;
            helped_[1] = helped_[0];
            helped_[0] = now;
        }
        if (events != events_) {
            events_ = events;
            moved_  = now;
        }
    }
    return now - called_ < (shares(now) ? kAwaySoon : kAway);
}

bool Deputy::step()
{
    const sched::Nanos now = host_.now();
    if (present(now)) {
        asleep_ = false;
        naps_   = 0;
        next_   = now + (now - moved_ < kLately ? tick(now) : idle(now));
        return false;
    }
    if (!turns_.take()) {
        next_ = now + tick(now); /* in a long call, such as a handler of its own */
        return false;
    }
    const bool     can   = engine_.may_deputize();
    const unsigned found = can ? work() : 0;
    naps_   = found != 0 ? 0 : naps_ + 1;
    moved_  = found != 0 ? now : moved_;
    helps_  = helps_ || found != 0;
    asleep_ = can && naps_ > kNaps && engine_.sleep_away();
    const bool places = found != 0 && now >= place_at_ && engine_.loads().bound().any();
    const std::shared_ptr<Board> board = places ? engine_.loads().board() : nullptr;
    turns_.give_back();
    if (board != nullptr) { /* else nobody knows where others are */
        place_at_ = now + kPlace;
        place(*board);
    }
    const sched::Nanos then = host_.now();
    /* Of a program that sleeps, or has much to hear, nothing comes soon. */
    next_ = then + (can && !asleep_ ? kNap : idle(then));
    return found == kRounds && then - now > kMuch;
}

/* Outside of its turn: the kernel may be asked for many a file. */
void Deputy::place(const Board &board)
{
    const CpuSet      &own   = engine_.loads().bound();
    const Board::Bound bound = board.bound();
    const CpuSet best = place_beside(host_.cpus(), own, bound.cpus | own, bound.seats);
    if (best != place_ && host_.cpus().bind(best)) {
        place_ = best;
        ucs_debug("fuselink: data moves beside the program on %zu CPUs%s", best.count(),
                  best == own ? ", its own: others are bound to the rest" : "");
    }
}

/* Returns in how many rounds there was something to do. */
unsigned Deputy::work()
{
    unsigned found = 0;
    while (found < kRounds && engine_.progress_away() != 0) {
        ++found;
        if (!engine_.may_deputize() || turns_.wanted() || over()) {
            break;
        }
    }
    return found;
}

void Deputy::wait(sched::Nanos most)
{
    pollfd   fds[2] = {{wake_fd_, POLLIN, 0}, {engine_.poller().event_fd(), POLLIN, 0}};
    timespec time   = {};
    const int64_t ns = std::max<int64_t>(most.count(), 0);
    time.tv_sec      = ns / 1000000000;
    time.tv_nsec     = ns % 1000000000;
    ppoll(fds, asleep_ ? 2 : 1, &time, nullptr);
}

} // namespace fuselink

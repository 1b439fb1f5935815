/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "deputy.h"

#include "../../../ucs_ext/progress_choice.h"
#include "engine.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace fuselink {

Deputy::Deputy(Host &host, Engine &engine, Turns &turns, bool crowded)
    : host_(host), engine_(engine), turns_(turns), crowded_(crowded),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), presence_(host.now())
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

void Deputy::begin()
{
    if (crowded_ && !host_.cpus().give_way(kNice)) {
        ucs_debug("fuselink: the thread beside the program does not give way to others: %m");
    }
}

bool Deputy::is_present(sched::Nanos now)
{
    if (presence_.note_calls(now, turns_.calls())) {
        presence_.note_events(now, engine_.events());
    }
    return presence_.is_there(now);
}

bool Deputy::step()
{
    const sched::Nanos now = host_.now();
    if (is_present(now)) {
        asleep_ = false;
        naps_   = 0;
        next_   = now + presence_.tick(now);
        return false;
    }
    if (!turns_.take()) {
        next_ = now + presence_.tick(now); /* in a long call, such as a handler of its own */
        return false;
    }
    const bool     can   = engine_.may_deputize();
    const unsigned found = can ? work() : 0;
    naps_   = found != 0 ? 0 : naps_ + 1;
    if (found != 0) {
        presence_.note_help(now);
    }
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
    next_ = then + (can && !asleep_ ? kNap : presence_.idle(then));
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

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "native_alarm.h"

#include <sys/timerfd.h>
#include <unistd.h>

namespace fuselink {

std::unique_ptr<NativeAlarm> NativeAlarm::make()
{
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return fd < 0 ? nullptr : std::unique_ptr<NativeAlarm>(new NativeAlarm(fd));
}

NativeAlarm::~NativeAlarm()
{
    close(fd_);
}

void NativeAlarm::set(sched::Nanos time)
{
    constexpr int64_t kSecond = 1'000'000'000;
    itimerspec        spec{};
    spec.it_value.tv_sec  = time.count() / kSecond;
    spec.it_value.tv_nsec = time.count() % kSecond;
    timerfd_settime(fd_, 0, &spec, nullptr); /* what had rung is forgotten */
}

} // namespace fuselink

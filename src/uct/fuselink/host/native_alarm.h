/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_NATIVE_ALARM_H
#define FUSELINK_HOST_NATIVE_ALARM_H

#include "alarm.h"

#include <memory>

namespace fuselink {

/** The kernel's: timerfd_create(2). */
class NativeAlarm final : public Alarm {
public:
    /** Null if there are no descriptors. */
    static std::unique_ptr<NativeAlarm> make();
    ~NativeAlarm() override;
    NativeAlarm(const NativeAlarm &)            = delete;
    NativeAlarm &operator=(const NativeAlarm &) = delete;

    int  fd() const override { return fd_; }
    void set(sched::Nanos time) override;

private:
    explicit NativeAlarm(int fd) : fd_(fd) {}

    const int fd_;
};

} // namespace fuselink

#endif

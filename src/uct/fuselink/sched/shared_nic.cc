/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "shared_nic.h"

#include "window.h"

#include <algorithm>

namespace fuselink::sched {

SharedNic SharedNic::of(const RateMeter &own, const RateMeter &total,
                        Nanos now, const Limits &limits, Bytes ahead,
                        uint32_t processes) noexcept
{
    SharedNic nic{.rate = own.rate(now),
                  .window = {},
                  .part = {},
                  .in_flight = own.in_flight(),
                  .ahead = ahead,
                  .processes = processes,
                  .known = own.known()};
    if (processes > 1) {
        /* Until the sum was measured: all get the same. */
        nic.rate = total.known() ? total.rate() :
                                   nic.rate * static_cast<double>(processes);
        nic.known = nic.known || total.known();
    }
    nic.window = nic.known ? window_for(nic.rate, limits, own.overhead()) :
                             window_for(own, now, limits);
    nic.window = (processes == 1) ? own.widened(nic.window) : nic.window;
    nic.part   = nic.window / processes;
    return nic;
}

void SharedNic::show(const RateMeter &path, uint32_t paths,
                     PathView &view) const noexcept
{
    const auto users = static_cast<double>(processes) * paths;
    view.window = std::min(view.window, (paths == 1) ? part : part / paths);
    view.ahead = ahead + (in_flight - path.in_flight());
    if (path.known()) {
        /* One that gets less than an equal part has another bottleneck. */
        view.rate = std::max(view.rate, std::min(rate, view.rate * users));
    } else if (known) {
        view.rate = rate;
    }
}

} // namespace fuselink::sched

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "nic.h"

#include "window.h"

#include <algorithm>

namespace fuselink::sched {

/* What the NIC carries when somebody always has bytes in flight there. */
void Nic::measure(const Others &others, Nanos now) noexcept
{
    const uint64_t sum  = others.completed + m_carried;
    const bool     busy = !others.in_flight.is_zero() ||
                      !m_meter.in_flight().is_zero();
    if (m_busy && busy && m_told && (sum >= m_total_carried)) {
        const Bytes bytes(sum - m_total_carried);
        if (bytes.is_zero()) {
            return; /* a chunk takes longer than this */
        }
        m_total.on_post(m_at, bytes);
        m_total.on_complete(now, bytes);
    }
    m_total_carried = sum;
    m_at            = now;
    m_busy          = busy;
}

void Nic::look(const Others &others, Nanos now, const Limits &limits) noexcept
{
    measure(others, now);
    m_shared = SharedNic::of(m_meter, m_total, now, limits, others.in_flight,
                             1 + others.sharers);
    if (!m_shared.known) {
        m_shared.rate = m_reported;
    }
    m_standing = others.standing;
    m_most     = std::max(m_most, m_shared.processes);
}

/* A process that has nothing on a full NIC is not counted among those who share
 * it, and would never get any of it. */
bool Nic::our_turn(Nanos now, const Limits &limits) noexcept
{
    if (!m_meter.in_flight().is_zero()) {
        return false;
    }
    if (m_turn == Nanos()) {
        m_turn = now + m_shared.turn(limits);
    }
    return now >= m_turn;
}

bool Nic::show(const RateMeter &path, Nanos now, const Limits &limits,
               Bytes borrow_max, PathView &view) noexcept
{
    using Standing = PathView::Standing;
    const uint32_t paths = sharers(path);
    bool full            = false;
    view.standing        = m_standing;
    if ((paths == 1) && (m_shared.processes == 1)) {
        view.window = std::min(view.window, m_shared.window);
    } else {
        m_shared.show(path, paths, view);
        const uint64_t all = uint64_t{m_paths} * m_most;
        if (view.open && m_shared.full(paths, all, limits)) {
            full      = !our_turn(now, limits);
            view.open = !full;
        }
    }
    if (view.standing == Standing::Lent) {
        view.window = std::min({view.window, borrow_max,
                                lent_window(view.rate, m_shared.processes,
                                            limits)});
    } else if (view.standing == Standing::Taken) {
        view.window = limits.min_chunk; /* if there is no other NIC at all */
    }
    /* What several share, one of them is never the only one to fill. */
    if ((paths == 1) && (m_shared.processes == 1) &&
        (view.in_flight >= view.window)) {
        m_meter.on_full();
    }
    return full;
}

} // namespace fuselink::sched

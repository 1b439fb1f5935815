/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_NIC_H
#define FUSELINK_SCHED_NIC_H

#include "policy.h"
#include "rate_meter.h"
#include "shared_nic.h"
#include "units.h"

namespace fuselink::sched {

/**
 * One NIC of this process: what the process has on it, what others have, and
 * what follows from both for each path on it.
 *
 * Decisions are many and what they rest on changes seldom. So look() works out
 * once in a while what show() then only has to put into a view.
 *
 * One thread at a time.
 */
class Nic {
public:
    /** Of all other processes of the node. */
    struct Others {
        Bytes    in_flight;
        uint64_t completed = 0; /**< bytes in all; goes back if one leaves */
        uint32_t sharers   = 0; /**< who send, or did not long ago */
        /** Whose the NIC is to us, by what they do. */
        PathView::Standing standing = PathView::Standing::Free;
    };

    /** @param reported  Speed to assume until something was measured.
     *  @param told      What we have in flight are all bytes that go out:
     *                   nothing is read. Only then is our sum with that of
     *                   others what the NIC carries. */
    Nic(Rate reported, bool told) noexcept : m_reported(reported), m_told(told)
    {
    }

    /** Take note of others, and of what was measured. To be called before the
     *  first show(), and again every few hundred microseconds. */
    void look(const Others &others, Nanos now, const Limits &limits) noexcept;

    /** There is one more path on it, or one less. */
    void add_path() noexcept { ++m_paths; }
    void remove_path() noexcept { --m_paths; }

    /** A chunk begins. @param idle nothing was in flight on its path. */
    void on_post(Nanos now, Bytes length, bool idle) noexcept
    {
        m_busy_paths += idle;
        m_turn = Nanos();
        m_meter.on_post(now, length);
        m_shared.in_flight = m_meter.in_flight();
    }

    /** A chunk has arrived, or never will. @param idle nothing is in flight
     *  on its path any more. @param out it went out, was not read. */
    void on_end(Nanos now, Bytes length, bool arrived, bool idle,
                bool out) noexcept
    {
        if (arrived) {
            m_meter.on_complete(now, length);
            m_carried += out ? length.count() : 0;
        } else {
            m_meter.on_abandon(now, length);
        }
        m_busy_paths -= idle;
        m_shared.in_flight = m_meter.in_flight();
    }

    /** Busy paths of this process, with that of @a path counted as if busy. */
    uint32_t sharers(const RateMeter &path) const noexcept
    {
        return m_busy_paths + path.in_flight().is_zero();
    }

    /**
     * Put what is known of the NIC into the view of one of its paths.
     *
     * @param borrow_max The most that may be in flight if the NIC is another's.
     * @return The path was open, and is closed because there is as much on the
     *         NIC as there should be: room comes without anything of ours that
     *         ends.
     */
    bool show(const RateMeter &path, Nanos now, const Limits &limits,
              Bytes borrow_max, PathView &view) noexcept;

    /** As of the last look(), with what is in flight now. */
    const SharedNic &shared() const noexcept { return m_shared; }

    PathView::Standing standing() const noexcept { return m_standing; }

    /** What this process has met, on all paths. */
    const RateMeter &meter() const noexcept { return m_meter; }

private:
    bool our_turn(Nanos now, const Limits &limits) noexcept;
    void measure(const Others &others, Nanos now) noexcept;

    SharedNic m_shared{.rate = {}, .window = Bytes::max(), .part = {},
                       .in_flight = {}, .ahead = {}, .processes = 1,
                       .known = false};
    PathView::Standing m_standing = PathView::Standing::Free;
    uint32_t m_paths = 0;
    uint32_t m_most = 1; /* processes that there were at a time */
    uint32_t m_busy_paths = 0;
    Nanos m_turn; /* ours comes then; 0: we have not waited */

    RateMeter m_meter{Rate()}; /* of this process, all paths */
    uint64_t m_carried = 0;    /* bytes of ours that went out and arrived */

    /* All processes together: what they carry, as of m_at. */
    RateMeter m_total{Rate()};
    uint64_t m_total_carried = 0;
    Nanos m_at;
    bool m_busy = false; /* since then */

    Rate m_reported;
    bool m_told;
};

} // namespace fuselink::sched

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_RECEIVER_VIEW_H
#define FUSELINK_TRANSFER_RECEIVER_VIEW_H

#include "../sched/policy.h"
#include "../sched/window.h"
#include "../wire/messages.h"

#include <algorithm>
#include <array>

namespace fuselink {

/**
 * What a peer says of its NICs: the bytes that other senders bring there, which
 * of them to use, on which of those little may be on its way, since they belong to others,
 * and for how long that holds. All of it is hearsay: a peer that lies slows its own data down.
 */
class ReceiverView {
public:
    /** Nothing is believed for longer. */
    static constexpr sched::Nanos kLongest = sched::Nanos::millis(100);

    void take(const wire::LoadGrant &grant, sched::Nanos now)
    {
        for (size_t i = 0; i < wire::kLoads; ++i) {
            loads_[i] = sched::Bytes::kib(grant.load[i]);
        }
        rails_ = grant.rails != 0 ? grant.rails : UINT16_MAX;
        lent_  = grant.lent;
        senders_ = std::max<uint16_t>(grant.senders, 1);
        until_ = now + std::min(sched::Nanos::micros(grant.microseconds),
                                kLongest);
    }

    bool valid(sched::Nanos now) const { return now < until_; }

    /** Adds it to what our end knows of a path to that rail of the peer. */
    void show(uint8_t rail, const sched::Limits &limits, sched::PathView &view) const
    {
        using Standing = sched::PathView::Standing;
        if (rail >= wire::kLoads) {
            return;
        }
        view.ahead = std::max(view.ahead, loads_[rail]);
        if ((rails_ >> rail & 1) == 0) {
            view.standing = Standing::Taken;
        } else if ((lent_ >> rail & 1) != 0) {
            view.window   = std::min(view.window, sched::lent_window(view.rate, senders_,
                                                                 limits));
            view.standing = view.standing == Standing::Free ? Standing::Lent :
                                                              view.standing;
        }
    }

private:
    std::array<sched::Bytes, wire::kLoads> loads_{};
    uint16_t                               rails_ = UINT16_MAX;
    uint16_t                               lent_    = 0;
    uint16_t                               senders_ = 1;
    sched::Nanos                           until_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_LOAD_LOAD_VIEW_H
#define FUSELINK_LOAD_LOAD_VIEW_H

#include "../../../ucs_ext/board_seat.h"
#include "../config/device_list.h"
#include "../host/host.h"
#include "../rail/rail.h"
#include "../sched/policy.h"
#include "inflow_sums.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fuselink {

/** What the user's settings say of sharing NICs with other processes. */
struct ShareSettings {
    bool        board    = true;
    Priority    priority = Priority::Normal;
    std::string own      = "auto"; /* as UCX_FUSELINK_OWN has it */
    DeviceList  borrow;            /* NICs of others that may be used */
    bool        borrow_none = false;
    size_t      borrow_max  = SIZE_MAX; /* bytes in flight on one of them */
};

/**
 * What an engine knows of the load of its NICs by other processes of the node,
 * and tells them of its own, and people of what has failed on its NICs. Without shared memory, or with
 * UCX_FUSELINK_BOARD=n, nothing is known and every NIC is free.
 *
 * Belongs to the engine's thread.
 */
class LoadView final : private RailHealth::Listener {
public:
    explicit LoadView(Host &host) : host_(host) {}
    ~LoadView();

    /** Of these NICs, by name, those nearest to the GPU that this process works with, a bit
     *  for each; 0 while none, or not known. */
    using NearGpu = std::function<uint32_t(const std::vector<std::string> &)>;

    /** Takes a seat on the board for these rails, which are all there are yet.
     *  @param siblings without UCX_FUSELINK_OWN what a process owns is its own as to others
     *                  of its job, too */
    void open(const ShareSettings &settings, const sched::Limits &limits,
              const std::vector<std::unique_ptr<Rail>> &rails, bool siblings,
              NearGpu near_gpu);

    /** And for one that has come later. */
    void add(Rail &rail);

    /** NearGpu may know more than before. */
    void on_gpu();

    /** The CPUs to which the process is bound; none: it is not, or there is no board. */
    const CpuSet &bound() const { return bound_; }

    /** The board; null without one. */
    const std::shared_ptr<Board> &board() const { return board_; }

    /** Brings Rail::nic up to date if that was long ago. */
    void refresh(sched::Nanos now)
    {
        if (now >= next_) {
            update(now);
        }
    }
    /** The same with Rail::load, which only few ask for. */
    void refresh_inbound(sched::Nanos now)
    {
        if (now >= next_inbound_) {
            update_inbound(now);
        }
    }

    /** A chunk begins on the rail; it has arrived, or never will. */
    void posted(const Rail &rail, sched::Bytes length);
    void ended(const Rail &rail, sched::Bytes length, bool arrived);
    /** Bytes that we asked a peer for came in by the rail, or ones that its
     *  NIC read there: for those who watch. */
    void landed(const Rail &rail, sched::Bytes length);

    /** What peers say that they have on their way to us, which others are told by
     *  set_inflow(). */
    InflowSums &inflow() { return inflow_; }
    void set_inflow(const Rail &rail, sched::Bytes bytes);

    /** The most that may be in flight on another's NIC. */
    sched::Bytes borrow_max() const { return sched::Bytes(settings_.borrow_max); }

private:
    int64_t now() const { return host_.now().count(); } /* for the board */
    void on_health(unsigned rail, const NicHealth &health) override;
    void sit();
    void look_after_seat(sched::Nanos now);
    void update(sched::Nanos now);
    void update_inbound(sched::Nanos now);
    void enter(Rail &rail);
    void own(Rail &rail, BoardSeat::Claim claim);
    void own_if_named(Rail &rail);
    void claim(sched::Nanos now);
    sched::PathView::Standing standing(const Rail            &rail,
                                       const BoardSeat::Load &others) const;

    Host                        &host_;
    ShareSettings                settings_;
    bool                         siblings_ = false;
    NearGpu                      near_gpu_;
    uint32_t                     beside_gpu_ = 0; /* as it has said; a bit for each rail */
    std::vector<BoardSeat::Claim> own_;   /* by rail */
    std::vector<uint32_t>        owners_; /* of NICs, by number on the seat */
    InflowSums                   inflow_;
    CpuSet                       bound_;
    sched::Limits                limits_;
    std::shared_ptr<Board>       board_;
    std::unique_ptr<BoardSeat>   seat_;
    std::vector<Rail *>          rails_;
    std::vector<BoardSeat::Load> loads_; /* by number on the seat */
    sched::Nanos                 next_         = sched::Nanos::min();
    sched::Nanos                 next_inbound_ = sched::Nanos::min();
    sched::Nanos                 next_tick_    = sched::Nanos::min();
    sched::Nanos                 next_claim_   = sched::Nanos::min();
};

} // namespace fuselink

#endif

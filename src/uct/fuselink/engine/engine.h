/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_ENGINE_H
#define FUSELINK_ENGINE_ENGINE_H

#include "../host/host.h"
#include "../load/load_view.h"
#include "../memory/region_table.h"
#include "../peer/peer.h"
#include "../rail/lanes.h"
#include "../rail/poller.h"
#include "../rail/rails.h"
#include "../relay/gpu_copies.h"
#include "../rma/get_table.h"
#include "../rx/near_pools.h"
#include "../sched/rotation.h"
#include "../transfer/bulk_context.h"
#include "../transfer/plan_manager.h"
#include "../transfer/room_queue.h"
#include "../wireup/connect_timer.h"
#include "am_dispatch.h"
#include "deputy.h"
#include "late_nics.h"
#include "peer_table.h"
#include "turns.h"
#include "watching.h"

#include <atomic>
#include <memory>
#include <vector>

namespace fuselink {

/** What the user's settings amount to for one engine. */
struct EngineSettings {
    BulkSettings         bulk;
    size_t               inline_get = 8192;
    unsigned             max_qps = 1024; /* on one rail */
    MessagePaths::Use    messages = MessagePaths::Use::Tries;
    Rails::Settings      rails;
    ShareSettings        share;
    Watching::Settings   watching;
    GpuCopies::Settings  gpu;
    bool                 deputy = false; /* is to be, */
    bool                 deputy_or_none = false; /* if there can be one; */
    bool                 crowded = false; /* it gives way: ProgressChoice */
};

/**
 * Everything behind the `rails` device of one worker: the rails, the peers
 * that were heard of, the operations in progress. It puts these together and
 * drives them; the UCT edge above it only translates.
 *
 * Belongs to the worker's thread, like a UCT interface.
 */
class Engine {
public:
    /** `owner` is the interface whose active message handlers receive and
     *  whose error handler is told; it outlives the engine. */
    Engine(Host &host, uct_base_iface_t &owner, RegionTable &regions,
           NicMemory &nics, const EngineSettings &settings);
    ~Engine();

    /** Opens a rail for each candidate that works, and later for those that `find_late`
     *  finds. Fails with one line if none does. */
    ucs_status_t open_rails(const std::vector<RailCandidate> &candidates,
                            FindLate find_late, uct_worker_h worker,
                            const uct_iface_params_t *params);

    /** Memory of GPUs is to be sent, and received: how it is copied. */
    ucs_status_t open_gpu(UctMd &gpu, UctMd *ipc, NvLinks &nvlinks,
                          uct_worker_h worker,
                          const uct_iface_params_t *params);

    /** From the program's progress, in its turn. */
    unsigned progress()
    {
        unsigned count = 0;
        if (ucs_unlikely(user_calls_.held().any())) {
            count += user_calls_.held().call_all();
        }
        count += poller_.progress();
        if (ucs_unlikely(copies_.busy())) {
            count += copies_.progress();
        }
        count += drive();
        if (count != 0) {
            events_.store(events_.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
        }
        asleep_ = false;
        return count;
    }

    /* Of the deputy, in its turn; what the program is to be called for is held. */

    /** The program neither sleeps until it is woken nor has left too much untaken. Nor has
     *  it memory of GPUs registered: that is copied in its own threads, which have a
     *  context of CUDA. */
    bool may_deputize() const
    {
        return !asleep_ && !user_calls_.held().full() && !regions_.any_on_gpu();
    }
    /** There is somebody who drives it while the program is away. */
    bool has_deputy() const { return deputy_ != nullptr; }
    /** As progress(), without copies of memory of GPUs. */
    unsigned progress_away();
    /** Has the descriptor of events tell when there is something to do. False if there is
     *  now. */
    bool     sleep_away() { return arm_rails(kAllEvents) == UCS_OK; }
    /** Calls of progress() that found something. From any thread. */
    uint64_t events() const { return events_.load(std::memory_order_relaxed); }

    /** Arms the wake-up; UCS_ERR_BUSY if there is something to do first. */
    ucs_status_t arm(unsigned events)
    {
        if (ucs_unlikely(user_calls_.held().any()) || copies_.busy()) {
            return UCS_ERR_BUSY; /* copies do not tell */
        }
        ucs_status_t status = arm_rails(events);
        asleep_             = status == UCS_OK;
        return status;
    }

    /** Last of all: from now on somebody drives it while the program is away, if that is
     *  wanted and can be. */
    void begin_deputy();

    /** The peer with this address, connected if it was not. */
    ucs_status_t connect(const wire::RailTable &address, Peer *&peer)
    {
        return peers_.connect(address, peer);
    }
    /** True if some rail can carry messages to a peer with this address. */
    bool reaches(const wire::RailTable &address) const
    {
        return rails_.reaches(address);
    }

    /** UCS_INPROGRESS while anything is outstanding, or was not told yet. */
    ucs_status_t flush()
    {
        ucs_status_t status = peers_.flush();
        return status == UCS_OK && user_calls_.held().holding() ? UCS_INPROGRESS :
                                                               status;
    }
    void         fence() { peers_.fence(); }

    const wire::RailTable &table() const { return rails_.table(); }
    const Rails::List     &rails() const { return rails_.list(); }
    const LeftOuts        &left_out() const { return rails_.left_out(); }
    const PeerTable       &peers() const { return peers_; }
    const NicMemory       &nics() const { return nics_; }
    const NearPools       &near() const { return near_; }
    const EngineSettings  &settings() const { return settings_; }
    Poller                &poller() { return poller_; }
    const LoadView        &loads() const { return loads_; }
    /** Each call of the program's is inside of one. */
    Turns                 &turns() { return turns_; }
    /** What the program is to be called for. */
    const HeldCalls       &held() const { return user_calls_.held(); }

private:
    /* What connections, and their senders of bulk data, use of all this. */
    PeerContext peer_context();
    BulkContext bulk_context()
    {
        return {host_,   poller_, rails_,    nics_,     regions_, copies_,
                loads_,  room_,   plans_, rotation_, watching_.trace(),
                settings_.bulk};
    }

    static constexpr unsigned kAllEvents = UCT_EVENT_SEND_COMP | UCT_EVENT_RECV;

    /* What is to be done but for polling, whoever does it. */
    unsigned drive()
    {
        unsigned count = 0;
        if (ucs_unlikely(worker_.handle() != nullptr)) {
            count += uct_worker_progress(worker_.handle());
        }
        if (ucs_unlikely(peers_.has_deferred())) {
            count += peers_.run_deferred();
        }
        if (ucs_unlikely(!connect_timer_.empty())) {
            connect_timer_.check(host_.now());
        }
        if (!seen_timer_.empty()) {
            seen_timer_.check();
        }
        if (ucs_unlikely(++calls_ % kWatchCalls == 0)) {
            watch();
        }
        if (ucs_unlikely(!room_.empty())) {
            count += room_.serve(host_.now());
        }
        return count;
    }
    ucs_status_t arm_rails(unsigned events)
    {
        seen_timer_.tell_all();
        if (peers_.has_deferred() || room_.due() || connect_timer_.open()) {
            return UCS_ERR_BUSY;
        }
        /* A wire that falls silent wakes nobody. */
        poller_.wake_in(peers_.watched() || peers_.has_news()   ? kWatchAsleep :
                        peers_.waits_for_nic() || late_.waits() ? kPortsAsleep :
                                                                  sched::Nanos());
        calls_ = kWatchCalls - 1;
        return poller_.arm(events);
    }

    /* Calls of progress() between looks at the clock. */
    static constexpr unsigned kWatchCalls = 128;
    /* Between looks of a program that sleeps. */
    static constexpr sched::Nanos kWatchAsleep = sched::Nanos::millis(8);
    /* The same, if there is no more to look at than ports. */
    static constexpr sched::Nanos kPortsAsleep = sched::Nanos::millis(250);

    void watch();
    void note_carrier();
    void look_for_late(sched::Nanos now);
    void begin_late(Rail &rail);

    Host             &host_;
    uct_base_iface_t &owner_;
    RegionTable      &regions_;
    NicMemory        &nics_;
    EngineSettings    settings_;

    /* From below to above: endpoints go before the interfaces that they belong
     * to, and those who wait before what they wait for. */
    Turns           turns_;
    UctWorker       worker_; /* of what a deputy drives; empty where there is none */
    GetTable        gets_{host_};
    Lanes           lanes_;
    Poller          poller_{host_};
    Rails           rails_{host_, poller_, lanes_};
    GpuCopies       copies_;
    NearPools       near_{host_, copies_, regions_, peers_};
    LoadView        loads_{host_};
    RoomQueue       room_;
    ConnectTimer    connect_timer_{host_};
    MessageMemory   messages_;
    SeenTimer       seen_timer_{host_};
    UserCalls       user_calls_;
    sched::Rotation rotation_;
    Watching        watching_;
    PeerTable       peers_;
    PlanManager     plans_; /* goes when no peer is left */
    AmDispatch      dispatch_;
    bool            asleep_ = false; /* the program, until it is woken */
    std::atomic<uint64_t> events_{0};
    unsigned        calls_ = 0;
    sched::Nanos    watched_; /* last */
    std::unique_ptr<Carrier> carrier_; /* may be null */
    FindLate        find_late_;
    LateNics        late_;
    std::unique_ptr<Deputy>  deputy_;  /* may be null; goes first */
};

} // namespace fuselink

#endif

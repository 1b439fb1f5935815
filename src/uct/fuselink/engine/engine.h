/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_ENGINE_H
#define FUSELINK_ENGINE_ENGINE_H

#include "../hop/hop.h"
#include "../hop/slots.h"
#include "../host/host.h"
#include "../memory/region_table.h"
#include "../peer/first_contacts.h"
#include "../peer/peer.h"
#include "../rail/poller.h"
#include "../rail/rail.h"
#include "../relay/relay.h"
#include "../sched/policy.h"
#include "../transfer/gets.h"
#include "../transfer/planning.h"
#include "../transfer/room_queue.h"
#include "../watch/exit_report.h"
#include "../watch/trace.h"
#include "../watch/trace_file.h"
#include "load_view.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace fuselink {

/** What the user's settings amount to for one engine. */
struct EngineSettings {
    const sched::Policy *policy = nullptr;
    sched::Limits        limits;
    bool                 fixed_weights = false; /* show the policy reported
                                                   speeds, not measured ones */
    size_t               inline_get = 8192;
    bool                 connect_ep = false;
    unsigned             max_qps = 1024; /* on one rail */
    size_t               rx_headroom = 0;
    DeviceList           standby; /* rails that rest while others reach a peer */
    bool                 standby_none = true;
    ShareSettings        share;
    std::string          report;         /* destination; empty: none */
    std::string          trace;          /* file; empty: none */
    size_t               trace_size = 0; /* bytes */
    size_t               relay_memory = 0; /* bytes of slots */
    size_t               gpu_chunk  = 0; /* bytes of a slot */
    Relay::Use           relay = Relay::Use::Never; /* over other GPUs */
};

/**
 * Everything behind the `rails` device of one worker: the rails, the peers
 * that were heard of, the operations in progress. The UCT edge above it only
 * translates.
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

    /** Opens a rail for each candidate that works. Fails with one line if
     *  none does. */
    ucs_status_t open_rails(const std::vector<RailCandidate> &candidates,
                            uct_worker_h worker,
                            const uct_iface_params_t *params);

    /** Memory of GPUs is to be sent, and received: how it is copied. */
    ucs_status_t open_hop(LowerMd &gpu, LowerMd *ipc, NvLinks &nvlinks,
                          uct_worker_h worker,
                          const uct_iface_params_t *params);

    unsigned progress()
    {
        unsigned count = poller_.progress();
        if (ucs_unlikely(copying())) {
            count += progress_copies();
        }
        if (ucs_unlikely(!deferred_.empty())) {
            count += run_deferred();
        }
        if (ucs_unlikely(!contacts_.empty())) {
            contacts_.check(now());
        }
        if (ucs_unlikely(!room_.empty())) {
            count += room_.serve(now());
        }
        return count;
    }

    /** Arms the wake-up; UCS_ERR_BUSY if there is something to do first. */
    ucs_status_t arm(unsigned events)
    {
        bool busy = !deferred_.empty() || room_.due() || contacts_.open() ||
                    copying(); /* they do not tell */
        return busy ? UCS_ERR_BUSY : poller_.arm(events);
    }

    /** The peer with this address, connected if it was not. */
    ucs_status_t connect(const wire::RailTable &address, Peer *&peer);

    /** UCS_INPROGRESS while anything is outstanding. */
    ucs_status_t flush();
    void         fence();

    Host        &host() const { return host_; }
    sched::Nanos now() const { return host_.now(); }

    /** The longest message that every rail's control lane takes, bytes. */
    size_t max_message() const;

    uint64_t                                  uuid() const { return table_.uuid; }
    const wire::RailTable                    &table() const { return table_; }
    const std::vector<std::unique_ptr<Rail>> &rails() const { return rails_; }
    const EngineSettings                     &settings() const { return settings_; }
    /** Candidates of open_rails() that are no rails. */
    const LeftOuts                           &left_out() const { return left_out_; }
    Poller                                   &poller() { return poller_; }
    LoadView                                 &loads() { return loads_; }
    RoomQueue                                &room() { return room_; }
    /** nullptr unless the user asked for one. */
    Trace                                    *trace() const { return trace_.get(); }
    Planning                                 &planning() { return planning_; }
    const std::unordered_map<uint64_t, std::unique_ptr<Peer>> &peers() const { return peers_; }
    FirstContacts                            &contacts() { return contacts_; }
    GetTable                                 &gets() { return gets_; }
    RegionTable                              &regions() { return regions_; }
    NicMemory                                &nics() { return nics_; }
    /* There if memory of GPUs is taken: copies, and what they go through to
     * NICs, and from NICs. */
    Hop                                      &hop() { return *hop_; }
    Slots                                    &slots_out() { return *slots_out_; }
    Slots                                    &slots_in() { return *slots_in_; }
    bool has_hop() const { return hop_ != nullptr; }
    /** As those of Hop, also over other GPUs; out only if `hurry`. */
    ucs_status_t copy_out(void *host, const void *gpu, size_t length,
                          bool hurry, uct_completion_t *comp)
    {
        return relay_ ? relay_->begin_out(host, gpu, length, hurry, comp) :
                        hop_->begin_out(host, gpu, length, comp);
    }
    ucs_status_t copy_in(void *gpu, const void *host, size_t length,
                         uct_completion_t *comp)
    {
        return relay_ ? relay_->begin_in(gpu, host, length, comp) :
                        hop_->begin_in(gpu, host, length, comp);
    }
    bool copying() const
    {
        return hop_ && (hop_->busy() || (relay_ && relay_->busy()));
    }
    /** Progresses copies until done(). False if that takes longer than any. */
    template <typename Done> bool await_copies(Done &&done)
    {
        return hop_->wait([&] {
            if (relay_) {
                relay_->progress();
            }
            return done();
        });
    }
    /** The peer of a session; nullptr if it is gone. */
    Peer *find_peer(uint32_t session) const;
    /** The longest small put, bytes. */
    size_t max_put_bcopy() const { return max_message() - sizeof(wire::PutData); }
    uct_base_iface_t                         &owner() { return owner_; }

    /** True if some rail can carry messages to a peer with this address. */
    bool reaches(const wire::RailTable &address) const;

    /** Says, at the first peer that has more or fewer rails than this process,
     *  that it has: most likely a NIC is down. Not if the user named our rails. */
    void compare(const wire::RailTable &theirs);

    /* Endpoints of rails, each with the peer that hears of its failure. */
    ucs_status_t create_lane(Peer &peer, const LowerIface &iface,
                             const wire::RailRecord &remote, uct_ep_h &ep);
    void         add_lane(Peer &peer, uct_ep_h ep) { lanes_[ep] = &peer; }
    void         destroy_lane(uct_ep_h ep);

    /** Has Peer::run_deferred() called from progress, when no rail's code is
     *  on the stack: connecting inside a rail's callback, or ending what
     *  failed inside a rail's call, would pull the ground from under it. */
    void defer(Peer &peer);

    /** What peers have on their way to our rail, but for one of them. */
    sched::Bytes inflow(size_t rail, sched::Nanos now,
                        const Peer *except) const;

    /** The next transfer's preferred path. Spreads transfers over equal rails,
     *  except under the policy that is to use one. */
    uint32_t next_home() { return spread_home_ ? home_++ : home_; }

private:
    static ucs_status_t on_user_am(void *arg, void *data, size_t length,
                                   unsigned flags);
    static ucs_status_t on_wrapped_am(void *arg, void *data, size_t length,
                                      unsigned flags);
    static ucs_status_t on_control_am(void *arg, void *data, size_t length,
                                      unsigned flags);
    static ucs_status_t on_chunk_am(void *arg, void *data, size_t length,
                                    unsigned flags);
    static ucs_status_t on_data_am(void *arg, void *data, size_t length,
                                   unsigned flags);
    static ucs_status_t on_rail_error(void *arg, uct_ep_h ep,
                                      ucs_status_t status);
    static void         release_user_desc(uct_recv_desc_t *self, void *desc);

    using PeerSlot = std::unique_ptr<Peer>;

    unsigned     progress_copies();
    bool         adds_little(const Rail &rail) const;
    void         warn_apart(const wire::RailTable &address) const;
    ucs_status_t set_handlers(Rail &rail);
    unsigned     run_deferred();
    Peer        *find_session(uint64_t uuid, uint32_t session);
    Peer        *new_peer(uint64_t uuid);
    void         retire(PeerSlot &slot);
    void         bury(Peer *peer);
    void         note_landed(Rail &rail, const Peer &peer, uint64_t length);
    ucs_status_t start_watching();
    void         watch_copies();
    void         end_watching();
    void         on_hello(const wire::ControlHeader &header, const void *data,
                          size_t length);

    Host             &host_;
    uct_base_iface_t &owner_;
    RegionTable      &regions_;
    NicMemory        &nics_;
    EngineSettings    settings_;

    Poller                             poller_{host_};
    std::vector<std::unique_ptr<Rail>> rails_;
    std::unique_ptr<Hop>               hop_;
    std::unique_ptr<Relay>             relay_; /* has the slots' memory */
    std::unique_ptr<Slots>             slots_out_, slots_in_;
    LeftOuts                           left_out_;
    LoadView                           loads_{host_}; /* after the rails */
    RoomQueue                          room_;  /* before the peers */
    FirstContacts                      contacts_{host_}; /* the same */
    Planning                           planning_;
    wire::RailTable                    table_;
    ExitReport                        *report_ = nullptr;
    std::unique_ptr<Trace>             trace_;
    TraceFile                         *trace_file_ = nullptr;
    GetTable                           gets_{host_};
    std::unordered_map<uint64_t, PeerSlot> peers_;
    std::vector<PeerSlot>              gone_; /* failed, not closed yet */
    std::unordered_map<uct_ep_h, Peer *> lanes_; /* whose each is */
    std::vector<Peer *> deferred_;
    uint32_t            last_session_ = 0;
    uint32_t            home_ = 0;
    bool                spread_home_;
    mutable bool        said_apart_ = false;
    bool                said_uneven_ = false; /* or is not to be said */

    /* Stands in front of the user's headroom of messages that the user keeps
     * (see on_wrapped_am). Address-stable: descriptors point to it. */
    uct_recv_desc_t release_user_desc_{};
};

} // namespace fuselink

#endif

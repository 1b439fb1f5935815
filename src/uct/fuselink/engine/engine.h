/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_ENGINE_H
#define FUSELINK_ENGINE_ENGINE_H

#include "../memory/region_table.h"
#include "../peer/peer.h"
#include "../rail/poller.h"
#include "../rail/rail.h"
#include "../sched/policy.h"
#include "../transfer/gets.h"
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
    ShareSettings        share;
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
    Engine(uct_base_iface_t &owner, RegionTable &regions, NicMemory &nics,
           const EngineSettings &settings);
    ~Engine();

    /** Opens a rail for each candidate that works. Fails with one line if
     *  none does. */
    ucs_status_t open_rails(const std::vector<RailCandidate> &candidates,
                            uct_worker_h worker,
                            const uct_iface_params_t *params);

    unsigned progress()
    {
        unsigned count = poller_.progress();
        if (ucs_unlikely(!deferred_.empty())) {
            count += run_deferred();
        }
        return count;
    }

    /** Arms the wake-up; UCS_ERR_BUSY if there is something to do first. */
    ucs_status_t arm(unsigned events)
    {
        return deferred_.empty() ? poller_.arm(events) : UCS_ERR_BUSY;
    }

    /** The peer with this address, connected if it was not. */
    ucs_status_t connect(const wire::RailTable &address, Peer *&peer);

    /** UCS_INPROGRESS while anything is outstanding. */
    ucs_status_t flush();
    void         fence();

    /** The longest message that every rail's control lane takes, bytes. */
    size_t max_message() const;

    uint64_t                                  uuid() const { return table_.uuid; }
    const wire::RailTable                    &table() const { return table_; }
    const std::vector<std::unique_ptr<Rail>> &rails() const { return rails_; }
    const EngineSettings                     &settings() const { return settings_; }
    Poller                                   &poller() { return poller_; }
    LoadView                                 &loads() { return loads_; }
    GetTable                                 &gets() { return gets_; }
    RegionTable                              &regions() { return regions_; }
    NicMemory                                &nics() { return nics_; }
    /** The longest small put, bytes. */
    size_t max_put_bcopy() const { return max_message() - sizeof(wire::PutData); }
    uct_base_iface_t                         &owner() { return owner_; }

    /** True if some rail can carry messages to a peer with this address. */
    bool reaches(const wire::RailTable &address) const;

    /* Endpoints of rails, each with the peer that hears of its failure. */
    ucs_status_t create_lane(Peer &peer, const LowerIface &iface,
                             const wire::RailRecord &remote, uct_ep_h &ep);
    void         add_lane(Peer &peer, uct_ep_h ep) { lanes_[ep] = &peer; }
    void         destroy_lane(uct_ep_h ep);

    /** Has Peer::run_deferred() called from progress, when no rail's code is
     *  on the stack: connecting inside a rail's callback, or ending what
     *  failed inside a rail's call, would pull the ground from under it. */
    void defer(Peer &peer);

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

    bool         adds_little(const Rail &rail) const;
    ucs_status_t set_handlers(Rail &rail);
    unsigned     run_deferred();
    Peer        *find_session(uint64_t uuid, uint32_t session);
    Peer        *new_peer(uint64_t uuid);
    void         retire(PeerSlot &slot);
    void         bury(Peer *peer);
    void         on_hello(const wire::ControlHeader &header, const void *data,
                          size_t length);

    uct_base_iface_t &owner_;
    RegionTable      &regions_;
    NicMemory        &nics_;
    EngineSettings    settings_;

    Poller                             poller_;
    std::vector<std::unique_ptr<Rail>> rails_;
    LoadView                           loads_; /* after the rails */
    wire::RailTable                    table_;
    GetTable                           gets_;
    std::unordered_map<uint64_t, PeerSlot> peers_;
    std::vector<PeerSlot>              gone_; /* failed, not closed yet */
    std::unordered_map<uct_ep_h, Peer *> lanes_; /* whose each is */
    std::vector<Peer *> deferred_;
    uint32_t            last_session_ = 0;
    uint32_t            home_ = 0;
    bool                spread_home_;

    /* Stands in front of the user's headroom of messages that the user keeps
     * (see on_wrapped_am). Address-stable: descriptors point to it. */
    uct_recv_desc_t release_user_desc_{};
};

} // namespace fuselink

#endif

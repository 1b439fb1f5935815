/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_PEER_TABLE_H
#define FUSELINK_ENGINE_PEER_TABLE_H

#include "../conn/peer_registry.h"
#include "../peer/peer.h"
#include "../peer/peer_context.h"
#include "../sched/units.h"
#include "../transfer/plan_manager.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"
#include "active_peers.h"
#include "ended_connections.h"
#include "token_table.h"

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace fuselink {

/**
 * The connections of one interface: the one to each peer, those that have failed
 * and are not over yet, and which of them have something left to do.
 *
 * One thread at a time (the worker's).
 */
class PeerTable final : public PeerRegistry,
                        public DeferredPeers,
                        public BulkSenders {
public:
    /** Makes the connection to a peer, with our number for it. */
    using Make = std::function<std::unique_ptr<Peer>(
        uint64_t uuid, uint32_t session, wire::Token token)>;
    using Peers = std::unordered_map<uint64_t, std::unique_ptr<Peer>>;

    /** @param own the identity of this interface */
    PeerTable(uint64_t own, Make make) : own_(own), make_(std::move(make)) {}
    ~PeerTable() { end_all(); }
    PeerTable(const PeerTable &)            = delete;
    PeerTable &operator=(const PeerTable &) = delete;

    /** The peer with this address, connected if it was not. */
    ucs_status_t connect(const wire::RailTable &address, Peer *&peer);

    /** A hello has come; untrusted but for its header's layout. */
    void on_hello(const wire::ControlHeader &header, const void *data,
                  size_t length);
    /** A control message of a connection that is not there (any more). Who asks
     *  is told. */
    void on_stray(const wire::ControlHeader &header);
    /** A goodbye of `peer`, which hears it from who calls; null: of a connection that is
     *  not there. It is also for whom it names: the hello of its sender may not have come
     *  there, or another connection of ours may have had it. Untrusted but for its
     *  header's layout. */
    void on_goodbye(const Peer *peer, const wire::ControlHeader &header,
                    const void *data, size_t length);

    /** The connection that we have told a peer to call so; null if it is gone. */
    Peer *find_token(wire::Token token) const { return tokens_.find(token); }
    /** The connection that a peer means, which may have failed here; null if
     *  there is none, or it is over. */
    Peer *find_session(uint64_t uuid, uint32_t session) const;
    Peer *find(uint32_t session) const override;

    /** Those that have not failed, or whose failure is new, */
    const Peers &peers() const { return peers_; }
    /** and which of them do not rest. */
    const ActivePeers &active() const { return active_; }

    /** Of all peers, those that do not rest: none else has anything to send. */
    void for_each_sender(
        const std::function<void(BulkSender &)> &fn) const override;

    /** UCS_INPROGRESS while anything is outstanding. */
    ucs_status_t flush();
    void         fence();

    /** The interface closes: all operations end, and then all connections. Users
     *  of all peers hear of it while everything is there yet. Peers that have no
     *  room for the word that tells them are waited for, kLastWord at most. */
    void close(const Host &host);

    /** Rails of ours are new: watch() brings it to a few peers each time, as it takes some
     *  100 us of system calls for one. */
    void on_new_rails();
    bool has_news() const { return !to_hear_.empty(); } /* some have not heard it */
    /** From progress, each SilenceWatch::kInterval. */
    void watch(sched::Nanos now);
    /** A wire has fallen silent, or speaks again. */
    void on_wire(const Wire &wire);
    void on_doubt(Wire &wire, sched::Nanos now);
    /** Links of our NICs have changed; a bit for each rail without one, and for each that
     *  has it again. */
    void on_carrier(uint16_t down, uint16_t back);
    /** Some peer is to be. */
    bool watched() const;
    /** Or its NIC alone: Peer::waits_for_nic(). */
    bool waits_for_nic() const;

    /** From run_deferred(). */
    void     defer(Peer &peer) override;
    void     rouse(Peer &peer) override { active_.rouse(peer); }
    bool     has_deferred() const { return !deferred_.empty(); }
    /** From progress; returns how many peers it has done something for. */
    unsigned run_deferred();

private:
    static constexpr unsigned kHearAtOnce = 4;

    void spread_news();
    /* For all together. Who does not read for so long is not waited for. */
    static constexpr sched::Nanos kLastWord = sched::Nanos::seconds(1);

    using Slot = std::unique_ptr<Peer>;

    /* The present one first. */
    template <typename Fits> Peer *find_if(uint64_t uuid, Fits &&fits) const;

    /* Of present ones, whose completions may connect to others. */
    template <typename Fn> void for_each(Fn &&fn);

    /* The connection to a peer with this number of ours, which may have failed; null
     * if it is no more. */
    Peer *find_own(uint64_t uuid, uint32_t session) const;

    Peer *add(uint64_t uuid);
    void  retire(Peers::iterator it);
    void  reject(const wire::Hello &hello, const wire::RailTable &table);
    void  reject(uint32_t theirs, uint32_t ours, const wire::RailTable &table);
    void  bury(Peer *peer);
    void  end_all();

    const uint64_t      own_;
    const Make          make_;
    Peers               peers_;
    ActivePeers         active_; /* of these */
    std::vector<Slot>   gone_; /* failed, not closed yet */
    std::vector<Peer *> deferred_;
    std::vector<Peer *> watched_; /* used again and again */
    std::vector<uint64_t> to_hear_; /* of new rails: these peers */
    uint32_t            last_session_ = 0;
    TokenTable          tokens_;
    EndedConnections    ended_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_ACTIVE_PEERS_H
#define FUSELINK_ENGINE_ACTIVE_PEERS_H

#include "../peer/peer.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuselink {

/**
 * The connections of an interface with which something is under way, or was just now.
 * The others rest, and cost nothing where all are looked at: for silence, every few
 * milliseconds, for a flush or fence of the interface, for a plan. In a job of thousands
 * of processes they are nearly all.
 *
 * A connection is let rest when it is looked at (let_rest()), and roused by whatever
 * begins something (Connection::rouse()). A fence that it has slept through it makes up
 * for in front of its user's next operation: nothing has come between.
 *
 * One thread at a time (the worker's).
 */
class ActivePeers {
public:
    /** A new one. It stays where it is until remove(). */
    void add(Peer &peer) { peers_.push_back(&peer); }
    void remove(const Peer &peer) { std::erase(peers_, &peer); }
    void clear() { peers_.clear(); }
    /** One that rests, and was added. */
    void rouse(Peer &peer)
    {
        peer.end_rest(fences_);
        peers_.push_back(&peer);
    }

    /** A fence: for_each() has it from who calls, and those that rest later. */
    void note_fence() { ++fences_; }

    /** Calls keep(Peer &) for each, which rests from now on if that is false. It rouses none,
     *  and begins nothing. */
    template <typename Keep> void let_rest(Keep &&keep)
    {
        std::erase_if(peers_, [&](Peer *peer) {
            const bool stays = keep(*peer);
            if (!stays) {
                peer->rest(fences_);
            }
            return !stays;
        });
    }
    /** Calls fn(Peer &) for each, also for those that are roused meanwhile. It removes
     *  none. */
    template <typename Fn> void for_each(Fn &&fn) const
    {
        for (size_t i = 0; i < peers_.size(); ++i) {
            fn(*peers_[i]);
        }
    }
    template <typename Is> bool any(Is &&is) const
    {
        for (const Peer *peer : peers_) {
            if (is(*peer)) {
                return true;
            }
        }
        return false;
    }
    size_t size() const { return peers_.size(); }

private:
    std::vector<Peer *> peers_;
    uint64_t            fences_ = 0; /* of the interface, so far */
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_PATH_SET_H
#define FUSELINK_TRANSFER_PATH_SET_H

#include "../conn/connection.h"
#include "../conn/endpoints.h"
#include "../rail/rails.h"
#include "../wire/address.h"
#include "path.h"

#include <memory>
#include <span>
#include <vector>

namespace fuselink {

/**
 * The paths to one peer: which there are, by the peer's table of rails and ours,
 * and which of them are in play. Connecting them is PathWireup's, and what is to
 * happen when they break PathRecovery's.
 *
 * The order of paths stays. One thread at a time (the worker's).
 */
class PathSet {
public:
    using List = std::vector<std::unique_ptr<Path>>;

    /** All outlive this. */
    PathSet(Connection &connection, Endpoints &endpoints, const Rails &rails,
            const Path::Books &books)
        : connection_(connection), endpoints_(endpoints), rails_(rails),
          books_(books)
    {
    }
    PathSet(const PathSet &)            = delete;
    PathSet &operator=(const PathSet &) = delete;

    /** The peer's rails are known: makes the paths. Returns how many. */
    size_t set_table(const wire::RailTable &table);
    /** A rail of ours is new: its paths, behind the others. Only one that is routed by
     *  IP. */
    void add_own(Rail &rail);
    /** So many of ours were looked at. */
    size_t own_rails() const { return own_rails_; }
    /** The same of one of the peer's, of a number that its table has not. Also where
     *  others go through the paths: they stay where they are. */
    void add_remote(const wire::RailRecord &remote);
    /** Those of the peer's rails without a link, as it said, a bit each. */
    void note_remote_down(uint16_t down);
    /** The peer's rails. */
    const wire::RailTable &table() const { return table_; }
    bool table_known() const { return table_known_; }
    /** The slot of the peer's memory keys for one of its rails. */
    uint8_t memory_slot(uint8_t rail) const;

    const List    &list() const { return paths_; }
    List::iterator begin() { return paths_.begin(); }
    List::iterator end() { return paths_.end(); }
    List::const_iterator begin() const { return paths_.begin(); }
    List::const_iterator end() const { return paths_.end(); }
    size_t         size() const { return paths_.size(); }
    bool           empty() const { return paths_.empty(); }

    /** The first from our rail `own` to the peer's `remote` that `fn` takes;
     *  nullptr if there is none. */
    template <typename Fn>
    Path *find(uint8_t own, uint8_t remote, Fn &&fn) const
    {
        for (const auto &path : paths_) {
            if (path->rail.index() == own && path->remote.index == remote &&
                fn(*path)) {
                return path.get();
            }
        }
        return nullptr;
    }

    /** It did not fail to connect, and is no standby that others replace. */
    bool in_play(const Path &path) const;
    bool any_usable() const;
    /** Some path's NIC can read the peer's memory. */
    bool reads() const { return reads_; }
    /** Some path is a stream. */
    bool streams() const { return streams_; }
    /** Gets are, or were, answered by puts into our memory, on some path. */
    bool written_in_place() const { return written_in_place_; }

    /** The path that a transfer prefers, all else being equal, if those whose NIC
     *  is near take `turn`s. */
    uint32_t preferred(uint32_t turn) const;

    /** A notice is about to go. Until a stream's kernel has been looked at, and had
     *  nothing left, or the other NIC was asked, again and again, nobody knows that it
     *  has come: no chunk need be under way meanwhile. */
    void note_notice(Path &path)
    {
        unconfirmed_    += path.stream.unconfirmed == 0;
        path.stream.unconfirmed = kLooks;
    }
    /** Its kernel, and the path, have nothing left, or the NIC has answered. */
    void found_empty(Path &path)
    {
        if (path.stream.unconfirmed != 0 && --path.stream.unconfirmed == 0) {
            --unconfirmed_;
        }
    }
    /** It is another connection from now on, or none. */
    void forget_notices(Path &path)
    {
        unconfirmed_    -= path.stream.unconfirmed != 0;
        path.stream.unconfirmed = 0;
    }
    /** Some path has such a notice. */
    bool has_unconfirmed() const { return unconfirmed_ != 0; }

    /** How to divide what waits, by path that is in_play(); bytes. */
    void take_plan(std::span<const double> split);
    void drop_plan() { planned_ = false; }
    bool planned() const { return planned_; }

private:
    /* What was asked for room, but not sent, is at the kernel by the second. */
    static constexpr unsigned kLooks = 2;

    void add(Rail &rail, const wire::RailRecord &remote);
    bool is_down(uint8_t remote) const;
    Rail::Route route_to(const wire::RailRecord &remote) const;
    void add_routed(const wire::RailRecord &remote);

    Connection       &connection_;
    Endpoints        &endpoints_;
    const Rails      &rails_;
    const Path::Books books_;
    List              paths_;
    wire::RailTable   table_; /* of the peer */
    bool              table_known_ = false;
    size_t            own_rails_   = 0;
    uint16_t          remote_down_ = 0;
    bool              reads_       = false;
    bool              streams_     = false;
    bool              written_in_place_ = false;
    bool              planned_     = false; /* what waits */
    unsigned          unconfirmed_ = 0; /* paths with such a notice */
};

} // namespace fuselink

#endif

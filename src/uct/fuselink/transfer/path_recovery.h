/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_PATH_RECOVERY_H
#define FUSELINK_TRANSFER_PATH_RECOVERY_H

#include "../conn/connection.h"
#include "../conn/endpoints.h"
#include "../host/host.h"
#include "../ucx.h"
#include "../wire/messages.h"
#include "path_set.h"
#include "pump.h"
#include "rx_paths.h"

#include <utility>

namespace fuselink {

/**
 * Paths that break.
 *
 * What was sent on such a path goes another way, but not before the peer has confirmed
 * that nothing of the old connection will be executed any more: a late copy of it
 * would hit memory that its user has got back by then. So
 *
 *     Broken    what the NIC still has ends, and our end of the connection. What our
 *               own NIC was to read over a queue pair is read another way then
 *     Draining  the peer was told, and ends its end
 *     Backoff   it has answered: what was lost is sent again. The path is
 *               connected again after a while, when it is wanted
 *
 * See "Failures" in docs/architecture.md. One thread at a time (the worker's).
 */
class PathRecovery {
public:
    /** Has what was on its way by a path. */
    class Listener {
    public:
        /** Nothing comes from or goes to our end any more. The peer's answer may
         *  take long: what others need meanwhile is let go. */
        virtual void on_torn_down(Path &path) = 0;
        /** The peer is drained: it has heard of the chunks below `seen`, and
         *  nothing that was sent on the path happens any more. */
        virtual void on_drained(Path &path, uint32_t seen) = 0;

    protected:
        ~Listener() = default;
    };

    /** All outlive this. */
    PathRecovery(Connection &connection, Endpoints &endpoints, PathSet &paths,
                 Host &host, const RxPaths &rx, Listener &listener, Pump &pump)
        : connection_(connection), endpoints_(endpoints), paths_(paths),
          host_(host), rx_(rx), listener_(listener), pump_(pump)
    {
    }
    PathRecovery(const PathRecovery &)            = delete;
    PathRecovery &operator=(const PathRecovery &) = delete;

    /** Errors of a call, which say nothing of the connection. */
    static bool is_calls_error(ucs_status_t status)
    {
        return status == UCS_ERR_INVALID_PARAM ||
               status == UCS_ERR_NO_MEMORY || status == UCS_ERR_UNSUPPORTED ||
               status == UCS_ERR_EXCEEDS_LIMIT;
    }

    /** The path is of no use any more, unless that is known. Also from a rail's
     *  callback: the rest follows from progress. */
    void break_path(Path &path, ucs_status_t status);
    /** The same, as its wire is silent: the peer is told that. Or it is not, and the path
     *  did not connect `by_chance`: that is the path's alone. From progress. */
    void break_silent(Path &path, bool by_chance = false);
    /** The same, for it waits longer than its wire has been silent, and another connection is
     *  made at once. From progress. */
    void leave_behind(Path &path);
    /** Nothing comes from the peer, over any rail. What breaks until then, the first time, is
     *  nobody's fault. */
    void on_away(sched::Nanos until) { away_until_ = until; }
    /** Notes where the stream begins, if that was not done: by this the peer knows
     *  it when it has broken. Not from a rail's callback. */
    void learn_address(Path &path, uct_ep_h ep);
    /** Sends what has no meaning to the peer, on a stream. */
    void probe(Path &path) const;
    /** The rail did not take what it was given: that is the path's end, or, for
     *  errors of a call, the connection's. */
    void post_failed(Path &path, ucs_status_t status);
    /** What is known of the links at its ends has changed. */
    void on_carrier(Path &path);
    /** The peer has ended a connection of the path, and was not told yet that nothing of it
     *  comes any more. */
    bool owes_quiet(const Path &path) const
    {
        return rx_.owes_quiet(path.remote.index, path.rail.index());
    }
    /** It may be connected again now, if it was not to be before some time. */
    void retry(Path &path);
    /** It does not connect, and the peer knows nothing of it. */
    void rest(Path &path);
    /** Bytes have arrived on a path that broke before. */
    void carries_again(Path &path);
    /** The other NIC has acknowledged the first write of its queue pair. */
    void on_pair_ready(Path &path);

    /** Some path broke and has not been connected again. */
    bool active() const { return broken_ != 0; }
    /** Such a path may carry again soon: it did not break once more when it was tried
     *  again. */
    bool may_be_back() const;
    /** The other end of a stream has ended one, since this was asked last. */
    bool take_ended() { return std::exchange(ended_, false); }
    /** Brings those on that are broken. Not from a rail's callback. False if the
     *  peer has to be given up, which is said. */
    bool advance();
    /** Paths may be connected again whose time has come. */
    void revive(sched::Nanos now);
    /** Some path waits for that time. */
    bool backs_off() const;

    /** The peer is drained on a path that broke. */
    void on_path_quiet(const wire::PathQuiet &message);
    /** The peer's end of a connection of queue pairs is gone. @param unheard  As
     *  nothing came back to it. */
    void on_peer_broke(uint8_t own, uint8_t remote, bool unheard);
    /** Nothing is left of ours that the peer's NICs could reach. */
    bool torn_down(uint8_t own, uint8_t remote) const;

    /** The connection has failed: ends what is under way on paths that carry
     *  nothing for the peer's gets, and on those that are silent, or on all. Not from
     *  a rail's callback. */
    void cancel_in_flight(bool all);

    /** What a NIC has acknowledged may be left in its queue: the peer believes
     *  that we have heard of it, and with our end it would go away. A stream
     *  acknowledges what was looked at. */
    void drain_completions(const Path &path)
    {
        if (path.rail.reads()) {
            endpoints_.poller().drain(path.rail.poll_index());
        }
    }

private:
    void advance(Path &path);
    void tear_down(Path &path);
    void begin_backoff(Path &path);
    bool may_leave(const Path &path) const;
    static bool may_try(Path &path, sched::Nanos now);
    bool puts_ended(const Path &path) const;
    bool is_silent(const Path &path) const;

    Connection    &connection_;
    Endpoints     &endpoints_;
    PathSet       &paths_;
    Host          &host_;
    const RxPaths &rx_;
    Listener      &listener_;
    Pump          &pump_;
    unsigned       broken_ = 0; /* paths that broke */
    sched::Nanos   away_until_;
    sched::Nanos   look_at_;    /* the next look at those of a failed connection */
    bool           ended_  = false; /* see take_ended() */
};

} // namespace fuselink

#endif

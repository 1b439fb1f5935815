/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_SILENCE_WATCH_H
#define FUSELINK_PEER_SILENCE_WATCH_H

#include "../conn/connection.h"
#include "../conn/control_channel.h"
#include "../host/host.h"
#include "../rail/rails.h"
#include "../sched/echo.h"
#include "../sched/return_clock.h"
#include "../transfer/bulk.h"
#include "../wireup/wireup.h"
#include "nic_watch.h"
#include "unheard.h"
#include "watched_connection.h"
#include "watched_lane.h"

#include <cstddef>

namespace fuselink {

/**
 * Finds the streams and queue pairs of one connection that have fallen silent: long
 * before the kernel or the NIC gives them up, and never because the peer's program is
 * slow. What carries bulk data is broken only on proof (sched::StallClock,
 * sched::QuietClock): bytes of it must not be sent again before the old connection has
 * ended at both ends. Messages may be sent twice, so their lane moves on suspicion, if
 * there is another pair of rails; a lane that is a queue pair with its wire, or when its
 * NIC gives up.
 *
 * One that is suspected is given something to acknowledge, and so are others to the
 * same peer, which show whether its host is there.
 *
 * One thread at a time (the worker's).
 */
class SilenceWatch {
public:
    SilenceWatch(Connection &conn, ControlChannel &channel, Wireup &wireup,
                 BulkSender &bulk, Rails &rails, Poller &poller, Host &host)
        : conn_(conn), channel_(channel), wireup_(wireup), bulk_(bulk),
          rails_(rails), host_(host), nics_(channel, wireup, bulk, rails, poller, lane_),
          unheard_(conn.uuid(), rails.list())
    {
    }
    SilenceWatch(const SilenceWatch &)            = delete;
    SilenceWatch &operator=(const SilenceWatch &) = delete;

    /** Between looks, about: the deadlines are some ten milliseconds. */
    static constexpr sched::Nanos kInterval = sched::Nanos::millis(2);

    /** Something may be under way to the peer. */
    bool needed() const
    {
        return watches_lane() || !bulk_.idle() || bulk_.backlog() != 0 ||
               bulk_.paths().has_unconfirmed() || unheard_.is();
    }
    /** From progress, when the time has come. */
    void look(sched::Nanos now);
    /** See NicWatch. */
    bool waits_for_nic() const { return nics_.waits_for_lane(); }
    /** The part of look() that is for this; from progress as well. */
    void look_at_nic(sched::Nanos now) { nics_.look_at_lane(now); }
    /** The connection has failed: nobody is looked at any more. */
    void forget() { unheard_.forget(); }
    /** A connection, of this peer or of another, has found a wire silent, or that it
     *  speaks again. From progress. */
    void on_wire(const Wire &wire);
    /** A queue pair of one waits for long: those of this peer are asked. From progress. */
    void on_doubt(Wire &wire, sched::Nanos now) { nics_.on_doubt(wire, program_at_, now); }
    /** The peer has found the one from our rail `own` to its `remote` silent, which it says
     *  had carried, or had not answered it. */
    void on_told(uint8_t own, uint8_t remote, bool carried);
    /** The peer waits for something. */
    void on_question() { rails_.suspect_ports(); }

private:
    using Stream = WatchedConnection;
    static constexpr size_t kMost = sched::max_paths + 1;

    size_t find_streams(Stream *streams, sched::Nanos now);
    bool   find_lane(Stream &lane, sched::Nanos now);
    bool   note(const Stream &stream, bool waits, uint64_t done, sched::Nanos now);
    bool   watches(const Path &path) const;
    static bool is_useless(const Stream &lane, const sched::StallView &view);
    /* Also while a queue pair is made for it, which is tried by a write to the other
     * NIC: nothing of ours need be under way. */
    bool   watches_lane() const
    {
        return channel_.ep() != nullptr && !nics_.tells_of_lane() &&
               (channel_.unseen() != 0 || channel_.seen_is_due() ||
                channel_.said_seen() != lane_.said ||
                channel_.has(ControlChannel::kWiring));
    }
    Wire  &wire_of(Path &path);
    bool   find_path(Stream &stream, Path &path, sched::Nanos now);
    void   note_answers(Stream &stream, sched::Nanos now);
    void   hear(Stream &stream, sched::Nanos now);
    void   ask(Stream &stream, sched::Nanos now);
    void   note_passed(const Stream &stream, const StreamWatch::Passed &passed,
                       sched::Nanos now);
    void   leave(const Wire &wire);
    void   leave_lane(uint8_t own, uint8_t remote);
    void   on_empty(Stream &stream, sched::Nanos now);
    void   send_probe(const Stream &stream, sched::Nanos now);
    void   look_at_connecting(Path &path, sched::Nanos now);
    void   judge(Stream &stream, const Stream *all, size_t count,
                 sched::Nanos now);
    void   on_return(const Stream *streams, size_t count, sched::Nanos now);
    bool   leave_behind(const Stream &stream, sched::Nanos now);
    bool   waits_for_lane() const;
    void   look_at_peer(const Stream *streams, size_t count, sched::Nanos now);
    void   probe(const Stream &suspect, const Stream *all, size_t count,
                 sched::Nanos now);

    Connection     &conn_;
    ControlChannel &channel_;
    Wireup         &wireup_;
    BulkSender     &bulk_;
    Rails          &rails_;
    Host           &host_;
    WatchedLane     lane_;
    NicWatch        nics_;
    sched::Echo     messages_, questions_; /* that its program has answered */
    sched::Nanos    program_at_;      /* it ran then, or later; */
    sched::Nanos    runs_since_;      /* without a pause */
    Unheard         unheard_;
    sched::ReturnClock return_; /* of the peer */
};

} // namespace fuselink

#endif

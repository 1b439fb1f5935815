/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_SILENCE_WATCH_H
#define FUSELINK_PEER_SILENCE_WATCH_H

#include "../conn/connection.h"
#include "../conn/control_channel.h"
#include "../conn/stream_watch.h"
#include "../host/host.h"
#include "../rail/rails.h"
#include "../transfer/bulk.h"
#include "../wireup/wireup.h"

#include <cstddef>

namespace fuselink {

/**
 * Finds the streams of one connection that have fallen silent: long before the kernel
 * gives them up, and never because the peer's program is slow. What carries bulk data
 * is broken only on proof (sched::StallClock): bytes of it must not be sent again
 * before the old connection has ended at both ends. Messages may be sent twice, so
 * their lane moves on suspicion, if there is another pair of rails.
 *
 * A stream that is suspected is given a byte to acknowledge, and so are others to the
 * same peer, which show whether its host is there.
 *
 * One thread at a time (the worker's).
 */
class SilenceWatch {
public:
    SilenceWatch(Connection &conn, ControlChannel &channel, Wireup &wireup,
                 BulkSender &bulk, Rails &rails, Host &host)
        : conn_(conn), channel_(channel), wireup_(wireup), bulk_(bulk),
          rails_(rails), host_(host)
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
               bulk_.paths().has_unconfirmed();
    }
    /** From progress, when the time has come. */
    void look(sched::Nanos now);
    /** A connection, of this peer or of another, has found a wire silent, or that it
     *  speaks again. From progress. */
    void on_wire(const Wire &wire);
    /** The peer has found the one from our rail `own` to its `remote` silent. */
    void on_told(uint8_t own, uint8_t remote);

private:
    /* One of the connection's streams. */
    struct Stream {
        StreamWatch *watch;
        Wire        *wire; /* may be null, of the lane */
        uct_ep_h     ep;
        Path        *path; /* null: the lane of messages */
        uint8_t      own, remote; /* rails */
        bool         asked;
        StreamState  state;
    };
    static constexpr size_t kMost = sched::max_paths + 1;

    size_t find_streams(Stream *streams, sched::Nanos now);
    bool   find_lane(Stream &lane, sched::Nanos now);
    bool   watches(const Path &path) const;
    bool   watches_lane() const
    {
        return channel_.unseen() != 0 || channel_.seen_is_due() ||
               channel_.said_seen() != lane_said_;
    }
    void   ask(Stream &stream, sched::Nanos now);
    void   leave(const Wire &wire);
    void   on_empty(Stream &stream, sched::Nanos now);
    void   send_probe(const Stream &stream);
    void   look_at_connecting(Path &path, sched::Nanos now);
    void   judge(Stream &stream, const Stream *all, size_t count,
                 sched::Nanos now);
    void   probe(const Stream &suspect, const Stream *all, size_t count,
                 sched::Nanos now);

    Connection     &conn_;
    ControlChannel &channel_;
    Wireup         &wireup_;
    BulkSender     &bulk_;
    Rails          &rails_;
    Host           &host_;
    StreamWatch     lane_;
    Wire           *lane_wire_ = nullptr; /* null: not known yet */
    uint8_t         lane_number_ = 0; /* whose these are */
    uint64_t        lane_said_   = 0; /* so many of those have come */
    uint64_t        heard_       = 0; /* as often its program has told us something, */
    sched::Nanos    program_at_;      /* and then */
};

} // namespace fuselink

#endif

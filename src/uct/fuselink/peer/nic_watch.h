/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_NIC_WATCH_H
#define FUSELINK_PEER_NIC_WATCH_H

#include "../conn/control_channel.h"
#include "../rail/rails.h"
#include "../transfer/bulk.h"
#include "../wireup/wireup.h"
#include "watched_connection.h"
#include "watched_lane.h"

#include <span>

namespace fuselink {

/**
 * The part of SilenceWatch that is for queue pairs and datagrams, of which no kernel can be
 * asked: the other NIC is, by a write to nowhere (EndpointCheck). A path of them is broken
 * when nothing ends for longer than its NIC tries (sched::QuietClock), and no other queue pair
 * of the same wire is answered; a lane of messages, when its peer's program says nothing.
 *
 * One thread at a time (the worker's).
 */
class NicWatch {
public:
    /** All outlive this. */
    NicWatch(ControlChannel &channel, Wireup &wireup, BulkSender &bulk, Rails &rails,
             Poller &poller, WatchedLane &lane)
        : channel_(channel), wireup_(wireup), bulk_(bulk), rails_(rails), poller_(poller),
          lane_(lane)
    {
    }
    NicWatch(const NicWatch &)            = delete;
    NicWatch &operator=(const NicWatch &) = delete;

    /** Until a NIC is asked whether messages have come, which their program says itself if
     *  it looks. */
    static constexpr sched::Nanos kFirstCheck = sched::Nanos::millis(50);

    /** The lane is a queue pair, or one end for all peers (dc). A NIC knows what waits only
     *  for room that the peer's program makes, and nobody else does. */
    bool tells_of_lane() const
    {
        return channel_.rail()->reads() && !channel_.for_hellos();
    }
    /** The lane is a queue pair of its own, and something that was sent is not
     *  acknowledged, by the peer's program: that may take long for other reasons, but its
     *  port may have no link. */
    bool waits_for_lane() const
    {
        return channel_.unseen() != 0 && channel_.ep() != nullptr &&
               channel_.has_own_end() && tells_of_lane();
    }
    /** Looks at that. */
    void look_at_lane(sched::Nanos now);

    /** Messages were acknowledged, by the peer's program. */
    void         note_acknowledged(sched::Nanos now);
    sched::Nanos acknowledged_at() const { return acknowledged_at_; }

    /** Also before anything went over it: it may be asked. */
    static bool         carries_by_pair(const Path &path);
    /** Of queue pairs little is heard while all goes well. */
    static sched::Nanos lately(const Path &path);

    /** A NIC says when a put has ended. Of messages only who asks hears that they have
     *  come, before their program looks. */
    void ask(const WatchedConnection &stream, sched::Nanos now);
    void check(const WatchedConnection &stream, sched::Nanos now);
    /** Breaks what is silent. True if it may be, and it and others are to be probed.
     *  @param all, program_at  As of WatchedConnection::quiet_view(). */
    bool judge(const WatchedConnection &stream, std::span<const WatchedConnection> all,
               sched::Nanos program_at, sched::Nanos now);

    /** A queue pair of a wire waits for long: those of this peer are asked. What they bring
     *  is for the wire, whoever doubts it.
     *  @param program_at  The peer's program ran then, or later. */
    void on_doubt(Wire &wire, sched::Nanos program_at, sched::Nanos now);

private:
    bool begin_for(Wire &wire, EndpointCheck &check, uct_ep_h ep, unsigned index);
    void leave_pair(Path &path, sched::Nanos since, sched::Nanos now);
    void suspect_ports(sched::Nanos now);
    sched::Nanos limit_of(const WatchedConnection &stream) const;

    ControlChannel &channel_;
    Wireup         &wireup_;
    BulkSender     &bulk_;
    Rails          &rails_;
    Poller         &poller_;
    WatchedLane    &lane_;
    sched::Nanos    acknowledged_at_; /* messages by the peer's program */
};

} // namespace fuselink

#endif

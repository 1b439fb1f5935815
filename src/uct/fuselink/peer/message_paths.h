/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_MESSAGE_PATHS_H
#define FUSELINK_PEER_MESSAGE_PATHS_H

#include "../conn/control_channel.h"
#include "../conn/side_lanes.h"
#include "../host/host.h"
#include "../sched/message_spread.h"
#include "../sched/spread_trial.h"
#include "../transfer/bulk.h"

#include <cstdint>
#include <memory>

namespace fuselink {

/**
 * Messages over other NICs than the lane's, while that brings more of them
 * (sched::SpreadTrial): over the paths of bulk data that are streams, each of which is a
 * connection between two NICs and watched already, so that one which breaks or falls silent
 * is found as for bulk data. Which has the next one, sched::MessageSpread says.
 *
 * Where both sides wait for each other's messages, one side alone gains nothing: so a side
 * that tries several says so in its messages, and the peer does as much while they come.
 * Of the two, the one with the smaller id lets the other try first.
 *
 * A message behind bulk data waits for that, which counts. Where messages alone are the
 * load, paths are connected for them.
 *
 * One thread at a time (the worker's).
 */
class MessagePaths final : public SideLanes {
public:
    /** What the user has said. */
    enum class Use : uint8_t { Tries, One, All };

    /** @param yields the peer is to try first */
    MessagePaths(ControlChannel &channel, BulkSender &bulk, const Poller &poller,
                 Host &host, Use use, bool yields)
        : channel_(channel), bulk_(bulk), poller_(poller), host_(host), use_(use),
          yields_(yields)
    {
        channel.set_sides(*this);
    }
    MessagePaths(const MessagePaths &)            = delete;
    MessagePaths &operator=(const MessagePaths &) = delete;

    /** What the peer said on its last message (wire::kMarks), and says on this one. */
    uint8_t marks() const { return marks_; }
    void    note_marks(uint8_t marks) { marks_ = marks; }
    /** One of its users' messages has come. */
    void    note_message() { ++came_; }
    /** It was sent beside the peer's lane. */
    void    note_beside() { ++beside_; }
    /** It is to be looked at. */
    bool tries() const { return spread_ && spread_->trial.tries(); }
    /** From progress, now and then: looks at the wires in use. */
    void look(sched::Nanos now);
    /** From progress, behind paths that break: what had messages and is no more. */
    void look_at_gone();

    Side choose() override;
    void gave(ucs_status_t status, size_t length) override;
    void lane_took(size_t length) override;
    bool are_through() override;

private:
    struct Spread {
        sched::MessageSpread wires;
        sched::SpreadTrial   trial;
        uint64_t             length = 0; /* of a message, then; 0: not known */
    };

    bool lane_counts() const;
    bool suits(const Path &path) const;
    bool may_take(const Path &path) const;
    bool hears(sched::Nanos now);
    bool peer_follows(sched::Nanos now);
    bool look_at_lane(sched::Nanos now);
    bool look_at_paths(sched::Nanos now, bool wanted);
    bool may_try(sched::Nanos now, bool wanted);
    void spread(bool several, uint8_t marks);
    void look_at_length(sched::Nanos now, uint64_t length);
    void follow_trial(sched::Nanos now, bool may, bool follows);

    ControlChannel &channel_;
    BulkSender     &bulk_;
    const Poller   &poller_;
    Host           &host_;
    const Use       use_;
    const bool      yields_;
    uint8_t         marks_ = 0; /* what it said last, */
    uint32_t        came_  = 0; /* messages of its users, */
    uint32_t        heard_ = 0; /* by the last look, */
    uint32_t        beside_ = 0, looked_beside_ = 0; /* of them, beside its lane */
    sched::Nanos    heard_at_; /* when there was another, */
    sched::Nanos    told_at_;  /* and one with marks */
    sched::Nanos    wanted_at_; /* first */
    std::unique_ptr<Spread> spread_; /* peers whose lane is enough have none */
    uint64_t                sent_ = 0; /* bytes, by the last look, */
    wire::MessageNumber     next_ = 0; /* and the next message then */
    uint8_t                 lane_      = 0; /* the last that was looked at */
    Path                   *chosen_    = nullptr;
    size_t                  chosen_wire_ = 0;
    sched::Nanos            chosen_at_;
};

} // namespace fuselink

#endif

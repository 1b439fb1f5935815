/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIREUP_MESSAGE_LANE_H
#define FUSELINK_WIREUP_MESSAGE_LANE_H

#include "../conn/connection.h"
#include "../conn/control_channel.h"
#include "../conn/endpoints.h"
#include "../conn/queue_pair.h"
#include "../rail/pairs.h"
#include "../rail/rails.h"
#include "../wire/address.h"
#include "../wire/messages.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace fuselink {

/**
 * The queue pair for messages, on rails that connect endpoint to endpoint: which
 * pair of rails it is on, and making it. Users' messages wait for it, or until it
 * is known that there will be none and they go where the hello went.
 *
 * One thread at a time (the worker's).
 */
class MessageLane {
public:
    /** `theirs` is the peer's rails, empty until they are known. */
    MessageLane(Connection &conn, ControlChannel &channel, Endpoints &endpoints,
                const Rails &rails, const wire::RailTable &theirs)
        : conn_(conn), channel_(channel), endpoints_(endpoints), rails_(rails),
          theirs_(theirs)
    {
    }
    MessageLane(const MessageLane &)            = delete;
    MessageLane &operator=(const MessageLane &) = delete;

    /** A pair that connects endpoint to endpoint, of a rail of ours and one of
     *  the peer's by their numbers, which may be wrong. */
    static std::optional<RailPair> find_rails(const Rails           &rails,
                                              const wire::RailTable &theirs,
                                              uint8_t own, uint8_t remote);

    /** The peer's rails are known, and it knows ours, or will before what
     *  follows. Its hello came over these, ours and its own. */
    void start(uint8_t own, uint8_t remote);
    /** The peer has another lane, and ours stays: there is no pair for it, unless one
     *  is being made. */
    void stay(uint8_t own, uint8_t remote);
    /** A step that the peer takes; `address` is untrusted. */
    void on_step(const wire::RailAddr       &message,
                 const std::vector<uint8_t> &address);
    /** From progress: does what could not be done at once. */
    void advance();
    /** The pair that was made of these rails, ours and the peer's, has failed. */
    bool moves_no_data(uint8_t own, uint8_t remote) const
    {
        return pair_ && pair_->failed() && pair_->rail().index() == own &&
               pair_->remote().index == remote;
    }
    /** An endpoint broke that is not the lane. False if it is none of this. */
    bool on_error(uct_ep_h ep);
    /** The lane broke: there may be another pair from now on. The old one stays
     *  until drop_retired(): this may be inside a call on it. */
    void retire();
    void drop_retired() { retired_.clear(); }
    /** The peer has no pair any more but one that is being made: what else there is
     *  here is of no use. From progress, when no lane is broken. */
    void drop_unused();
    void close()
    {
        pair_.reset();
        drop_retired();
    }

private:
    bool asks() const;
    void decline(uint8_t own, uint8_t remote);
    void settled();
    void settle_pair();
    bool waited_for() const { return channel_.has(ControlChannel::kWiring); }

    Connection                &conn_;
    ControlChannel            &channel_;
    Endpoints                 &endpoints_;
    const Rails               &rails_;
    const wire::RailTable     &theirs_;
    std::unique_ptr<QueuePair> pair_;
    /* Rails, ours and its own, of the peer's lane that came while one was being made:
     * the peer may have refused that before. */
    std::optional<std::pair<uint8_t, uint8_t>> stays_;
    uint8_t                    turn_ = 0; /* of the last pair that we asked for */
    std::vector<std::unique_ptr<QueuePair>> retired_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: how a connection ends.
 *
 * Whichever side finds it broken tells the other, which then fails as well, and
 * both take their leave in the same way: what was not sent yet is dropped, what
 * is on its way to the other's memory as the answer to a get is let arrive, and
 * then the other side is told that nothing more will come. Only that ends its
 * gets: the memory of a get that has ended belongs to the user again. */

#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>

namespace fuselink {
namespace {

/* How long a peer may take to confirm that it has stopped. */
constexpr sched::Nanos kLeaveTime = sched::Nanos::seconds(10);
/* A connection refused within this time was refused by the peer's host, because
 * nobody listens there any more: an unreachable host takes longer. */
constexpr sched::Nanos kRefusedTime = sched::Nanos::seconds(1);
/* What a dead peer's kernel still has to send comes without such a pause. */
constexpr sched::Nanos kQuietTime = sched::Nanos::millis(500);
/* How long to try to tell a peer that nothing here depends on. */
constexpr sched::Nanos kTellTime = sched::Nanos::seconds(2);
/* From the end of a stream to the goodbye that was sent before it by another NIC,
 * behind what is queued there. */
constexpr sched::Nanos kGoodbyeTime = sched::Nanos::millis(200);
/* For the last words to leave this process. */
constexpr sched::Nanos kFlushTime = sched::Nanos::seconds(1);

} // namespace

void Peer::fail(ucs_status_t status)
{
    if (failed()) {
        defer();
        return;
    }
    ucs_debug("fuselink: peer %016lx failed: %s", uuid(),
              ucs_status_string(status));
    failed_     = status;
    obstacles_ |= kFailed;
    defer();
}

void Peer::fail_as_told(ucs_status_t status)
{
    leave_.was_asked = leave_.must_tell = true;
    fail(status);
}

void Peer::note_open()
{
    leave_.had_open = epochs_.outstanding() != 0 || sends_.open() != 0;
}

/* `in_call`: the user's, which may end the program when it hears of this. */
void Peer::fail_with_lane(ucs_status_t status, bool in_call)
{
    if (!failed()) {
        leave_.lane_status = status;
        leave_.lane_failed = engine_.now();
        note_open();
        if (in_call) {
            say_lane_failed();
        }
    }
    fail(status);
}

void Peer::say_lane_failed()
{
    ucs_warn("fuselink: rail %s, over which messages go to peer %016lx, has "
             "failed (%s): the connection has failed, and programs that do not "
             "handle that, as those with MPI, may wait for ever",
             rail_->name().c_str(), uuid(),
             ucs_status_string(leave_.lane_status));
    leave_.why_said = true;
}

/* A peer that leaves in order says so before its streams end, but over the NIC of
 * its own messages: of ours the end may be seen first. */
bool Peer::awaits_goodbye() const
{
    return leave_.lane_status != UCS_OK && !leave_.why_said &&
           !leave_.was_asked && rail_->traits().stream &&
           engine_.now() < leave_.lane_failed + kGoodbyeTime;
}

/* Before users hear of it, who may end the program. One that has endpoints to a
 * peer that is silent may wait for it, also where nothing of its own is open;
 * without endpoints nobody does. */
void Peer::say_why()
{
    if (leave_.why_said) {
        return;
    }
    const bool silent = leave_.lane_status != UCS_OK && !users_.empty();
    if (!leave_.closed_there) {
        if (silent) {
            say_lane_failed();
        }
    } else if (leave_.had_open) {
        ucs_warn("fuselink: peer %016lx has closed its interface with "
                 "operations of this process open: they end with '%s'",
                 uuid(), ucs_status_string(failed_));
    }
}

void Peer::begin_leave()
{
    say_why();
    leave_.begun     = true;
    const sched::Nanos now = engine_.now();
    leave_.until      = now + kLeaveTime;
    leave_.tell_until = now + kTellTime;
    bool was_serving = bulk_.serving() != 0;

    queue_.clear();
    unserved_.clear();
    queue_bytes_ = answer_bytes_ = 0;
    key_requests_.clear();
    bulk_.fail(failed_);
    /* What comes by messages we drop from now on. */
    end_gets(failed_, false);
    end_flushes(nullptr, failed_);

    /* With nothing to wait for, and a connection that the other side sees
     * breaking like we do, there is nothing to say. Nor at the end of a job,
     * where connections break because processes leave: UCX would complain of
     * each that does not answer any more. */
    leave_.must_tell = leave_.must_tell || gets_open() || was_serving ||
                       (!shares_lane() && !users_.empty());
    tell_users();
}

void Peer::tell_users()
{
    /* The handler may destroy endpoints: work on a copy and check. */
    std::vector<PeerUser *> told = users_;
    for (PeerUser *user : told) {
        if (std::find(users_.begin(), users_.end(), user) == users_.end() ||
            user->cancelling) { /* it gave up before */
            continue;
        }
        uct_iface_handle_ep_err(&engine_.owner().super, user->ep, failed_);
    }
}

void Peer::advance_leave()
{
    if (closed_) {
        return;
    }
    const sched::Nanos now  = engine_.now();
    const bool         late = now > leave_.until;
    bulk_.cancel_in_flight(late);
    if (control_ != nullptr && sends_.open() != 0 &&
        (late || leave_.lane_broken)) {
        uct_ep_flush(control_, UCT_FLUSH_FLAG_CANCEL, nullptr);
    }
    bool said = take_leave(now) || late ||
                (now > leave_.tell_until && !gets_open() &&
                 bulk_.serving() == 0);
    if (gets_open()) {
        if (gets_over(now)) {
            end_gets(failed_, true);
        } else if (late) {
            ucs_warn("fuselink: peer %016lx did not confirm within %g s that "
                     "it has stopped: gets from it end with '%s' although it "
                     "may still write to their memory", uuid(),
                     kLeaveTime.as_seconds(), ucs_status_string(failed_));
            bulk_.close(); /* so that at least no NIC does */
            end_gets(failed_, true);
        }
    }
    if (said && !gets_open() &&
        (late || (bulk_.idle() && sends_.open() == 0))) {
        close_lanes();
        sends_.for_each([this](SendOp &op) { /* a rail that forgot them */
            op.comp.status = failed_;
            on_sent(&op.comp);
        });
        closed_ = true;
        check_cancels();
        return;
    }
    defer();
}

/* True when all is said, or cannot be. */
bool Peer::take_leave(sched::Nanos now)
{
    bool stopped = bulk_.serving() == 0;
    if ((!leave_.said || (stopped && !leave_.said_stopped)) &&
        !say_goodbye(stopped)) {
        return stopped && leave_.is_gone;
    }
    if (!leave_.said_stopped) {
        return false;
    }
    if (leave_.flush_until == sched::Nanos()) {
        leave_.flush_until = now + kFlushTime;
    }
    uct_ep_h ep         = leave_.ep != nullptr ? leave_.ep : control_;
    ucs_status_t status = uct_ep_flush(ep, 0, nullptr);
    return (status != UCS_INPROGRESS && status != UCS_ERR_NO_RESOURCE) ||
           now > leave_.flush_until;
}

/* False if it could not be said, now or (is_gone) at all. */
bool Peer::say_goodbye(bool stopped)
{
    uct_ep_h ep = farewell_lane(engine_.now());
    if (ep == nullptr) {
        return false;
    }
    leave_.said         = true; /* unless the lane fails in the call */
    leave_.said_stopped = stopped;
    if (!send_goodbye(ep, (stopped ? wire::kGoodbyeStopped : 0) |
                              (bulk_.broken() ? wire::kGoodbyeBroken : 0))) {
        leave_.said = leave_.said_stopped = false;
    }
    return leave_.said;
}

bool Peer::send_goodbye(uct_ep_h ep, int flags)
{
    wire::Goodbye message{};
    message.header.type  = static_cast<uint8_t>(wire::ControlType::Goodbye);
    message.header.flags = static_cast<uint16_t>(flags);
    message.status       = failed_;
    stamp(&message);
    return try_control(ep, &message, sizeof(message), nullptr, 0);
}

/* The control lane; where it is broken, another connection to the peer. */
uct_ep_h Peer::farewell_lane(sched::Nanos now)
{
    if (leave_.is_gone) {
        return nullptr;
    }
    if (control_ != nullptr && !leave_.lane_broken && hello_taken_) {
        return control_;
    }
    if (!leave_.must_tell || peer_session_ == 0) {
        leave_.is_gone = true;
    }
    if (leave_.ep_failed) {
        engine_.destroy_lane(leave_.ep);
        leave_.ep        = nullptr;
        leave_.ep_failed = false;
        if (now - leave_.ep_since < kRefusedTime) {
            leave_.is_gone = true;
        }
    }
    while (leave_.ep == nullptr && !leave_.is_gone) {
        if (leave_.next_way == ways_.size()) {
            leave_.is_gone = true;
            break;
        }
        /* The rail of the control lane comes last. */
        ++leave_.next_way;
        const Way &way  = ways_[(way_ + leave_.next_way) % ways_.size()];
        leave_.ep_since  = now;
        if (engine_.create_lane(*this, way.rail->hello(), way.remote,
                                leave_.ep) != UCS_OK) {
            leave_.ep = nullptr;
        }
    }
    return leave_.ep;
}

void Peer::on_goodbye(const wire::ControlHeader &header, const void *data,
                      size_t length)
{
    wire::Goodbye message;
    if (!wire::parse(data, length, message)) {
        return;
    }
    leave_.is_stopped |= (header.flags & wire::kGoodbyeStopped) != 0;
    leave_.broken     |= (header.flags & wire::kGoodbyeBroken) != 0;
    if (header.flags & wire::kGoodbyeClosed) {
        if (!failed()) {
            note_open();
        }
        leave_.closed_there = leave_.is_gone = true;
    }
    auto status = static_cast<ucs_status_t>(message.status);
    ucs_debug("fuselink: peer %016lx says goodbye: %s", uuid(),
              status < 0 && status > UCS_ERR_LAST ? ucs_status_string(status) :
                                                    "no reason");
    fail_as_told(UCS_ERR_CONNECTION_RESET);
}

/* --- gets of a failed peer --- */

bool Peer::gets_open() const
{
    return engine_.gets().open(this) != 0;
}

/* Nothing is written to their memory any more. */
bool Peer::gets_over(sched::Nanos now)
{
    if (leave_.is_stopped && !leave_.broken) {
        return true;
    }
    if (!leave_.is_stopped && !leave_.is_gone) {
        return false;
    }
    /* The end of a connection on which only the other side sends is not
     * reported to us, and what is left in it may still be coming. */
    if (leave_.quiet_at == sched::Nanos() ||
        leave_.quiet_landings != landings_) {
        leave_.quiet_at       = now;
        leave_.quiet_landings = landings_;
    }
    return now - leave_.quiet_at > kQuietTime;
}

/* Those that nobody but us writes the memory of, or `all`. */
void Peer::end_gets(ucs_status_t status, bool all)
{
    const bool in_place = bulk_.written_in_place();
    engine_.gets().for_each(this, [&](Get &get) {
        if (all || get.by_message || !(get.named || in_place)) {
            end_get(get, status);
        }
    });
}

/* --- the interface closes --- */

void Peer::abandon()
{
    if (!failed()) {
        failed_     = UCS_ERR_CANCELED;
        obstacles_ |= kFailed;
        /* The other side sees a stream end whatever we say, and could take it
         * for a NIC that has failed. One try: nobody is there to go on. */
        if (control_ != nullptr && rail_->traits().stream && hello_taken_ &&
            !(obstacles_ & (kBlocked | kConnecting))) {
            send_goodbye(control_, wire::kGoodbyeClosed);
        }
    }
    leave_.abandoned = true;
    leave_.begun = true;
    queue_.clear();
    unserved_.clear();
    bulk_.fail(failed_);
    bulk_.cancel_in_flight(true);
    if (control_ != nullptr) {
        uct_ep_flush(control_, UCT_FLUSH_FLAG_CANCEL, nullptr);
    }
    bulk_.close(); /* no NIC writes to their memory any more */
    end_gets(failed_, true);
    end_flushes(nullptr, failed_);
    check_cancels();
}

} // namespace fuselink

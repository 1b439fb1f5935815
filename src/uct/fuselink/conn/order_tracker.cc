/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "order_tracker.h"

#include "../wire/messages.h"

#include <algorithm>

namespace fuselink {

OrderTracker::OrderTracker(Connection &conn, ControlChannel &channel,
                           Events &events)
    : conn_(conn), channel_(channel), events_(events), acks_(conn.session())
{
}

OrderTracker::~OrderTracker()
{
    for (FlushOp *op : flushes_) {
        delete op;
    }
    for (LaneFlush *flush : at_lanes_) {
        delete flush; /* of a lane that is gone, and has not told */
    }
}

void OrderTracker::end_op(Epochs::Id id)
{
    if (epochs_.end(id)) {
        check_waiters();
    }
}

/* An epoch or an acknowledgement of small puts has moved on. */
void OrderTracker::check_waiters()
{
    for (size_t i = 0; i < flushes_.size();) {
        FlushOp *op   = flushes_[i];
        size_t before = flushes_.size();
        if (op->wait_epoch && epochs_.passed(op->boundary)) {
            op->wait_epoch = false;
            flush_step(op, conn_.failure());
        } else if (op->wait_puts && acks_.acked(op->last_put)) {
            op->wait_puts = false;
            flush_step(op, conn_.failure());
        } else {
            ++i;
            continue;
        }
        /* The step may have ended the operation, and its user may have begun
         * or ended others: start over rather than reason about it. */
        if (flushes_.size() != before) {
            i = 0;
        }
    }
    look_at_fence();
    if (channel_.obstacles() == ControlChannel::kQueued) {
        events_.on_users_free();
    }
}

void OrderTracker::look_at_fence()
{
    if (channel_.has(ControlChannel::kFenced) &&
        epochs_.passed(fence_boundary_)) {
        channel_.clear(ControlChannel::kFenced);
    }
}

/* While UCP connects it keeps requests itself, and hands them over at once
 * when it is done. Nobody can tell which of them were before a fence that came
 * meanwhile: so there is one behind each, until all are handed over. */
void OrderTracker::repeat_fence()
{
    fence();
    strict_used_ = true;
    conn_.defer();
}

bool OrderTracker::end_strict()
{
    if (!strict_used_) {
        return false;
    }
    strict_used_ = false;
    strict_      = false;
    return true;
}

void OrderTracker::fence(bool messages)
{
    if (messages && channel_.take_unfenced()) {
        acks_.fence_sent(); /* acknowledged when they have been handled */
    }
    /* Gets of the lane's own NIC are among these, though the lane keeps its order:
     * what they read is in the user's memory when the rail has looked at its
     * completions, and it looks at messages first. So the answer to a later
     * message, UCP's atomics for one, would seem to come after the get. */
    if (ops_open()) {
        fence_boundary_ = epochs_.boundary();
        channel_.set(ControlChannel::kFenced);
    }
    if (lane_puts_) {
        /* Same lane: messages and gets follow its puts, and for puts it is told
         * when the next comes. Bulk data waits. */
        lane_put_fence_ = true;
        flush_lane();
    }
    if (acks_.open()) {
        /* Later messages follow these on the same lane. Bulk data could overtake
         * them, and what a NIC does, or a deputy, while the program has not looked. */
        acks_.note_fence(messages);
        hold_bulk();
    }
}

/* Not in front of a get: no get is under way that it could overtake, and puts it
 * follows in any case. The flag that UCX sets for it would only have the NIC wait,
 * for which soft-RoCE of Linux 6.1 may wait forever: what it waits for can end
 * unseen between its look and its falling asleep. */
ucs_status_t OrderTracker::before_lane_put()
{
    if (ucs_likely(!lane_put_fence_)) {
        return UCS_OK;
    }
    lane_put_fence_ = false;
    return uct_ep_fence(channel_.ep(), 0);
}

/* Until the peer has handled what went to it as messages so far. */
void OrderTracker::hold_bulk()
{
    acks_.hold_bulk();
    request_ack();
}

void OrderTracker::begin_hello_fence()
{
    if (hello_fence_due_ && !channel_.has(ControlChannel::kConnecting)) {
        hello_fence_due_ = false;
        acks_.fence_sent(); /* stands for the hello */
        hold_bulk();
    }
}

/* Has bulk data wait until the puts of the lane's own NIC have ended. The lane may not
 * be able to tell now, or be no more: then it waits until one is, too. */
void OrderTracker::flush_lane()
{
    lane_fence_due_ = channel_.has(ControlChannel::kConnecting |
                                   ControlChannel::kPutsAgain);
    if (lane_fence_due_) {
        return; /* begin_lane_fence(), when they are done */
    }
    LaneFlush   *fence  = begin_lane_flush(For::Fence);
    ucs_status_t status = uct_ep_flush(channel_.ep(), 0, &fence->comp);
    lane_fence_due_     = status == UCS_ERR_NO_RESOURCE;
    if (status == UCS_INPROGRESS) {
        ++lane_fences_;
    } else {
        drop_lane_flush(fence);
    }
    if (lane_fence_due_) {
        conn_.defer();
    } else if (UCS_STATUS_IS_ERR(status)) {
        lane_fence_due_ = true;
        channel_.outcome(status);
    } else {
        lane_puts_ = false;
        if (status == UCS_OK) {
            note_lane_flushed(lane_puts_sent_);
        }
    }
}

/* So that no more is kept than must be. */
void OrderTracker::ask_lane()
{
    ask_due_ = false;
    if (asks_ || channel_.has(ControlChannel::kConnecting |
                              ControlChannel::kPutsAgain)) {
        return;
    }
    LaneFlush   *flush  = begin_lane_flush(For::Ask);
    ucs_status_t status = uct_ep_flush(channel_.ep(), 0, &flush->comp);
    if (status == UCS_INPROGRESS) {
        asks_ = true;
        channel_.note_puts_asked();
        return;
    }
    drop_lane_flush(flush);
    if (status == UCS_OK) {
        note_lane_flushed(lane_puts_sent_);
    } else if (status == UCS_ERR_NO_RESOURCE) {
        ask_due_ = true;
        conn_.defer();
    } else {
        channel_.outcome(status);
    }
}

void OrderTracker::begin_lane_fence()
{
    if (lane_fence_due_ && !channel_.has(ControlChannel::kConnecting |
                                         ControlChannel::kPutsAgain)) {
        flush_lane();
        events_.on_bulk_free(); /* may have waited for it */
    }
}

void OrderTracker::request_ack()
{
    const uint64_t number = acks_.request();
    if (number == 0) {
        return;
    }
    wire::Flush message{};
    message.header.type = static_cast<uint8_t>(wire::ControlType::FlushReq);
    message.sn          = number;
    conn_.send_control(&message, sizeof(message));
}

void OrderTracker::on_request(const void *data, size_t length)
{
    wire::Flush flush;
    if (!wire::parse(data, length, flush)) {
        return;
    }
    wire::Flush reply{};
    reply.header.type = static_cast<uint8_t>(wire::ControlType::FlushAck);
    reply.sn          = flush.sn;
    conn_.send_control(&reply, sizeof(reply));
}

void OrderTracker::on_ack(const void *data, size_t length)
{
    wire::Flush flush;
    if (!wire::parse(data, length, flush) || !acks_.on_ack(flush.sn)) {
        return;
    }
    check_waiters();
    events_.on_bulk_free();
}

OrderTracker::LaneFlush *OrderTracker::begin_lane_flush(For what, FlushOp *op)
{
    auto *flush = new LaneFlush{{}, this, op, lane_puts_sent_, channel_.lane(),
                                what};
    arm(flush->comp, on_lane_flushed);
    at_lanes_.push_back(flush);
    return flush;
}

void OrderTracker::drop_lane_flush(LaneFlush *flush)
{
    at_lanes_.erase(std::find(at_lanes_.begin(), at_lanes_.end(), flush));
    delete flush;
}

void OrderTracker::on_lane_flushed(uct_completion_t *comp)
{
    auto *flush = reinterpret_cast<LaneFlush *>(comp);
    flush->order->end_lane_flush(flush, comp->status);
}

void OrderTracker::end_lane_flush(LaneFlush *flush, ucs_status_t status)
{
    const LaneFlush ended = *flush;
    drop_lane_flush(flush);
    if (ended.what == For::Nobody) {
        return;
    }
    lane_fences_ -= ended.what == For::Fence;
    asks_         = asks_ && ended.what != For::Ask;
    if (ended.op != nullptr) {
        ended.op->lane = nullptr;
    }
    if (UCS_STATUS_IS_ERR(status) && !conn_.failed()) {
        /* The lane broke, and says so a little later: until then another flush
         * of it would find nothing to wait for. The messages go on. */
        if (ended.what == For::Fence) {
            lane_fence_due_ = lane_puts_ = true;
        } else if (ended.what == For::User) {
            ended.op->wait_lane = true;
            ++flushes_again_;
        }
        if (ended.lane == channel_.lane()) {
            channel_.outcome(status);
        }
        conn_.defer();
        return;
    }
    if (status == UCS_OK) {
        note_lane_flushed(ended.puts);
    }
    if (ended.what == For::Fence) {
        events_.on_bulk_free();
    } else if (ended.what == For::User) {
        --lane_flushes_;
        flush_step(ended.op, status);
    } else if (status == UCS_OK && channel_.puts_ask_due()) {
        ask_due_ = true; /* more have come meanwhile */
        conn_.defer();
    }
}

void OrderTracker::on_lane_lost()
{
    for (LaneFlush *flush : at_lanes_) {
        if (flush->what == For::User) {
            flush->op->lane      = nullptr;
            flush->op->wait_lane = true;
            ++flushes_again_;
        }
        flush->op   = nullptr;
        flush->what = For::Nobody;
    }
    lane_fence_due_ = lane_fence_due_ || lane_fences_ != 0;
    lane_fences_    = 0;
    lane_put_fence_ = asks_ = ask_due_ = false; /* messages keep their order */
    if (channel_.puts_kept()) {
        /* They are done when the peer has had this, which comes behind them. */
        acks_.fence_sent();
        request_ack();
    }
}

/* So many puts of the lane's NIC, at least, have arrived. */
void OrderTracker::note_lane_flushed(uint64_t puts)
{
    channel_.puts_done(puts);
    if (puts == lane_puts_sent_) {
        lane_puts_ = lane_put_fence_ = false;
    }
}

void OrderTracker::resume_flushes()
{
    if (ucs_likely(flushes_again_ == 0) ||
        channel_.has(ControlChannel::kConnecting) || !channel_.sent_all()) {
        return;
    }
    for (size_t i = 0; i < flushes_.size(); ++i) {
        FlushOp *op = flushes_[i];
        if (!op->wait_lane) {
            continue;
        }
        LaneFlush   *flush  = begin_lane_flush(For::User, op);
        ucs_status_t status = uct_ep_flush(channel_.ep(), 0, &flush->comp);
        if (status == UCS_INPROGRESS) {
            op->lane = flush;
        } else {
            drop_lane_flush(flush);
        }
        if (status == UCS_ERR_NO_RESOURCE) {
            conn_.defer();
            return;
        }
        if (UCS_STATUS_IS_ERR(status)) {
            channel_.outcome(status); /* this one is no better */
            return;
        }
        op->wait_lane = false;
        --flushes_again_;
        if (status == UCS_OK) {
            --lane_flushes_;
            flush_step(op, UCS_OK);
            i = SIZE_MAX; /* others may have ended with it: from the start */
        }
    }
}

void OrderTracker::flush_step(FlushOp *op, ucs_status_t status)
{
    if (status != UCS_OK && op->status == UCS_OK) {
        op->status = status;
    }
    if (--op->waiting != 0) {
        return;
    }
    auto it = std::find(flushes_.begin(), flushes_.end(), op);
    if (it != flushes_.end()) {
        flushes_.erase(it);
    }
    uct_completion_t *user = op->user;
    ucs_status_t result    = op->status;
    delete op;
    if (user != nullptr) {
        conn_.complete(user, result);
    }
}

/* Ends it for its user; the lane may keep it for longer. */
void OrderTracker::end_flush(FlushOp *op, ucs_status_t status)
{
    uct_completion_t *user = op->user;
    op->user               = nullptr;
    op->owner              = nullptr;
    op->waiting           -= op->wait_epoch + op->wait_puts;
    op->wait_epoch = op->wait_puts = false;
    if (op->waiting == 0) {
        flushes_.erase(std::find(flushes_.begin(), flushes_.end(), op));
        delete op;
    }
    conn_.complete(user, status);
}

void OrderTracker::end_flushes(const PeerUser *user, ucs_status_t status)
{
    auto open = [&](const FlushOp *op) {
        return op->user != nullptr && (user == nullptr || op->owner == user);
    };
    for (;;) { /* their completions may end others */
        auto it = std::find_if(flushes_.begin(), flushes_.end(), open);
        if (it == flushes_.end()) {
            return;
        }
        end_flush(*it, status);
    }
}

void OrderTracker::forget(const PeerUser &user)
{
    for (FlushOp *op : flushes_) {
        if (op->owner == &user) {
            op->owner = nullptr;
            op->user  = nullptr;
        }
    }
}

/* The lane has something of the user's that is not known to be done. What the peer's
 * program has acknowledged is. */
bool OrderTracker::lane_is_open() const
{
    return lane_flushes_ != 0 ||
           (channel_.unflushed() &&
            (channel_.unseen() != 0 || channel_.puts_kept() || lane_puts_open() ||
             lane_fence_due_));
}

/* What the lane cannot tell of. The peer is asked for what it alone knows. */
bool OrderTracker::puts_and_ops_open()
{
    if (acks_.puts_open()) {
        request_ack();
    }
    return ops_open() || acks_.puts_open();
}

ucs_status_t OrderTracker::flush(PeerUser *user, uct_completion_t *comp,
                                 bool from_queue)
{
    if (channel_.has(ControlChannel::kFailed)) {
        return conn_.failure();
    }
    /* Pending requests came before the flush, which must not pass them; but
     * it may be one of them itself. */
    const bool ask_lane = lane_is_open();
    if ((ask_lane && (channel_.has(ControlChannel::kBlocked |
                                   ControlChannel::kConnecting) ||
                      !channel_.sent_all())) ||
        (channel_.has(ControlChannel::kQueued) && !from_queue)) {
        return UCS_ERR_NO_RESOURCE;
    }
    if (channel_.beside() && (comp != nullptr || !acks_.puts_open())) {
        acks_.put_sent(); /* the lane cannot tell of what others have: the peer is asked */
    }
    const bool open = puts_and_ops_open();

    if (comp == nullptr) {
        if (ask_lane) {
            ucs_status_t status = uct_ep_flush(channel_.ep(), 0, nullptr);
            if (status != UCS_OK) {
                return channel_.outcome(status);
            }
            channel_.note_flush();
            note_lane_flushed(lane_puts_sent_);
        }
        return open ? UCS_INPROGRESS : UCS_OK;
    }

    /* Not a fast path: a flush waits for the network anyway. */
    auto *op = new FlushOp{};
    op->owner     = user;
    op->user      = comp;
    op->status    = UCS_OK;
    op->waiting   = 1;

    ucs_status_t status = UCS_OK;
    if (ask_lane) {
        LaneFlush *flush = begin_lane_flush(For::User, op);
        status           = uct_ep_flush(channel_.ep(), 0, &flush->comp);
        if (status == UCS_INPROGRESS) {
            op->lane = flush;
        } else {
            drop_lane_flush(flush);
        }
    }
    if (status == UCS_INPROGRESS) {
        channel_.note_flush();
        ++lane_flushes_;
        ++op->waiting;
    } else if (status != UCS_OK) {
        delete op;
        return channel_.outcome(status);
    } else if (ask_lane) {
        note_lane_flushed(lane_puts_sent_);
    }
    if (ops_open()) {
        op->boundary   = epochs_.boundary();
        op->wait_epoch = true;
        ++op->waiting;
    }
    if (acks_.puts_open()) {
        op->last_put  = acks_.last_put();
        op->wait_puts = true;
        ++op->waiting;
    }
    if (--op->waiting == 0) {
        delete op;
        return UCS_OK;
    }
    flushes_.push_back(op);
    return UCS_INPROGRESS;
}

ucs_status_t OrderTracker::flush_written(bool from_queue)
{
    if (channel_.has(ControlChannel::kFailed)) {
        return conn_.failure();
    }
    if (channel_.has(ControlChannel::kQueued) && !from_queue) {
        return UCS_ERR_NO_RESOURCE;
    }
    if ((channel_.unflushed() || channel_.has(ControlChannel::kPutsAgain)) &&
        (channel_.has(ControlChannel::kConnecting) || !channel_.written())) {
        return UCS_ERR_NO_RESOURCE;
    }
    return puts_and_ops_open() ? UCS_INPROGRESS : UCS_OK;
}

ucs_status_t OrderTracker::flush_kept(bool from_queue)
{
    if (channel_.has(ControlChannel::kFailed)) {
        return conn_.failure();
    }
    if ((channel_.has(ControlChannel::kQueued) && !from_queue) ||
        channel_.puts_kept()) {
        return UCS_ERR_NO_RESOURCE;
    }
    return puts_and_ops_open() ? UCS_INPROGRESS : UCS_OK;
}

} // namespace fuselink

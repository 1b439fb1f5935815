/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "teardown.h"

#include <vector>

namespace fuselink {
namespace {

/* How long a peer may take to confirm that it has stopped; and how long it is tried
 * to tell it, which may hear of nothing: where a NIC was silent, one side can find
 * that out and the other just not. */
constexpr sched::Nanos kLeaveTime = sched::Nanos::seconds(10);
/* A kernel that has not acknowledged the last word by then is behind a silent wire. */
constexpr sched::Nanos kHearTime = sched::Nanos::millis(500);
/* What a dead peer's kernel still has to send comes without such a pause. */
constexpr sched::Nanos kQuietTime = sched::Nanos::millis(500);

} // namespace

Teardown::Teardown(Connection &conn, Endpoints &endpoints,
                   ControlChannel &channel, Wireup &wireup,
                   PendingQueue &pending, OrderTracker &order, LaneOps &ops,
                   OpenGets &gets, BulkSender &bulk, Host &host,
                   uct_base_iface_t &iface)
    : conn_(conn), endpoints_(endpoints), channel_(channel), wireup_(wireup),
      pending_(pending), order_(order), ops_(ops), gets_(gets), bulk_(bulk),
      host_(host), iface_(iface), close_lane_(endpoints, wireup, host.streams())
{
}

/* --- what happens --- */

bool Teardown::on_lane_error(uct_ep_h ep)
{
    if (!close_lane_.on_error(ep)) {
        return false;
    }
    unsay();
    conn_.defer();
    return true;
}

void Teardown::on_channel_broken(ucs_status_t status)
{
    channel_failure_.broken = true;
    unsay();
    if (!conn_.failed()) {
        channel_failure_.status = status;
        note_open();
    }
    conn_.fail(status);
}

void Teardown::say_again()
{
    channel_failure_.broken = must_tell_ = true;
    theirs_.gone            = theirs_.closed; /* somebody is there */
    unsay();
    if (begun_ && !asked_) { /* it is there: once more as long */
        asked_ = true;
        until_ = host_.now() + kLeaveTime;
        close_lane_.hurry();
    }
}

void Teardown::note_open()
{
    had_open_ = order_.ops_open() || ops_.open() != 0;
}

/* Before users hear of it, who may end the program. One that has endpoints to a
 * peer that is silent may wait for it, also where nothing of its own is open;
 * without endpoints nobody does. */
void Teardown::say_why()
{
    const bool silent = channel_failure_.status != UCS_OK &&
                        !pending_.users().empty();
    if (!theirs_.closed) {
        if (silent) {
            ucs_warn("fuselink: no rail takes messages to peer %016lx any more; "
                     "rail %s was the last (%s): the connection has failed, and "
                     "programs that do not handle that, as those with MPI, may "
                     "wait for ever", conn_.uuid(),
                     channel_.rail()->name().c_str(),
                     ucs_status_string(channel_failure_.status));
        }
    } else if (had_open_) {
        ucs_warn("fuselink: peer %016lx has closed its interface with "
                 "operations of this process open: they end with '%s'",
                 conn_.uuid(), ucs_status_string(conn_.failure()));
    }
}

void Teardown::begin()
{
    say_why();
    begun_      = true;
    until_      = host_.now() + kLeaveTime;
    unsay();
    /* One that has said hello and had no answer: nothing else tells it. */
    const bool unanswered = wireup_.peer_session() != 0 && !channel_.taken();
    must_tell_  = must_tell_ || bulk_.serving() != 0 || unanswered;
}

/* With nothing to wait for, and a connection that the other side sees breaking
 * like we do, there is nothing to say. Nor at the end of a job, where connections
 * break because processes leave: UCX would complain of each that does not answer
 * any more. */
void Teardown::tell()
{
    must_tell_ = must_tell_ || gets_.open() ||
                 (!wireup_.shares_lane() && !pending_.users().empty());
    tell_users();
}

void Teardown::tell_users()
{
    /* The handler may destroy endpoints: work on a copy and check. */
    const std::vector<PeerUser *> told = pending_.users();
    for (PeerUser *user : told) {
        if (!pending_.has(*user) || user->cancelling) { /* it gave up before */
            continue;
        }
        uct_iface_handle_ep_err(&iface_.super, user->ep,
                                conn_.failure());
    }
}

bool Teardown::advance()
{
    const sched::Nanos now  = host_.now();
    const bool         late = now > until_;
    bulk_.cancel_in_flight(late);
    if (channel_.ep() != nullptr && ops_.open() != 0 &&
        (late || channel_failure_.broken)) {
        uct_ep_flush(channel_.ep(), UCT_FLUSH_FLAG_CANCEL, nullptr);
    }
    const bool said = take_leave() || late;
    if (gets_.open()) {
        if (gets_over(now)) {
            gets_.end_all(conn_.failure());
        } else if (late) {
            ucs_warn("fuselink: peer %016lx did not confirm within %g s that "
                     "it has stopped: gets from it end with '%s' although it "
                     "may still write to their memory", conn_.uuid(),
                     kLeaveTime.as_seconds(),
                     ucs_status_string(conn_.failure()));
            bulk_.close(); /* so that at least no NIC does */
            gets_.end_all(conn_.failure());
        }
    }
    return said && !gets_.open() &&
           (late || (bulk_.idle() && ops_.open() == 0));
}

/* True when all is said, or cannot be. */
bool Teardown::take_leave()
{
    bool stopped = bulk_.serving() == 0;
    if ((!goodbye_.said || (stopped && !goodbye_.said_stopped)) &&
        !say_goodbye(stopped)) {
        return stopped && theirs_.gone;
    }
    if (!goodbye_.said_stopped) {
        return false;
    }
    uct_ep_h ep         = close_lane_.ep() != nullptr ? close_lane_.ep() :
                                                        channel_.ep();
    ucs_status_t status = uct_ep_flush(ep, 0, nullptr);
    if (status != UCS_INPROGRESS && status != UCS_ERR_NO_RESOURCE &&
        !is_silent(ep)) {
        return true;
    }
    leave_if_silent(ep);
    return false;
}

/* A kernel hears, and answers, whatever the program there does; one without room gets
 * what is left when there is some. */
bool Teardown::is_silent(uct_ep_h ep) const
{
    StreamState state;
    if (!host_.streams().look(ep, state) ||
        state.phase == StreamState::Phase::Closed) {
        return false; /* nobody tells */
    }
    return state.phase == StreamState::Phase::Connecting ||
           (!state.unacked.is_zero() && !state.window_shut());
}

/* The next one is another. */
void Teardown::leave_if_silent(uct_ep_h ep)
{
    if (host_.now() - goodbye_.since <= kHearTime || !is_silent(ep)) {
        return;
    }
    if (close_lane_.ep() != nullptr) {
        close_lane_.close();
    } else {
        left_ = channel_failure_.broken = must_tell_ = true;
    }
    unsay();
}

void Teardown::unsay()
{
    goodbye_ = {false, false, host_.now()};
}

/* False if it could not be said, now or (Theirs::gone) at all. */
bool Teardown::say_goodbye(bool stopped)
{
    uct_ep_h ep = lane(host_.now());
    if (ep == nullptr) {
        return false;
    }
    const sched::Nanos since = goodbye_.since;
    goodbye_ = {true, stopped, host_.now()}; /* unless the lane fails in the call */
    if (!send_goodbye(ep, (stopped ? wire::kGoodbyeStopped : 0) |
                              (bulk_.broken() ? wire::kGoodbyeBroken : 0))) {
        goodbye_ = {false, false, since};
        leave_if_silent(ep); /* it does not connect, or takes nothing */
    }
    return goodbye_.said;
}

bool Teardown::send_goodbye(uct_ep_h ep, int flags)
{
    wire::Goodbye message{};
    message.header.type  = static_cast<uint8_t>(wire::ControlType::Goodbye);
    message.header.flags = static_cast<uint16_t>(flags);
    message.status       = conn_.failure();
    message.receiver     = wireup_.peer_session();
    channel_.stamp(&message);
    return channel_.try_send(ep, &message, sizeof(message));
}

/* The lane of messages; where it is broken, another endpoint to the peer. Null if
 * there is none, now or (Theirs::gone) at all. */
uct_ep_h Teardown::lane(sched::Nanos now)
{
    if (theirs_.gone) {
        return nullptr;
    }
    if (channel_.ep() != nullptr && !channel_failure_.broken &&
        channel_.taken()) {
        return channel_.ep();
    }
    if (!must_tell_ || wireup_.peer_session() == 0) {
        theirs_.gone = true;
    }
    if (close_lane_.sweep()) {
        theirs_.gone = true;
    }
    if (!theirs_.gone) {
        close_lane_.open(now);
    }
    return close_lane_.ep();
}

void Teardown::on_goodbye(const wire::ControlHeader &header, const void *data,
                      size_t length)
{
    wire::Goodbye message;
    if (!wire::parse(data, length, message)) {
        return;
    }
    theirs_.stopped |= (header.flags & wire::kGoodbyeStopped) != 0;
    theirs_.broken  |= (header.flags & wire::kGoodbyeBroken) != 0;
    if (header.flags & wire::kGoodbyeClosed) {
        if (!conn_.failed()) {
            note_open();
        }
        theirs_.closed = theirs_.gone = true;
    }
    auto status = static_cast<ucs_status_t>(message.status);
    ucs_debug("fuselink: peer %016lx says goodbye: %s", conn_.uuid(),
              status < 0 && status > UCS_ERR_LAST ? ucs_status_string(status) :
                                                    "no reason");
    on_given_up();
    conn_.fail(UCS_ERR_CONNECTION_RESET);
}

/* Nothing is written to their memory any more. */
bool Teardown::gets_over(sched::Nanos now)
{
    if (theirs_.stopped && !theirs_.broken) {
        return true;
    }
    if (!theirs_.stopped && !theirs_.gone) {
        return false;
    }
    /* The end of a connection on which only the other side sends is not
     * reported to us, and what is left in it may still be coming. */
    if (silence_.since == sched::Nanos() ||
        silence_.landings != gets_.landings()) {
        silence_.since    = now;
        silence_.landings = gets_.landings();
    }
    return now - silence_.since > kQuietTime;
}

void Teardown::close()
{
    close_lane_.close();
    if (left_ && channel_.ep() != nullptr) {
        /* UCX would wait for room for a word of its own. */
        host_.streams().end(channel_.ep(), channel_.rail()->carrier);
    } else if (abandoned_ && channel_.ep() != nullptr) {
        /* UCX must not read them either: a put among them would be written where
         * the memory of a user was. */
        host_.streams().discard(channel_.ep());
    }
}

/* --- the interface closes --- */

/* The other side sees a stream end whatever we say, and could take it for a NIC that
 * has failed. */
void Teardown::begin_closing()
{
    closing_ = channel_.ep() != nullptr && channel_.taken() &&
               channel_.rail()->traits().stream &&
               !channel_.has(ControlChannel::kConnecting);
    begun_   = true;
}

/* What a lane has taken goes with it if its kernel has not got it. */
bool Teardown::say_closed()
{
    if (closing_ && !channel_failure_.broken && !channel_.gather()) {
        return false;
    }
    if (closing_ && !channel_failure_.broken && !goodbye_.said) {
        goodbye_.said = true; /* unless the lane fails in the call */
        if (!send_goodbye(channel_.ep(), wire::kGoodbyeClosed)) {
            goodbye_.said = false;
            return false;
        }
    }
    closing_ = closing_ && !channel_failure_.broken && !channel_.is_through();
    return !closing_;
}

bool Teardown::say_closed_again()
{
    endpoints_.poller().poll_now(channel_.rail()->poll_hello_index());
    return say_closed();
}

void Teardown::abandon()
{
    if (closing_ && !channel_failure_.broken) {
        /* Nobody reads there. UCX would wait for room for a word of its own. */
        ucs_debug("fuselink: peer %016lx does not take the last word", conn_.uuid());
        host_.streams().end(channel_.ep(), channel_.rail()->carrier);
    }
    closing_   = false;
    abandoned_ = true;
    begun_     = true;
}

} // namespace fuselink

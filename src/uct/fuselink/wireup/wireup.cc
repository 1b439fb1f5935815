/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "wireup.h"

#include <cstring>

namespace fuselink {

Wireup::Wireup(Connection &conn, Endpoints &endpoints, ControlChannel &channel,
               OrderTracker &order, BulkSender &bulk, Rails &rails, Host &host,
               ConnectTimer &timer)
    : conn_(conn), endpoints_(endpoints), channel_(channel), order_(order),
      bulk_(bulk), rails_(rails), host_(host), timer_(timer),
      candidates_(rails, host.network(), conn.uuid()),
      fallbacks_(conn, endpoints),
      lane_(conn, channel, endpoints, rails, bulk.table())
{
}

/* --- the endpoint for the hello --- */

ucs_status_t Wireup::connect(const wire::RailTable &address, bool later)
{
    candidates_.add(address);
    if (candidates_.empty()) {
        ucs_error("fuselink: no rail of this process reaches peer %016lx; "
                  "UCX_FUSELINK_DEVICES must name a NIC port that both have",
                  conn_.uuid());
        return UCS_ERR_UNREACHABLE;
    }
    channel_.set(ControlChannel::kConnecting);
    if (later || endpoints_.poller().busy()) {
        conn_.defer();
        return UCS_OK;
    }
    return connect_now();
}

/* The peer's hello has come. Where ours has not been taken, it may go the same
 * way. */
void Wireup::learn(const wire::Hello &hello, const wire::RailTable &table)
{
    if (channel_.taken()) {
        return;
    }
    CandidateOrder &order = candidates_.order();
    const size_t    known = candidates_.size();
    if (table.rails.size() > candidates_.known_rails()) {
        candidates_.add(table);
    }
    auto pair = MessageLane::find_rails(rails_, table, hello.to, hello.from);
    if (pair) {
        candidates_.add(*pair->own, *pair->remote);
    }
    order.prefer(hello.to, hello.from);
    if (ep_ == nullptr) {
        conn_.defer(); /* there may be one to try */
    } else if (is_unanswered() && !channel_.rail()->traits().stream) {
        if (order.next_is_preferred()) {
            timer_.await(*this, ConnectTimer::kImpatience);
        } else if (candidates_.size() > known) {
            timer_.await(*this);
        }
    }
}

ucs_status_t Wireup::connect_now()
{
    channel_.clear(ControlChannel::kConnecting);
    CandidateOrder &order = candidates_.order();
    while ((current_ = order.next()) < candidates_.size()) {
        const auto &candidate = candidates_.at(current_);
        uct_ep_h    ep        = nullptr;
        order.note_tried(current_);
        since_              = host_.now();
        ucs_status_t status = endpoints_.create(candidate.rail->hello(),
                                                candidate.remote, ep);
        if (status == UCS_OK) {
            use(ep);
            return UCS_OK;
        }
        ucs_debug("fuselink: no connection over %s: %s",
                  candidate.rail->name().c_str(), ucs_status_string(status));
    }
    if (!fallbacks_.empty()) {
        channel_.set(ControlChannel::kConnecting); /* one may connect yet */
        return UCS_OK;
    }
    ucs_error("fuselink: peer %016lx does not answer on any of the %zu rails "
              "that reach it", conn_.uuid(), candidates_.size());
    return UCS_ERR_UNREACHABLE;
}

/* The lane is `ep`, for the candidate that current_ says. */
void Wireup::use(uct_ep_h ep)
{
    const auto &candidate = candidates_.at(current_);
    ep_ = ep;
    channel_.open(ep, *candidate.rail, candidate.remote.index);
    say_hello();
    /* Of a stream the kernel says early enough that it does not come about. */
    if (is_unanswered() && !channel_.rail()->traits().stream &&
        candidates_.order().next() < candidates_.size()) {
        timer_.await(*this);
    }
}

/* There is no lane any more; nothing was sent on it. */
void Wireup::leave()
{
    ep_ = nullptr;
    channel_.leave();
}

/* The lane failed before it took a message: nothing is lost with it. */
void Wireup::next()
{
    broke_ = false;
    endpoints_.destroy(ep_);
    leave();
}

void Wireup::try_another()
{
    /* The answer may be there, on an interface that is looked at rarely. */
    endpoints_.poller().poll_now(channel_.rail()->poll_hello_index());
    if (!is_unanswered() || candidates_.order().next() == candidates_.size()) {
        return;
    }
    ucs_debug("fuselink: peer %016lx has not answered over %s: trying another "
              "rail", conn_.uuid(), channel_.rail()->name().c_str());
    fallbacks_.keep({current_, ep_, since_});
    leave();
    conn_.defer(); /* connects */
}

/* One that was tried before has connected, and so far nothing went over
 * another. */
void Wireup::fall_back()
{
    auto fallback = fallbacks_.take();
    if (!fallback) {
        return;
    }
    if (ep_ != nullptr) {
        fallbacks_.keep({current_, ep_, since_});
        leave();
    }
    current_ = fallback->candidate;
    since_   = fallback->since;
    use(fallback->ep);
}

void Wireup::on_first_taken()
{
    name_silent();
    if (table_known_) {
        lane_.start(hello_own_, hello_remote_);
    }
}

/* Another one was answered. */
void Wireup::name_silent()
{
    const sched::Nanos now = host_.now();
    fallbacks_.for_each_silent([&](const FallbackEps::Fallback &silent) {
        const auto &candidate = candidates_.at(silent.candidate);
        if (candidate.rail->said_silent ||
            now - silent.since < ConnectTimer::kPatience) {
            return;
        }
        candidate.rail->said_silent = true; /* there may be a thousand peers */
        ucs_warn("fuselink: rail %s has no answer from rail %d of peer %016lx "
                 "after %g s, and rail %s has: first messages go there",
                 candidate.rail->name().c_str(), candidate.remote.index,
                 conn_.uuid(), ConnectTimer::kPatience.as_seconds(),
                 channel_.rail()->name().c_str());
    });
}

bool Wireup::shares_lane() const
{
    return peer_session_ != 0 && current_ < candidates_.size() &&
           channel_.rail() != nullptr && channel_.rail()->traits().stream &&
           candidates_.at(current_).rail->index() == hello_own_ &&
           candidates_.at(current_).remote.index == hello_remote_;
}

/* --- the hello --- */

void Wireup::say_hello()
{
    std::vector<uint8_t> message(sizeof(wire::Hello)), table;
    wire::Hello hello{};
    hello.header.type  = static_cast<uint8_t>(wire::ControlType::Hello);
    hello.header.flags = table_known_ ? 0 : wire::kHelloWantReply;
    hello.receiver     = peer_session_;
    hello.from         = candidates_.at(current_).rail->index();
    hello.to           = candidates_.at(current_).remote.index;
    channel_.stamp(&hello);
    memcpy(message.data(), &hello, sizeof(hello));
    wire::pack_rail_table(rails_.table(), table);
    message.insert(message.end(), table.begin(), table.end());
    channel_.send_first(std::move(message));
}

void Wireup::on_hello(const wire::Hello &hello, const wire::RailTable &table)
{
    bool first    = !table_known_;
    table_known_  = true;
    peer_session_ = hello.header.session;
    hello_remote_ = hello.from;
    hello_own_    = hello.to;
    if (!channel_.connected()) {
        ucs_status_t status = connect(table, true); /* says hello */
        if (status != UCS_OK) {
            conn_.fail(status);
            return;
        }
    } else if ((hello.header.flags & wire::kHelloWantReply) && !first &&
               ep_ != nullptr) {
        /* At the first one ours is on its way already; without an endpoint, the
         * next one says it. */
        say_hello();
    }
    learn(hello, table);
    if (!first) {
        return;
    }
    rails_.compare(table);
    if (bulk_.set_table(table) == 0) {
        ucs_error("fuselink: no rail for bulk data to peer %016lx: none of "
                  "its %zu NIC ports is reached from a port in "
                  "UCX_FUSELINK_DEVICES", conn_.uuid(), table.rails.size());
        no_paths_ = true; /* the peer must hear our table first */
        channel_.drain();
        return;
    }
    if (hello.receiver != conn_.session() && bulk_.may_use_messages()) {
        order_.fence_hello(); /* not from inside the rail's callback */
        conn_.defer();
    }
    lane_.start(hello_own_, hello_remote_);
    bulk_.pump();
}

bool Wireup::on_hello_error(uct_ep_h ep)
{
    if (ep != ep_ || channel_.taken() || conn_.failed()) {
        return false;
    }
    /* Perhaps inside a call that was going to send more: nothing may until
     * next() was there. */
    broke_ = true;
    channel_.set(ControlChannel::kConnecting);
    conn_.defer();
    return true;
}

bool Wireup::on_error(uct_ep_h ep)
{
    return lane_.on_error(ep) || fallbacks_.on_error(ep);
}

void Wireup::run_deferred()
{
    if (!conn_.failed() && broke_) {
        next();
    }
    if (!conn_.failed() && !channel_.taken() && !fallbacks_.empty()) {
        fall_back();
    }
    fallbacks_.sweep();
    if (!conn_.failed() && channel_.has(ControlChannel::kConnecting) &&
        !broke_) {
        ucs_status_t status = connect_now();
        if (status != UCS_OK) {
            conn_.fail(status);
        }
    }
    if (!conn_.failed()) {
        lane_.advance();
    }
}

void Wireup::close()
{
    /* Their ends may end flushes of the lane. */
    lane_.close();
    if (ep_ != nullptr) {
        endpoints_.destroy(ep_);
    }
    ep_ = nullptr;
    channel_.close();
    fallbacks_.close();
}

} // namespace fuselink

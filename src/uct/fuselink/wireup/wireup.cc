/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "wireup.h"

#include <algorithm>
#include <cstring>

namespace fuselink {
namespace {

/* The last word of a peer that leaves, on one NIC, may come so much later than the end of
 * its stream on another. */
constexpr sched::Nanos kMayHaveLeft = sched::Nanos::millis(2);
/* ConnectTimer::kImpatience is doubled so often at most: 1.6 s. */
constexpr unsigned kMostSwaps = 4;

} // namespace

Wireup::Wireup(Connection &conn, Endpoints &endpoints, ControlChannel &channel,
               OrderTracker &order, BulkSender &bulk, Rails &rails, Host &host,
               ConnectTimer &timer)
    : conn_(conn), endpoints_(endpoints), channel_(channel), order_(order),
      bulk_(bulk), rails_(rails), host_(host), timer_(timer),
      candidates_(rails, conn.uuid()),
      fallbacks_(conn, endpoints), search_(candidates_, fallbacks_, host),
      lane_(conn, channel, endpoints, rails, bulk.table())
{
}

/* --- the endpoint for the hello --- */

ucs_status_t Wireup::connect(const wire::RailTable &address, bool later)
{
    candidates_.add(address);
    if (!heard_.table) {
        address_ = address;
    }
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
    return connect_now(false);
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
    } else if (is_unanswered()) {
        /* Its program runs, so it does not let ours wait: what it has answered may be
         * lost, of which no kernel tells. */
        if (order.next_is_preferred()) {
            timer_.await(*this, ConnectTimer::kImpatience);
        } else if (candidates_.size() > known &&
                   !channel_.rail()->traits().stream) {
            timer_.await(*this);
        }
    }
}

ucs_status_t Wireup::connect_now(bool may_wait)
{
    channel_.clear(ControlChannel::kConnecting);
    candidates_.look_at_wires();
    CandidateOrder &order = candidates_.order();
    while ((current_ = order.next()) < candidates_.size()) {
        const auto &candidate = candidates_.at(current_);
        uct_ep_h    ep        = nullptr;
        order.note_tried(current_);
        if (!search_.has_link(candidate)) {
            may_wait = true; /* it may be back: nobody has refused */
            continue;
        }
        const sched::Nanos since  = host_.now();
        const ucs_status_t status =
            endpoints_.create(candidate.rail->hello(), candidate.remote, ep);
        if (status == UCS_OK) {
            use(ep, since);
            return UCS_OK;
        }
        ucs_debug("fuselink: no connection over %s: %s",
                  candidate.rail->name().c_str(), ucs_status_string(status));
    }
    if (may_wait || !fallbacks_.empty()) {
        channel_.set(ControlChannel::kConnecting);
        return none_left();
    }
    return no_answer();
}

ucs_status_t Wireup::no_answer() const
{
    ucs_error("fuselink: peer %016lx does not answer on any of the %zu rails "
              "that reach it", conn_.uuid(), candidates_.size());
    return UCS_ERR_UNREACHABLE;
}

/* No candidate is left to be tried. */
ucs_status_t Wireup::none_left()
{
    if (!search_.go_on(loss_.since == sched::Nanos())) {
        return give_up();
    }
    conn_.defer();
    return UCS_OK;
}

ucs_status_t Wireup::give_up()
{
    if (loss_.since == sched::Nanos()) {
        channel_.clear(ControlChannel::kConnecting);
        return no_answer();
    }
    given_up_ = loss_.status;
    return UCS_OK;
}

/* The lane is `ep`, for the candidate that current_ says. */
void Wireup::use(uct_ep_h ep, sched::Nanos since)
{
    const auto &candidate = candidates_.at(current_);
    ep_      = ep;
    contact_.begin(since);
    channel_.open(ep, *candidate.rail, candidate.remote.index,
                  LaneEp::limits_of(candidate.rail->hello()));
    say_hello();
    if (!is_unanswered() || (loss_.since == sched::Nanos() &&
                             candidates_.order().next() == candidates_.size())) {
        return;
    }
    if (loss_.since != sched::Nanos()) {
        timer_.await(*this, ConnectTimer::kImpatience);
    } else if (!channel_.rail()->traits().stream) {
        timer_.await(*this); /* of a stream the kernel is asked: watch() */
    }
}

/* There is no lane any more. */
void Wireup::leave()
{
    ep_ = nullptr;
    channel_.leave();
}

/* The lane broke. What it took and the peer did not acknowledge goes over the next
 * one; if it took nothing, the candidates that are left are enough. */
void Wireup::next()
{
    const bool worked = channel_.taken();
    broke_            = false;
    loss_by_error_    = false;
    order_.on_lane_lost();
    channel_.close(); /* what follows may end what was begun on it */
    lane_.drop_retired();
    if (ep_ != nullptr) {
        /* What its kernel has comes over the next one. */
        host_.streams().end(ep_, candidates_.at(current_).rail->carrier);
        endpoints_.destroy(ep_);
    }
    leave();
    if (worked) {
        candidates_.order().restart(current_);
        if (prefer_) {
            candidates_.order().prefer(prefer_->first, prefer_->second);
        }
        prefer_.reset();
    }
}

/* Perhaps inside a call that was going to send more: nothing may until next() was
 * there. */
void Wireup::lose(ucs_status_t status, bool told, bool closed)
{
    if (conn_.failed() || broke_) {
        return;
    }
    if (channel_.taken() && loss_.since == sched::Nanos()) {
        loss_ = {host_.now(), status, channel_.rail(), channel_.remote(),
                 channel_.peer_lane(), told, closed, host_.now() < away_until_};
        search_.begin(loss_.since);
        ucs_debug("fuselink: rail %s, over which messages go to peer %016lx, "
                  "breaks: %s", channel_.rail()->name().c_str(), conn_.uuid(),
                  ucs_status_string(status));
    } else if (channel_.taken() &&
               host_.now() - contact_.begun() > ConnectTimer::kPatience) {
        search_.begin(host_.now()); /* it worked, though the peer has not answered yet */
    }
    broke_ = true;
    lane_.retire();
    channel_.set(ControlChannel::kConnecting);
    conn_.defer();
}

void Wireup::try_another()
{
    /* The answer may be there, on an interface that is looked at rarely. */
    endpoints_.poller().poll_now(channel_.rail()->poll_hello_index());
    if (!is_unanswered() || (loss_.since == sched::Nanos() &&
                             candidates_.order().next() == candidates_.size())) {
        return;
    }
    ucs_debug("fuselink: peer %016lx has not answered over %s: trying another "
              "rail", conn_.uuid(), channel_.rail()->name().c_str());
    set_aside();
    conn_.defer(); /* connects */
}

/* Perhaps it connects yet. */
void Wireup::set_aside()
{
    fallbacks_.keep({current_, ep_, contact_.begun()});
    leave();
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
        set_aside();
    }
    current_ = fallback->candidate;
    use(fallback->ep, fallback->since);
}

void Wireup::on_first_taken()
{
    if (loss_.since == sched::Nanos()) {
        name_silent();
        search_.end();
    }
    if (heard_.table) {
        start_lane();
    }
}

/* The queue pair for messages, where there are queue pairs: on rails that move data.
 * At first those of the peer's hello; for another one those of ours, which was
 * answered. */
void Wireup::start_lane()
{
    if (loss_.since == sched::Nanos()) {
        lane_.start(heard_.own, heard_.remote);
    } else {
        lane_.start(candidates_.at(current_).rail->index(),
                    candidates_.at(current_).remote.index);
    }
}

/* What comes while there is no other lane yet, the peer has said of the one before. */
void Wireup::on_seen()
{
    if (loss_.since == sched::Nanos() || broke_ || !channel_.taken()) {
        return;
    }
    if (!loss_.closed) {
        loss_.rail->health.messages_moved(
            {conn_.uuid(), channel_.rail()->index(), channel_.rail()->name()},
            loss_.status, loss_.of_all, loss_.since, host_.now());
    }
    loss_ = {};
    search_.end();
}

/* Another one was answered. */
void Wireup::name_silent()
{
    const sched::Nanos now = host_.now();
    fallbacks_.for_each_silent([&](const FallbackEps::Fallback &silent) {
        const auto &candidate = candidates_.at(silent.candidate);
        StreamState state;
        if (candidate.rail->said_silent ||
            now - silent.since < ConnectTimer::kPatience ||
            (host_.streams().look(silent.ep, state) && state.answered())) {
            return; /* or it may be that only its program has not looked */
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
    return heard_.session != 0 && current_ < candidates_.size() &&
           channel_.rail() != nullptr && channel_.rail()->traits().stream &&
           candidates_.at(current_).rail->index() == heard_.own &&
           candidates_.at(current_).remote.index == heard_.remote;
}

/* --- the hello --- */

void Wireup::say_hello()
{
    std::vector<uint8_t> message(sizeof(wire::Hello)), table;
    wire::Hello hello{};
    hello.header.type  = static_cast<uint8_t>(wire::ControlType::Hello);
    hello.header.flags = heard_.table ? 0 : wire::kHelloWantReply;
    hello.receiver     = heard_.session;
    hello.token        = channel_.token();
    if (loss_.since != sched::Nanos()) {
        hello.header.flags |= wire::kHelloResume;
        hello.heard         = loss_.heard;
        hello.lost_from     = loss_.told ? wire::kNoRail : loss_.rail->index();
        hello.lost_to       = loss_.remote;
    }
    hello.from         = candidates_.at(current_).rail->index();
    hello.to           = candidates_.at(current_).remote.index;
    channel_.stamp(&hello);
    memcpy(message.data(), &hello, sizeof(hello));
    wire::pack_rail_table(rails_.table(), table);
    message.insert(message.end(), table.begin(), table.end());
    channel_.send_first(std::move(message));
    contact_.hello_goes();
}

void Wireup::on_hello(const wire::Hello &hello, const wire::RailTable &table)
{
    bool first = !heard_.table;
    if (!first && wire::lane_before(hello.header.lane, channel_.peer_lane())) {
        return; /* late: there is another one by now */
    }
    channel_.on_hello(hello.header.lane, hello.header.seen);
    channel_.on_confirmed(hello.header.confirmed);
    channel_.set_peer_token(hello.token);
    heard_.table  = true;
    heard_.at     = first ? host_.now() : heard_.at;
    address_.reset();
    heard_.session = hello.header.session;
    heard_.remote = hello.from;
    heard_.own    = hello.to;
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
    if (hello.header.flags & wire::kHelloResume) {
        on_resume(hello);
    }
    if (!first) {
        return;
    }
    rails_.compare(table);
    if (bulk_.set_table(table) == 0) {
        ucs_error("fuselink: no rail for bulk data to peer %016lx: none of "
                  "its %zu NIC ports is reached from a port in "
                  "UCX_FUSELINK_DEVICES", conn_.uuid(), table.rails.size());
        heard_.no_paths = true; /* the peer must hear our table first */
        channel_.drain();
        return;
    }
    if (hello.receiver != conn_.session() && bulk_.may_use_messages()) {
        order_.fence_hello(); /* not from inside the rail's callback */
        conn_.defer();
    }
    if (loss_.since == sched::Nanos() || channel_.taken()) {
        start_lane(); /* else on_first_taken() does, when there is another */
    }
    bulk_.pump();
}

/* The peer's lane broke. Where both directions use one connection, ours is no more
 * either, though nobody may tell us: it would be found out with the next message that
 * does not arrive. Unless the peer speaks of one that was before our present lane. */
void Wireup::on_resume(const wire::Hello &hello)
{
    const bool lives = channel_.ep() != nullptr && channel_.taken() &&
                       hello.lost_from != wire::kNoRail;
    /* One pair is for both directions, and the next is made on what comes later: ours
     * is the one that broke, also where the peer has not seen us use it. */
    const bool pair  = lives && channel_.rail()->by_ep() &&
                       !channel_.for_hellos();
    const bool same  = pair ||
                       (lives &&
                        !wire::lane_before(hello.heard, channel_.lane()) &&
                        (channel_.rail()->by_ep() ||
                         (channel_.rail()->index() == hello.lost_to &&
                          channel_.remote() == hello.lost_from)));
    if (same) {
        prefer_ = {hello.to, hello.from};
        told_   = true;
        channel_.outcome(UCS_ERR_CONNECTION_RESET); /* as if its rail said so */
        told_   = false;
    } else if (has_not_come(hello)) {
        prefer_ = {hello.to, hello.from};
        ++loss_.swaps;
        lose(UCS_ERR_ENDPOINT_TIMEOUT);
    } else if (channel_.taken() || loss_.since != sched::Nanos()) {
        lane_.stay(hello.to, hello.from);
    } /* else there was no lane before, and the question that the peer waits for comes with it */
    /* On the lane that stays, or on the next; when our end of a queue pair that broke
     * is destroyed, which executes what comes late until then. */
    confirms_ = hello.header.lane;
    conn_.defer();
}

/* Our lane is new, of datagrams, and the peer's program, which runs, has not heard of it:
 * what goes there does not come, or its acknowledgements do not, of which nobody tells
 * before UCX's own limit of minutes. Both may have taken a new one and leave it for the
 * other's: next time each waits twice as long, and the slower one is heard. */
bool Wireup::has_not_come(const wire::Hello &hello) const
{
    return loss_.since != sched::Nanos() && !broke_ && channel_.taken() &&
           channel_.for_hellos() && !channel_.rail()->traits().stream &&
           wire::lane_before(hello.heard, channel_.lane()) &&
           (hello.to != channel_.rail()->index() ||
            hello.from != channel_.remote()) &&
           host_.now() - contact_.begun() >
               ConnectTimer::kImpatience * (int64_t{1} << std::min(loss_.swaps, kMostSwaps));
}

/* First contact, by a stream. */
void Wireup::watch_contact(sched::Nanos now)
{
    using Verdict = FirstContact::Verdict;
    StreamState state;
    if (!contact_.due(now) || !host_.streams().look(ep_, state)) {
        return;
    }
    const bool         other      = candidates_.order().next() != candidates_.size();
    const Verdict      verdict    = contact_.look_at_connecting(state, now, other);
    const sched::Nanos unanswered = contact_.unanswered(now);
    if (verdict == Verdict::TryAnother) {
        try_another();
    } else if (LaneSearch::is_long(unanswered) &&
               search_.is_hopeless(unanswered, loss_.since == sched::Nanos())) {
        conn_.fail(no_answer());
    } else if (verdict == Verdict::BeginAnew) {
        set_aside();
        search_.begin_round();
        conn_.defer(); /* connects */
    }
}

/* The hello has left, and is the only thing that has: its wire may be silent from now
 * on, of which the silence of messages and of bulk data tells nothing. */
void Wireup::watch_hello(sched::Nanos now)
{
    StreamState state;
    if (contact_.due(now) && host_.streams().look(ep_, state) &&
        contact_.look_at_hello(state, now) == FirstContact::Verdict::Leave) {
        on_silent();
    }
}

/* Datagrams between two NICs whose pair moves no data may arrive one way alone, which
 * nobody tells before UCX's own limit of minutes. Each is left once: where no pair works,
 * they are what there is. */
void Wireup::leave_datagrams()
{
    CandidateOrder &order = candidates_.order();
    if (broke_ || !channel_.taken() || !channel_.for_hellos() ||
        order.moves_no_data(current_) ||
        !lane_.moves_no_data(channel_.rail()->index(), channel_.remote())) {
        return;
    }
    order.note_no_data(current_);
    for (size_t i = 0; i < candidates_.size(); ++i) {
        if (!order.moves_no_data(i) && search_.has_link(candidates_.at(i))) {
            lose(UCS_ERR_ENDPOINT_TIMEOUT);
            return;
        }
    }
}

void Wireup::watch(sched::Nanos now)
{
    if (channel_.unseen() != 0) {
        leave_datagrams();
    }
    StreamState state;
    if (waits_for_contact()) {
        watch_contact(now);
    } else if (waits_for_kernel()) {
        watch_hello(now);
    }
    search_.look(now);
    /* The last candidate has its time, too. */
    if (loss_.since != sched::Nanos() && is_unanswered() && search_.is_over(now) &&
        now - contact_.begun() > ConnectTimer::kImpatience &&
        !(host_.streams().look(ep_, state) &&
          state.phase == StreamState::Phase::Established)) {
        given_up_ = loss_.status;
        conn_.defer();
    }
}

void Wireup::on_carrier()
{
    if (channel_.has(ControlChannel::kConnecting) && !broke_ &&
        search_.begun()) {
        search_.begin_anew();
        conn_.defer();
    }
    if (channel_.ep() != nullptr && channel_.taken() && channel_.has_own_end() &&
        !search_.has_link(*channel_.rail(), channel_.remote())) {
        on_silent();
    }
}

void Wireup::on_more_rails()
{
    if (heard_.table) {
        candidates_.add(bulk_.table());
    } else if (address_) {
        candidates_.add(*address_);
    }
    on_carrier();
}

bool Wireup::on_error(uct_ep_h ep, ucs_status_t status)
{
    if (ep == channel_.ep()) {
        search_.on_broken(ep);
        if (channel_.taken() && channel_.rail()->traits().stream && !told_) {
            leaves_until_ = host_.now() + kMayHaveLeft;
        }
        /* UCX has closed its socket, or the peer has left what it had tried first
         * before it heard of us, which may be long ago where this process computes, and its
         * hello may be read next: no NIC of either side has failed. */
        StreamState state;
        const bool  closed = channel_.rail()->traits().stream && !told_ &&
                             (!host_.streams().look(ep, state) ||
                              (status == UCS_ERR_CONNECTION_RESET &&
                               channel_.arrived() == 0 &&
                               (!heard_.table ||
                                host_.now() - std::max(contact_.begun(), heard_.at) <
                                    ConnectTimer::kPatience)));
        if (!broke_) {
            loss_by_error_ = loss_.since == sched::Nanos() && !told_;
        } else if (loss_by_error_ && closed) {
            loss_.closed = true; /* a flush of the lane failed before it did */
        }
        lose(status, told_, closed);
        return true;
    }
    if (ep == ep_) { /* the lane is a queue pair by now */
        ep_broke_ = true;
        conn_.defer();
        return true;
    }
    if (fallbacks_.on_error(ep)) {
        search_.on_broken(ep);
        return true;
    }
    return lane_.on_error(ep);
}

/* A peer that leaves says so, and then its end of the lane breaks: which of the two comes
 * first here depends on the NICs, and on UCX. Whoever calls such a peer has UCX print
 * that nobody listens. */
bool Wireup::may_have_left()
{
    if (leaves_until_ == sched::Nanos()) {
        return false;
    }
    if (host_.now() < leaves_until_) {
        conn_.defer();
        return true;
    }
    leaves_until_ = {};
    read_last_word();
    return conn_.failed();
}

void Wireup::read_last_word()
{
    for (const auto &rail : rails_.list()) {
        if (rail->traits().stream) {
            endpoints_.poller().drain(rail->poll_hello_index());
        }
    }
}

void Wireup::run_deferred()
{
    if (!conn_.failed() && broke_ && !may_have_left()) {
        next();
    }
    if (!conn_.failed() && confirms_) {
        lane_.drop_unused();
        channel_.confirm(*confirms_);
        confirms_.reset();
    }
    if (ep_broke_) {
        ep_broke_ = false;
        if (ep_ != nullptr && ep_ != channel_.ep()) {
            endpoints_.destroy(ep_);
            ep_ = nullptr;
        }
    }
    if (!conn_.failed() && !channel_.taken() && !fallbacks_.empty()) {
        fall_back();
    }
    fallbacks_.sweep();
    if (channel_.taken()) { /* of datagrams none is destroyed that still tries */
        fallbacks_.close_if([this](const FallbackEps::Fallback &each) {
            return candidates_.at(each.candidate).rail->traits().stream;
        });
    }
    if (!conn_.failed() && channel_.has(ControlChannel::kConnecting) &&
        !broke_) {
        ucs_status_t status = connect_now(true);
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

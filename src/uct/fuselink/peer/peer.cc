/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "peer.h"

#include <vector>

namespace fuselink {
namespace {

bool is_flush(const wire::ControlHeader &header)
{
    return header.type == static_cast<uint8_t>(wire::ControlType::FlushReq);
}

} // namespace

Peer::Peer(const PeerContext &context, uint64_t uuid, uint32_t session,
           wire::Token token)
    : Connection(uuid, session, context.calls), deferred_(context.deferred),
      channel_(*this, context.rails.uuid(), token, context.messages,
               context.seen_timer, *this),
      order_(*this, channel_, *this), pending_(*this, channel_, order_),
      ops_(*this, channel_, order_),
      endpoints_(*this, context.lanes, context.poller,
                 context.settings.max_qps),
      bulk_(*this, endpoints_, *this, *this, *this, context.bulk),
      memory_(context.regions, context.copies),
      gets_(*this, *this, context.gets, order_, memory_),
      keys_(*this, context.nics, context.regions, bulk_.table()),
      rma_(*this, channel_, order_, pending_, ops_, gets_, keys_, bulk_,
           context.nics, context.rails, context.settings.inline_get),
      target_(*this, channel_, bulk_, memory_, context.rails),
      receiver_(*this, context.host, context.rails, context.poller,
                context.copies, context.near, context.registry, bulk_, gets_, memory_),
      inflow_(*this, context.host, context.rails, context.loads),
      wireup_(*this, endpoints_, channel_, order_, bulk_, context.rails,
              context.host, context.connect_timer),
      messages_(*this, channel_, pending_, context.copies,
                context.rails.max_message()),
      message_paths_(channel_, bulk_, context.poller, context.host,
                     context.settings.messages, context.rails.uuid() < uuid),
      news_(*this, context.rails, wireup_, bulk_),
      cancellation_(*this, context.host, pending_, order_, bulk_, gets_, target_),
      teardown_(*this, endpoints_, channel_, wireup_, pending_, order_, ops_,
                gets_, bulk_, context.host, context.iface),
      silence_(*this, channel_, wireup_, bulk_, context.rails, context.poller,
               context.host)
{
}

Peer::~Peer()
{
    close_lanes();
    receiver_.end(teardown_.peer_stopped(), teardown_.abandoned());
    calls().held().forget(*this);
}

void Peer::run_deferred()
{
    if (ucs_unlikely(bulk_.take_ended())) {
        wireup_.read_last_word();
    }
    wireup_.run_deferred();
    if (ucs_unlikely(ops_.any_lost()) && !failed() && !wireup_.lane_broken()) {
        rma_.ask_again();
    }
    if (!failed() && wireup_.lost() != UCS_OK) {
        teardown_.on_channel_broken(wireup_.lost());
    }
    if (!failed()) {
        order_.begin_hello_fence();
    }
    pending_.end_strict();
    channel_.look_for_room();
    if (!failed()) {
        news_.run_deferred();
        order_.begin_lane_fence();
        order_.ask_again();
        channel_.drain();
        order_.resume_flushes();
        pending_.dispatch();
        target_.serve_waiting();
    }
    if (!failed() && !bulk_.run_deferred()) {
        fail(UCS_ERR_UNREACHABLE);
    }
    message_paths_.look_at_gone();
    receiver_.drain(); /* after what broke here was torn down */
    cancellation_.check();
    if (failed()) {
        if (ucs_unlikely(calls().held().away())) {
            calls().held().owe(*this); /* users hear of it */
        } else {
            advance();
        }
    }
}

/* --- users --- */

void Peer::detach(PeerUser &user)
{
    {
        const UserCalls::Inside inside(calls(), nullptr);
        calls().held().tell(*this);
    }
    order_.forget(user);
    ops_.forget(user);
    bulk_.forget(user);
    gets_.forget(user);
    pending_.detach(user);
    if (failed()) {
        defer(); /* it may have been the last */
    }
}

ucs_status_t Peer::flush(PeerUser *user, unsigned flags, uct_completion_t *comp)
{
    if ((flags & UCT_FLUSH_FLAG_CANCEL) && user != nullptr) {
        return cancellation_.begin(*user, comp);
    }
    return user == nullptr ? flush_all() :
                             order_.flush(user, comp, pending_.in_request());
}

/* As with UCX's TCP: that of an endpoint waits until the peer has handled its
 * messages, that of the interface until they are on their way, and until there is
 * a way for those of the endpoints that there are. */
ucs_status_t Peer::flush_all()
{
    if (wireup_.replaces_lane()) {
        return order_.flush_kept(pending_.in_request());
    }
    if (!pending_.users().empty() &&
        (!channel_.taken() || channel_.has(ControlChannel::kConnecting |
                                           ControlChannel::kWiring))) {
        return failed() ? failure() : UCS_ERR_NO_RESOURCE;
    }
    return channel_.ep() != nullptr && channel_.rail()->traits().stream ?
               order_.flush_written(pending_.in_request()) :
               order_.flush(nullptr, nullptr, pending_.in_request());
}

ucs_status_t Peer::fence(bool of_interface)
{
    if (failed()) {
        return failure();
    }
    if (of_interface) {
        channel_.clear(ControlChannel::kFenceDue); /* this one */
    }
    pending_.note_fence();
    order_.fence(of_interface);
    return UCS_OK;
}

ucs_status_t Peer::check(unsigned flags, uct_completion_t *comp)
{
    if (failed()) {
        return failure();
    }
    if (channel_.has(ControlChannel::kConnecting)) {
        return UCS_OK;
    }
    return uct_ep_check(channel_.ep(), flags, comp);
}

/* --- the lane of messages --- */

void Peer::on_drained()
{
    if (wireup_.no_paths() && channel_.taken() && channel_.queue_empty() &&
        !channel_.has(ControlChannel::kConnecting)) {
        fail(UCS_ERR_UNREACHABLE); /* the peer has heard our table */
        return;
    }
    if (ucs_unlikely(order_.flushes_wait())) {
        defer();
    }
    target_.serve_waiting();
}

void Peer::on_lane_error(uct_ep_h ep, ucs_status_t status)
{
    rouse();
    if (teardown_.on_lane_error(ep)) {
        return;
    }
    const bool shared = ep == channel_.ep() && channel_.rail()->reads() &&
                        !channel_.rail()->by_ep();
    if (ep == channel_.ep() &&
        (failed() ||
         (shared && (order_.lane_puts_open() || ops_.open() != 0)))) {
        /* Who sends to a queue pair of all cannot have its end destroyed: of what
         * the lane's own NIC did, nobody knows what may yet be executed. */
        teardown_.on_channel_broken(status);
    } else if (!wireup_.on_error(ep, status) &&
               !bulk_.on_path_error(ep, status)) {
        fail(status);
    }
}

void Peer::on_control(const wire::ControlHeader &header, const void *data,
                      size_t length)
{
    using wire::ControlType;

    auto type = static_cast<ControlType>(header.type);
    if (failed() && type != ControlType::Goodbye &&
        type != ControlType::GetDone) {
        return; /* it was told, or will be */
    }
    channel_.on_confirmed(header.confirmed);
    if (ucs_unlikely(type == ControlType::PutData &&
                     (header.flags & wire::kPutAgain) != 0)) {
        if (!failed() && channel_.take_again(header)) {
            target_.on_put(data, length);
        }
        return;
    }
    if (!failed() && wire::is_numbered(type) &&
        !take(header, wire::RailAm::Control, data, length)) {
        return;
    }
    handle(header, data, length);
}

void Peer::handle(const wire::ControlHeader &header, const void *data, size_t length)
{
    using wire::ControlType;

    rouse();
    switch (static_cast<ControlType>(header.type)) {
    case ControlType::GetReq:
        return target_.on_get(data, length);
    case ControlType::GetCancel:
        return target_.on_cancel(data, length);
    case ControlType::PutData:
        return behind_program(header, data, length);
    case ControlType::GetData:
        return gets_.on_data(data, length);
    case ControlType::GetDone:
        return gets_.on_done(data, length);
    case ControlType::Landed:
        return gets_.on_landed(data, length);
    case ControlType::FlushReq:
        return behind_program(header, data, length);
    case ControlType::FlushAck:
        return order_.on_ack(data, length);
    case ControlType::RailAddr:
        return on_rail_address(data, length);
    case ControlType::KeyReq:
        return keys_.on_request(data, length);
    case ControlType::KeyData:
        if (keys_.on_data(data, length)) {
            bulk_.pump(); /* may have waited for them */
        }
        return;
    case ControlType::LoadAsk:
        return inflow_.on_ask(data, length);
    case ControlType::LoadGrant: {
        wire::LoadGrant grant;
        if (wire::parse(data, length, grant)) {
            bulk_.on_grant(grant);
        }
        return;
    }
    case ControlType::ChunkAck: {
        wire::ChunkAck ack;
        if (wire::parse(data, length, ack)) {
            bulk_.on_chunk_ack(ack);
        }
        return;
    }
    case ControlType::SlotAsk:
        return receiver_.on_slot_ask(data, length);
    case ControlType::SlotBack:
        return receiver_.on_slot_back(data, length);
    case ControlType::SlotGrant:
        return bulk_.on_slot_grant(data, length);
    case ControlType::SlotRecall:
        return bulk_.on_slot_recall(data, length);
    case ControlType::PathBroken:
        return on_path_broken(data, length);
    case ControlType::PathQuiet: {
        wire::PathQuiet message;
        if (wire::parse(data, length, message)) {
            bulk_.on_path_quiet(message);
        }
        return;
    }
    case ControlType::Carrier:
        return on_peer_carrier(data, length);
    case ControlType::Rails:
        return news_.on_message(data, length);
    case ControlType::Seen:
        return on_seen(header);
    case ControlType::Goodbye:
        return teardown_.on_goodbye(header, data, length);
    case ControlType::Hello: /* handled above, where the peer may not be known */
    case ControlType::User:  /* yet; and where there is the user's handler */
        break;
    }
    ucs_debug("fuselink: control message of unknown type %d from %016lx",
              header.type, uuid());
}

/* What the program has to have handled all messages in front of: puts behind a fence, and
 * flushes, whose answer says so. */
void Peer::behind_program(const wire::ControlHeader &header, const void *data,
                          size_t length)
{
    if (ucs_unlikely(calls().held().has_messages()) &&
        (is_flush(header) || (header.flags & wire::kPutBehind) != 0)) {
        calls().held().answer(*this, now_handled, this, data, length);
    } else {
        handle_behind(header, data, length);
    }
}

void Peer::now_handled(void *self, const void *data, size_t length)
{
    Peer &peer = *static_cast<Peer *>(self);
    wire::ControlHeader header;
    if (!peer.failed() && wire::parse(data, length, header)) {
        peer.handle_behind(header, data, length);
    }
}

void Peer::handle_behind(const wire::ControlHeader &header, const void *data,
                         size_t length)
{
    if (is_flush(header)) {
        order_.on_request(data, length);
    } else {
        target_.on_put(data, length);
    }
}

void Peer::on_rail_address(const void *data, size_t length)
{
    wire::RailAddr message;
    if (!wire::parse(data, length, message) ||
        message.length != length - sizeof(message)) {
        return;
    }
    auto *bytes = static_cast<const uint8_t *>(data) + sizeof(message);
    const std::vector<uint8_t> address(bytes, bytes + message.length);
    if (message.use == static_cast<uint8_t>(wire::LinkUse::Lane)) {
        wireup_.on_lane_step(message, address);
    } else {
        bulk_.on_rail_address(message, address);
    }
}

void Peer::on_path_broken(const void *data, size_t length)
{
    wire::PathBroken message;
    receiver_.on_path_broken(data, length);
    if (wire::parse(data, length, message) && message.silent != 0) {
        silence_.on_told(message.rail, message.from,
                         message.silent == wire::kSilentSince);
    }
}

void Peer::on_carrier(uint16_t down, uint16_t back)
{
    if (failed()) {
        return;
    }
    wireup_.on_carrier();
    bulk_.on_carrier();
    if (peer_session() != 0) {
        news_.tell_links(down, back);
    }
    defer();
}

void Peer::on_peer_carrier(const void *data, size_t length)
{
    wire::Carrier message;
    if (wire::parse(data, length, message)) {
        wireup_.on_peer_carrier(message.down, message.back);
        bulk_.on_peer_carrier(message.down);
        defer();
    }
}

/* Who asks may suspect a NIC of ours. */
void Peer::on_seen(const wire::ControlHeader &header)
{
    if (header.flags & wire::kSeenAsk) {
        silence_.on_question();
    }
    channel_.on_seen(header);
    wireup_.on_seen();
}

/* --- the end --- */

void Peer::fail(ucs_status_t status)
{
    if (!failed()) {
        ucs_debug("fuselink: peer %016lx failed: %s", uuid(),
                  ucs_status_string(status));
        failed_ = status;
        channel_.set(ControlChannel::kFailed);
    }
    defer();
}

void Peer::on_hello_late()
{
    if (!closed_) {
        teardown_.say_again();
        defer();
    }
}

void Peer::fail_as_told(ucs_status_t status)
{
    teardown_.on_given_up();
    fail(status);
}

/* From progress, when it has failed. */
void Peer::advance()
{
    if (closed_) {
        return;
    }
    if (!teardown_.begun()) {
        tear_down();
    }
    if (!teardown_.advance()) {
        defer();
        return;
    }
    close_lanes();
    channel_.drop_log();
    ops_.end_all(failure());
    closed_ = true;
    cancellation_.check();
}

void Peer::tear_down()
{
    teardown_.begin();
    silence_.forget();
    channel_.drop_all();
    target_.clear();
    keys_.clear();
    bulk_.fail(failure());
    /* What comes by messages we drop from now on. */
    gets_.end_ours(failure(), bulk_.written_in_place());
    ops_.end_lost(failure());
    order_.end_flushes(nullptr, failure());
    teardown_.tell();
}

void Peer::close_lanes()
{
    bulk_.close();
    teardown_.close();
    wireup_.close();
}

bool Peer::begin_closing()
{
    if (!failed()) {
        failed_ = UCS_ERR_CANCELED;
        channel_.set(ControlChannel::kFailed);
        teardown_.begin_closing();
    }
    return teardown_.say_closed();
}

void Peer::abandon()
{
    begin_closing(); /* a peer may have come just now */
    teardown_.abandon();
    channel_.drop_all();
    target_.clear();
    bulk_.fail(failure());
    bulk_.cancel_in_flight(true);
    if (channel_.ep() != nullptr) {
        uct_ep_flush(channel_.ep(), UCT_FLUSH_FLAG_CANCEL, nullptr);
    }
    bulk_.close(); /* no NIC writes to their memory any more */
    ops_.end_lost(failure());
    gets_.end_all(failure());
    order_.end_flushes(nullptr, failure());
    cancellation_.check(true);
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "control_channel.h"

#include "../wire/messages.h"

#include <cstring>
#include <utility>

namespace fuselink {
namespace {

constexpr uint8_t kControl = static_cast<uint8_t>(wire::RailAm::Control);

constexpr uint8_t kUser    = static_cast<uint8_t>(wire::RailAm::User);

struct Bytes {
    const void *data;
    size_t      length;
};

size_t pack_bytes(void *dest, void *arg)
{
    auto *bytes = static_cast<Bytes *>(arg);
    memcpy(dest, bytes->data, bytes->length);
    return bytes->length;
}

/* Errors of a call, which say nothing of the connection. */
bool is_callers_error(ucs_status_t status)
{
    return status == UCS_ERR_INVALID_PARAM || status == UCS_ERR_NO_MEMORY ||
           status == UCS_ERR_UNSUPPORTED || status == UCS_ERR_EXCEEDS_LIMIT;
}

} // namespace

ControlChannel::ControlChannel(Connection &conn, uint64_t own,
                               wire::Token token, MessageMemory &memory,
                               SeenTimer &timer, Events &events)
    : conn_(conn), own_(own), token_(token), timer_(timer), events_(events),
      log_(memory), puts_(memory), held_(memory)
{
}

/* --- the lane --- */

void ControlChannel::begin_lane(uct_ep_h ep, Rail &rail, uint8_t remote,
                                const LaneEp::Limits &limits)
{
    rouse();
    ep_.use(ep, rail, remote, limits);
    lane_.began = ++lane_.number;
    spread(false, 0);
    rewind(resent_);
    if (ucs_unlikely(!puts_.empty())) {
        puts_.rewind();
        set(kPutsAgain);
    }
}

void ControlChannel::open(uct_ep_h ep, Rail &rail, uint8_t remote,
                          const LaneEp::Limits &limits)
{
    begin_lane(ep, rail, remote, limits);
    again_.lane      = lane_.number; /* the hello asks for it */
    again_.may_go    = false;
    lane_.for_hellos = true;
    clear(kConnecting | kWiring);
    if (rail.by_ep()) {
        set(kWiring); /* until the table is known */
    }
}

void ControlChannel::move_to(uct_ep_h ep, Rail &rail, uint8_t remote,
                             const LaneEp::Limits &limits)
{
    ep_.stop_waiting();
    clear(kBlocked);
    begin_lane(ep, rail, remote, limits);
    lane_.for_hellos = false;
    send_later();
}

/* What is there to be sent goes first: whoever is refused until then waits for room. */
void ControlChannel::send_later()
{
    if (!sent_all()) {
        set(kBlocked); /* until look_for_room() */
        look_later();
    }
}

void ControlChannel::leave()
{
    rouse();
    close();
    if (lane_.taken) {
        resent_ = &rail()->health.messages_resent();
    } else if (lane_.number != 0) {
        --lane_.number; /* nothing went there: the next one may have its number */
    }
    room_later_ = lane_.taken = false;
    clear(kBlocked);
    set(kConnecting);
    hello_.clear();
}

void ControlChannel::close()
{
    ep_.close();
}

void ControlChannel::drop_all()
{
    queue_.clear();
    hello_.clear();
    telling_.due = false; /* the log stays: the lane may be sending from it */
}

/* --- room --- */

ucs_status_t ControlChannel::outcome(ucs_status_t status)
{
    if (status == UCS_ERR_NO_RESOURCE) {
        block();
    } else if (UCS_STATUS_IS_ERR(status) && !is_callers_error(status)) {
        events_.on_lane_error(ep(), status);
        return conn_.failed() ? conn_.failure() : UCS_ERR_NO_RESOURCE;
    }
    return status;
}

/* Inside a call on it. */
void ControlChannel::lane_failed(ucs_status_t status)
{
    if (is_callers_error(status)) {
        conn_.fail(status); /* the next lane would say the same */
    } else {
        events_.on_lane_error(ep(), status);
    }
}

/* Nothing is sent until the lane takes messages again. */
void ControlChannel::block()
{
    set(kBlocked);
    if (ep_.waits() || has(kFailed | kConnecting)) {
        return; /* it is on the queue of the lane, or of the one before */
    }
    if (!ep_.wait()) {
        look_later(); /* asking again at once would be a loop without end */
    }
}

bool ControlChannel::is_through()
{
    const bool through = ep_.is_through();
    if (ep_.waits()) {
        set(kBlocked);
    }
    return through;
}

void ControlChannel::room()
{
    clear(kBlocked);
    drain();
    events_.on_room();
}

void ControlChannel::look_for_room()
{
    if (room_later_ && !conn_.failed()) {
        room_later_ = false;
        room();
    }
}

/* --- what is to be sent --- */

void ControlChannel::stamp(void *head) const
{
    wire::ControlHeader header;
    memcpy(&header, head, sizeof(header));
    header.version   = wire::kProtocolVersion;
    header.session   = conn_.session();
    header.sender    = own_;
    header.seen      = order_.next();
    header.lane      = lane_.number;
    header.confirmed = again_.confirmed;
    header.asked     = questions_.theirs();
    memcpy(head, &header, sizeof(header));
}

/* A message of the log is about to go: fills in what is of now. The peer is told of
 * what came when the lane has taken it: what waits may never go, if an earlier lane has
 * brought it. */
void ControlChannel::refresh(uint8_t am_id, char *bytes)
{
    if (am_id == kUser) {
        auto *header  = reinterpret_cast<wire::UserHeader *>(bytes);
        header->am_id = static_cast<uint8_t>((header->am_id & wire::kAmId) | marks_);
        header->lane  = lane_.number;
        header->seen  = order_.next();
    } else {
        auto *header      = reinterpret_cast<wire::ControlHeader *>(bytes);
        header->lane      = lane_.number;
        header->seen      = order_.next();
        header->confirmed = again_.confirmed;
    }
}

bool ControlChannel::may_accept(size_t length)
{
    if (log_.has_room(length)) {
        return true;
    }
    set(kUnseen);
    return false;
}

/* A control message, stamped. */
void ControlChannel::append(const void *head, size_t head_length,
                            const void *body, size_t body_length)
{
    char *bytes = log_.reserve(head_length + body_length);
    memcpy(bytes, head, head_length);
    if (body_length != 0) {
        memcpy(bytes + head_length, body, body_length);
    }
    auto *header   = reinterpret_cast<wire::ControlHeader *>(bytes);
    header->number = log_.next_number();
    log_.commit(kControl, head_length + body_length);
    committed();
}

/* The last message of the log is new. */
void ControlChannel::committed()
{
    note_full();
    if (!has(kBlocked | kConnecting | kFailed | kPutsAgain) && !draining_) {
        draining_ = true; /* a lane that fails in the call may bring us here */
        while (send_next() && ucs_unlikely(log_.unsent())) {
        }
        draining_ = false;
    }
}

/* Gives an endpoint the first message of the log that is not sent. Null: it is the
 * lane. */
ucs_status_t ControlChannel::give(uct_ep_h ep, MessageLog::Record &record,
                                  MessagePin *pin)
{
    char *bytes = record.bytes();
    if (record.length <= ep_.limits().am_short) {
        uint64_t first;
        memcpy(&first, bytes, sizeof(first));
        return uct_ep_am_short(ep, record.am_id, first, bytes + sizeof(first),
                               record.length - sizeof(first));
    }
    if (record.length <= ep_.limits().am_bcopy) {
        Bytes   message{bytes, record.length};
        ssize_t sent = uct_ep_am_bcopy(ep, record.am_id, pack_bytes, &message, 0);
        return sent >= 0 ? UCS_OK : static_cast<ucs_status_t>(sent);
    }
    if (pin == nullptr && rail()->traits().stream) {
        pin = &pin_;
    }
    if (pin != nullptr && pin->held) {
        return UCS_ERR_NO_RESOURCE;
    }
    /* From the log, where it stays until it has arrived. */
    constexpr unsigned kHeader = sizeof(wire::UserHeader);
    const uct_iov_t    iov{bytes + kHeader, record.length - kHeader,
                           UCT_MEM_HANDLE_NULL, 0, 1};
    uct_completion_t *comp   = pin == nullptr ? nullptr :
                                                &pins_.prepare(*pin, log_.first_unsent());
    ucs_status_t      status = uct_ep_am_zcopy(ep, record.am_id, bytes, kHeader, &iov, 1,
                                               0, comp);
    if (status != UCS_INPROGRESS) {
        return status;
    }
    if (pin != nullptr) {
        pins_.hold(*pin, log_.first_number());
    }
    return UCS_OK;
}

/* Gives the lane the first message of the log that is not sent, or another wire. False if
 * it took none. */
bool ControlChannel::send_next()
{
    MessageLog::Record &record = log_.front_unsent();
    refresh(record.am_id, record.bytes());
    if (ucs_unlikely(spreads_) && give_aside(record)) {
        return true;
    }
    ucs_status_t status = give(ep(), record, nullptr);
    if (ucs_likely(status == UCS_OK)) {
        order_.tell();
        log_.note_sent();
        if (ucs_unlikely(spreads_)) {
            sides_->lane_took(record.length);
        }
        return true;
    }
    if (status == UCS_ERR_NO_RESOURCE) {
        block();
    } else {
        lane_failed(status);
    }
    return false;
}

/* fuselink's own stay on the lane: they are short. */
bool ControlChannel::give_aside(MessageLog::Record &record)
{
    if (record.am_id != kUser) {
        return false;
    }
    const size_t          length = record.length;
    const SideLanes::Side side   = sides_->choose();
    if (side.ep == nullptr) {
        return false;
    }
    const wire::MessageNumber number = log_.first_unsent();
    auto &am_id         = reinterpret_cast<wire::UserHeader *>(record.bytes())->am_id;
    am_id               = static_cast<uint8_t>(am_id | wire::kBeside);
    ucs_status_t status = give(side.ep, record, side.pin);
    if (status == UCS_OK) {
        log_.note_sent();
        beside_ = {true, number};
    } else {
        am_id = static_cast<uint8_t>(am_id & ~wire::kBeside); /* the lane has it */
    }
    sides_->gave(status, length);
    return status == UCS_OK;
}

/* The lane takes again what is not acknowledged, also what others have taken. */
void ControlChannel::rewind(Count *broke)
{
    beside_.open = false;
    log_.rewind(broke);
}

void ControlChannel::resend(Count &broke)
{
    if (beside_.open && ep() != nullptr && !has(kConnecting | kFailed)) {
        /* What others bring late is known by that, when numbers have had their turn. */
        ++lane_.number;
        rewind(&broke);
        send_later();
    }
}

bool ControlChannel::gather()
{
    spread(false, 0);
    gathers_ = gathers_ || beside_.open || log_.goes_again();
    if (beside_.open) {
        rewind(resent_);
    }
    while (gathers_ && log_.unsent() && ep() != nullptr && send_next()) {
    }
    return !gathers_ || !log_.unsent() || ep() == nullptr;
}

ssize_t ControlChannel::am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg,
                                 size_t most)
{
    size_t packed;
    if (ucs_unlikely(peer_token_ == wire::kNoToken)) {
        wire::UserMessage own{};
        char *bytes          = log_.reserve(sizeof(own) + most);
        own.header.type      = static_cast<uint8_t>(wire::ControlType::User);
        own.header.number    = log_.next_number();
        own.am_id            = id;
        stamp(&own);
        memcpy(bytes, &own, sizeof(own));
        packed = pack(bytes + sizeof(own), arg);
        log_.commit(kControl, sizeof(own) + packed);
    } else {
        char *bytes = log_.reserve(sizeof(wire::UserHeader) + most);
        const wire::UserHeader own{id, 0, peer_token_, log_.next_number(), 0};
        memcpy(bytes, &own, sizeof(own));
        packed = pack(bytes + sizeof(own), arg);
        log_.commit(kUser, sizeof(own) + packed);
    }
    committed();
    note_message();
    return static_cast<ssize_t>(packed);
}

void ControlChannel::am_control(uct_pack_callback_t pack, void *arg, size_t most)
{
    char        *bytes  = log_.reserve(most);
    const size_t packed = pack(bytes, arg);
    stamp(bytes);
    reinterpret_cast<wire::ControlHeader *>(bytes)->number =
        log_.next_number();
    log_.commit(kControl, packed);
    committed();
}

bool ControlChannel::try_send(uct_ep_h ep, const void *head, size_t head_length)
{
    Bytes   message{head, head_length};
    ssize_t sent = uct_ep_am_bcopy(ep, kControl, pack_bytes, &message, 0);
    if (sent >= 0) {
        return true;
    }
    if (sent != UCS_ERR_NO_RESOURCE) {
        events_.on_lane_error(ep, static_cast<ucs_status_t>(sent));
        return true;
    }
    return false;
}

void ControlChannel::send(void *head, size_t head_length, const void *body,
                          size_t body_length)
{
    if (conn_.failed() || !connected()) {
        return;
    }
    rouse();
    stamp(head);
    const size_t length = head_length + body_length;
    if (queue_.empty() && lane_.taken && !draining_ && !log_.unsent() &&
        !has(kBlocked | kConnecting | kPutsAgain) && may_accept(length)) {
        append(head, head_length, body, body_length);
        return;
    }
    ControlQueue::Message message(length);
    memcpy(message.data(), head, head_length);
    if (body_length != 0) {
        memcpy(message.data() + head_length, body, body_length);
    }
    if (!queue_.push(std::move(message))) {
        ucs_error("fuselink: peer %016lx asks on and takes no answers, of "
                  "which %zu bytes wait: given up", conn_.uuid(),
                  queue_.answer_bytes());
        conn_.fail(UCS_ERR_EXCEEDS_LIMIT);
    }
    drain();
}

void ControlChannel::send_first(std::vector<uint8_t> message)
{
    rouse();
    hello_ = std::move(message);
    drain();
}

bool ControlChannel::send_hello()
{
    refresh(kControl, reinterpret_cast<char *>(hello_.data()));
    if (!try_send(ep(), hello_.data(), hello_.size())) {
        block();
        return false;
    }
    if (has(kConnecting)) {
        return false; /* it failed: the next one says it anew */
    }
    order_.tell();
    hello_.clear();
    lane_.taken = true;
    return true;
}

bool ControlChannel::send_seen()
{
    wire::Seen message{};
    message.header.type  = static_cast<uint8_t>(wire::ControlType::Seen);
    if (telling_.asks) {
        message.header.flags = wire::kSeenAsk;
        message.header.asks  = questions_.next_number();
    }
    stamp(&message);
    if (!try_send(ep(), &message, sizeof(message))) {
        block();
        return false;
    }
    if (has(kConnecting)) {
        return false;
    }
    order_.tell();
    if (telling_.asks) {
        questions_.sent();
    }
    telling_.due = telling_.asks = false;
    ++telling_.said;
    return true;
}

/* One that an earlier lane's NIC had. */
bool ControlChannel::send_put()
{
    PutLog::Record &record = puts_.front_unsent();
    stamp(record.bytes());
    auto *header   = reinterpret_cast<wire::ControlHeader *>(record.bytes());
    header->number = record.number;
    if (!try_send(ep(), record.bytes(), record.length)) {
        block();
        return false;
    }
    if (has(kConnecting)) {
        return false;
    }
    puts_.note_sent();
    return true;
}

void ControlChannel::drain()
{
    if (draining_) {
        return; /* a lane that fails inside the call brought us here */
    }
    draining_ = true;
    bool taken = lane_.taken;
    bool goes  = true;
    while (goes && !has(kFailed | kConnecting | kBlocked)) {
        if (!hello_.empty()) {
            goes = send_hello();
        } else if (!lane_.taken) {
            break; /* each lane begins with one */
        } else if (ucs_unlikely(has(kPutsAgain)) && !again_.may_go) {
            goes = telling_.due && send_seen(); /* the peer may wait for ours */
        } else if (ucs_unlikely(has(kPutsAgain)) && put_is_next()) {
            goes = send_put();
        } else if (log_.unsent()) {
            goes = send_next();
        } else if (!queue_.empty() && may_accept(queue_.front().size())) {
            const auto &message = queue_.front();
            append(message.data(), message.size(), nullptr, 0);
            queue_.pop();
        } else if (telling_.due) {
            goes = send_seen();
        } else {
            break;
        }
    }
    draining_ = false;
    if (conn_.failed()) {
        return;
    }
    if (lane_.taken && !taken) {
        events_.on_first_taken();
    }
    events_.on_drained();
}

/* --- puts of the lane's NIC --- */

void ControlChannel::keep_put(uint64_t serial, const wire::PutData &header,
                              const void *data, size_t length)
{
    memcpy(reserve_put(length), data, length);
    keep_reserved_put(serial, header, length);
}

void ControlChannel::keep_reserved_put(uint64_t serial,
                                       const wire::PutData &header,
                                       size_t length)
{
    char *bytes = puts_.reserve(sizeof(header) + length);
    memcpy(bytes, &header, sizeof(header));
    reinterpret_cast<wire::ControlHeader *>(bytes)->flags = wire::kPutAgain;
    puts_.commit(serial, log_.next_number(), sizeof(header) + length);
    if (!puts_.has_room()) {
        set(kPutsOpen);
    }
}

void ControlChannel::puts_done(uint64_t serial)
{
    if (!has(kPutsAgain)) { /* else what is kept is messages by now */
        puts_.done(serial);
        note_puts();
    }
}

/* There may be fewer. */
void ControlChannel::note_puts()
{
    if (has(kPutsOpen) && puts_.has_room()) {
        clear(kPutsOpen);
        look_later();
    }
    if (has(kPutsAgain) && puts_.empty()) {
        clear(kPutsAgain);
        look_later();
    }
}

/* --- what comes --- */

void ControlChannel::hold(wire::MessageNumber number, uint8_t am_id,
                          const void *data, size_t length)
{
    if (!held_.hold(order_.distance(number), am_id, data, length)) {
        ucs_error("fuselink: message %u of peer %016lx comes before message "
                  "%u: given up", number, conn_.uuid(), order_.next());
        conn_.fail(UCS_ERR_IO_ERROR);
    }
}

void ControlChannel::acknowledged(wire::MessageNumber seen)
{
    if (ucs_unlikely(pins_.any())) {
        seen = pins_.before(seen, log_.first_number(), log_.messages());
    }
    if (!log_.acknowledge(seen)) {
        return; /* late, over an earlier lane */
    }
    if (ucs_unlikely(beside_.open)) {
        beside_.open = wire::message_distance(beside_.last, seen) >= 0;
    }
    if (ucs_unlikely(has(kUnseen)) && log_.has_room(ep_.limits().am_bcopy)) {
        clear(kUnseen);
        look_later();
    }
    if (ucs_unlikely(!puts_.empty())) {
        puts_.acknowledge(seen);
        note_puts();
    }
}

void ControlChannel::on_hello(uint8_t lane, wire::MessageNumber seen)
{
    order_.begin_lane(lane);
    acknowledged(seen);
}

void ControlChannel::on_seen(const wire::ControlHeader &header)
{
    acknowledged(header.seen);
    questions_.heard(header.asked);
    if (header.flags & wire::kSeenAsk) {
        questions_.came(header.asks);
        say_seen();
    }
}

void ControlChannel::say_seen()
{
    rouse();
    telling_.due = true;
    drain();
}

void ControlChannel::ask_seen()
{
    telling_.asks = true;
    say_seen();
}

void ControlChannel::tell_seen()
{
    telling_.owes = false;
    if (order_.untold() && !conn_.failed()) {
        say_seen();
    }
}

} // namespace fuselink

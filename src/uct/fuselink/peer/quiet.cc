/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: the far end of a path that broke. The peer sends again what was lost
 * with it, and wants to know first that nothing of the old connection will be
 * written here any more. What it has to wait for depends on who writes:
 *
 * - the NIC, for a pair of queue pairs: until ours is in the state of error,
 *   where it takes no more;
 * - the NIC, where it has one queue for all peers: until what is in the network
 *   has come. The peer's end sends nothing more;
 * - UCX, for a stream: the same, and what the kernel still has of it is read;
 * - fuselink, for messages: late ones are known by their numbers. */

#include "peer.h"

#include "../engine/engine.h"

namespace fuselink {
namespace {

/* What was still in the network comes within this time. */
constexpr sched::Nanos kInNetwork = sched::Nanos::millis(100);
/* Then polls of the interface that find nothing: its buffer is empty. */
constexpr unsigned kEmptyPolls = 2;

} // namespace

void Peer::on_path_broken(const void *data, size_t length)
{
    wire::PathBroken message;
    if (!wire::parse(data, length, message) ||
        message.rail >= engine_.rails().size() ||
        message.from >= wire::kMaxRails) {
        return;
    }
    Arrival &arrival = arrivals_[{message.from, message.rail}];
    breaks_         += !arrival.broken;
    arrival.broken   = true;
    arrival.next     = message.next;
    arrival.empty    = 0;
    arrival.after    = engine_.now() + kInNetwork;
    bulk_.on_peer_broke(message.rail, message.from);
    defer();
}

/* From progress: polls an interface, and ends endpoints. */
void Peer::quieten()
{
    for (auto &[path, arrival] : arrivals_) {
        if (!arrival.broken || failed()) {
            continue;
        }
        const auto [from, own] = path;
        if (!quiet(from, own, arrival)) {
            defer();
            continue;
        }
        if (failed()) {
            continue;
        }
        arrival.broken = false;
        --breaks_;
        Get *get = arrival.open != 0 && arrival.of_get ?
                       engine_.gets().find(arrival.get) : nullptr;
        if (get != nullptr && get->peer == this) {
            get->landed -= arrival.length; /* the chunk comes whole again */
        }
        wire::PathQuiet answer{};
        answer.header.type = static_cast<uint8_t>(wire::ControlType::PathQuiet);
        answer.rail        = from;
        answer.from        = own;
        answer.seen        = wire::chunk_mark(arrival.seen, arrival.next);
        arrival.open       = 0;
        arrival.seen = arrival.from = arrival.next;
        send_control(&answer, sizeof(answer));
    }
}

bool Peer::owes_quiet(uint8_t from, uint8_t own) const
{
    auto it = arrivals_.find({from, own});
    return it != arrivals_.end() && it->second.broken;
}

bool Peer::quiet(uint8_t from, uint8_t own, Arrival &arrival)
{
    if (!bulk_.torn_down(own, from)) {
        return false;
    }
    const Rail &rail = *engine_.rails()[own];
    if (!rail.by_ep() && engine_.now() < arrival.after) {
        return false;
    }
    if (rail.traits().stream) {
        arrival.empty = engine_.poller().poll_now(rail.poll_index()) == 0 ?
                            arrival.empty + 1 : 0;
        if (arrival.empty < kEmptyPolls) {
            return false;
        }
    }
    if (rail.reads() && !rail.by_ep()) {
        engine_.poller().drain(rail.poll_index()); /* no link has done it */
    }
    arrival.from = arrival.next; /* what is late is dropped from now on */
    if (!onto_gpu_.settle(from, own)) {
        return false;
    }
    bulk_.drop_inbound(own, from);
    return true;
}

void Peer::on_path_quiet(const void *data, size_t length)
{
    wire::PathQuiet message;
    if (wire::parse(data, length, message)) {
        bulk_.on_path_quiet(message);
    }
}

/* Bytes whose announcement broke with their path. */
void Peer::on_landed_word(const void *data, size_t length)
{
    wire::Landed message;
    if (!wire::parse(data, length, message)) {
        return;
    }
    Get *get = engine_.gets().find(message.op);
    if (get == nullptr || get->peer != this || get->by_message ||
        message.length > get->missing()) {
        ucs_debug("fuselink: word of bytes that nobody asked for");
        return;
    }
    on_landed(*get, message.length);
}

bool Peer::on_announced(uint8_t rail, uint8_t own, uint32_t number)
{
    if (rail >= wire::kMaxRails) {
        return false;
    }
    Arrival &arrival = arrivals_[{rail, own}];
    if (wire::chunk_before(number, arrival.from)) {
        return false; /* it is sent again, or a word has come */
    }
    arrival.from = wire::chunk_mark(arrival.from, number);
    arrival.seen = number + 1;
    return true;
}

} // namespace fuselink

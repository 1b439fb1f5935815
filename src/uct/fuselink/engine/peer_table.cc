/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "peer_table.h"

namespace fuselink {

void PeerTable::close(const Host &host)
{
    std::vector<Peer *> untold;
    for (const auto &[uuid, peer] : peers_) {
        if (!peer->begin_closing()) {
            untold.push_back(peer.get());
        }
    }
    const sched::Nanos until = host.now() + kLastWord;
    while (!untold.empty() && host.now() < until) {
        std::erase_if(untold, [](Peer *peer) { return peer->go_on_closing(); });
    }
    end_all();
}

void PeerTable::end_all()
{
    for (const auto &[uuid, peer] : peers_) {
        peer->abandon();
    }
    for (const auto &peer : gone_) {
        peer->abandon();
    }
    active_.clear();
    tokens_ = {}; /* nobody takes messages any more */
    peers_.clear();
    gone_.clear();
}

Peer *PeerTable::add(uint64_t uuid)
{
    if (++last_session_ == 0) { /* means "not known" on the wire */
        ++last_session_;
    }
    const wire::Token token = tokens_.reserve();
    auto             &slot  = peers_[uuid];
    slot                    = make_(uuid, last_session_, token);
    tokens_.set(token, *slot);
    active_.add(*slot);
    return slot.get();
}

/* Makes room for a peer's next connection. */
void PeerTable::retire(Peers::iterator it)
{
    it->second->defer();
    active_.remove(*it->second);
    gone_.push_back(std::move(it->second));
    peers_.erase(it);
}

/* A peer goes on with a connection that is no more here: it has lost its lane just
 * when it was to be told. */
void PeerTable::reject(const wire::Hello &hello, const wire::RailTable &table)
{
    if ((hello.header.flags & wire::kHelloResume) == 0) {
        return; /* late */
    }
    reject(hello.header.session, hello.receiver, table);
}

void PeerTable::reject(uint32_t theirs, uint32_t ours,
                       const wire::RailTable &table)
{
    gone_.push_back(make_(table.uuid, ours, wire::kNoToken));
    gone_.back()->reject(theirs, table);
}

void PeerTable::on_stray(const wire::ControlHeader &header)
{
    if (header.type != static_cast<uint8_t>(wire::ControlType::Seen) ||
        (header.flags & wire::kSeenAsk) == 0) {
        return; /* it may have been on its way */
    }
    if (const auto *ended = ended_.find(header.sender, header.session)) {
        reject(ended->theirs, ended->ours, ended->table);
    }
}

void PeerTable::on_goodbye(const Peer *peer, const wire::ControlHeader &header,
                           const void *data, size_t length)
{
    ended_.forget(header.sender, header.session); /* it knows */
    wire::Goodbye goodbye;
    if (!wire::parse(data, length, goodbye) || goodbye.receiver == 0) {
        return;
    }
    Peer *named = find_own(header.sender, goodbye.receiver);
    if (named != nullptr && named != peer) {
        named->on_control(header, data, length);
    }
}

/* Only from run_deferred(): no code of a peer is on the stack. */
void PeerTable::bury(Peer *peer)
{
    std::erase(deferred_, peer);
    active_.remove(*peer);
    tokens_.release(peer->token());
    auto it = peers_.find(peer->uuid());
    if (it != peers_.end() && it->second.get() == peer) {
        peers_.erase(it);
        return;
    }
    std::erase_if(gone_, [&](const Slot &one) { return one.get() == peer; });
}

Peer *PeerTable::find(uint32_t session) const
{
    for (const auto &[uuid, peer] : peers_) {
        if (peer->session() == session) {
            return peer.get();
        }
    }
    return nullptr;
}

template <typename Fits>
Peer *PeerTable::find_if(uint64_t uuid, Fits &&fits) const
{
    auto it = peers_.find(uuid);
    if (it != peers_.end() && fits(*it->second)) {
        return it->second.get();
    }
    for (const auto &peer : gone_) {
        if (peer->uuid() == uuid && fits(*peer)) {
            return peer.get();
        }
    }
    return nullptr;
}

Peer *PeerTable::find_session(uint64_t uuid, uint32_t session) const
{
    return find_if(uuid, [session](const Peer &peer) {
        return peer.peer_session() == session && !peer.over();
    });
}

Peer *PeerTable::find_own(uint64_t uuid, uint32_t session) const
{
    return find_if(uuid, [session](const Peer &peer) {
        return peer.session() == session;
    });
}

ucs_status_t PeerTable::connect(const wire::RailTable &address, Peer *&peer)
{
    auto it = peers_.find(address.uuid);
    if (it != peers_.end() && it->second->failed()) {
        retire(it);
        it = peers_.end();
    }
    peer = it != peers_.end() ? it->second.get() : nullptr;
    if (peer != nullptr && peer->connected()) {
        return UCS_OK;
    }
    bool is_new = peer == nullptr;
    if (is_new) {
        peer = add(address.uuid);
    }
    ucs_status_t status = peer->connect(address);
    if (status != UCS_OK && is_new) {
        bury(peer);
    } else if (status != UCS_OK) {
        peer->fail(status);
    }
    return status;
}

void PeerTable::on_hello(const wire::ControlHeader &header, const void *data,
                         size_t length)
{
    wire::RailTable table;
    wire::Hello hello;
    auto *bytes = static_cast<const uint8_t *>(data);
    if (!wire::parse(data, length, hello) || header.session == 0 ||
        !wire::unpack_rail_table({bytes + sizeof(hello),
                                  length - sizeof(hello)}, table) ||
        table.uuid != header.sender || table.uuid == own_) {
        ucs_error("fuselink: malformed hello from %016lx: dropped",
                  header.sender);
        return;
    }
    Peer *known = find_session(table.uuid, header.session);
    if (known != nullptr && known->failed()) {
        known->on_hello_late(); /* the peer is told, perhaps once more */
        return;
    }
    if (const auto *ended = ended_.find(table.uuid, header.session)) {
        reject(ended->theirs, ended->ours, table);
        return;
    }
    auto it    = peers_.find(table.uuid);
    Peer *peer = it != peers_.end() ? it->second.get() : nullptr;
    if (peer != nullptr && peer->failed()) {
        retire(it);
        peer = nullptr;
    }
    if (peer == nullptr) {
        if (hello.receiver != 0) {
            reject(hello, table);
            return;
        }
        peer = add(table.uuid);
    } else if (known == nullptr && hello.receiver != peer->session()) {
        if (hello.receiver != 0) {
            reject(hello, table);
            return;
        }
        if (peer->peer_session() != 0 &&
            wire::session_before(header.session, peer->peer_session())) {
            return; /* late */
        }
        if (peer->peer_session() != 0) {
            /* The peer has lost the connection that we believe to have, and
             * begins anew. */
            peer->fail_as_told(UCS_ERR_CONNECTION_RESET);
            retire(it);
            peer = add(table.uuid);
        }
    }
    peer->on_hello(hello, table);
}

void PeerTable::for_each_sender(
    const std::function<void(BulkSender &)> &fn) const
{
    active_.for_each([&](Peer &peer) { fn(peer.bulk()); });
}

ucs_status_t PeerTable::flush()
{
    ucs_status_t result = UCS_OK;
    active_.for_each([&](Peer &peer) {
        if (!peer.failed() && peer.connected() &&
            peer.flush(nullptr, 0, nullptr) != UCS_OK) {
            result = UCS_INPROGRESS; /* also when the lane is full */
        }
    });
    return result;
}

void PeerTable::fence()
{
    active_.note_fence();
    active_.for_each([](Peer &peer) { peer.fence(true); });
}

void PeerTable::watch(sched::Nanos now)
{
    if (ucs_unlikely(!to_hear_.empty())) {
        spread_news();
    }
    watched_.clear(); /* completions of one may connect to others */
    active_.let_rest([this](Peer &peer) {
        if (peer.watched() || peer.waits_for_nic()) {
            watched_.push_back(&peer);
            return true;
        }
        return !peer.may_rest();
    });
    for (Peer *peer : watched_) {
        peer->watch(now);
    }
}

template <typename Fn> void PeerTable::for_each(Fn &&fn)
{
    std::vector<Peer *> peers;
    for (const auto &[uuid, peer] : peers_) {
        peers.push_back(peer.get());
    }
    for (Peer *peer : peers) {
        fn(*peer);
    }
}

void PeerTable::on_wire(const Wire &wire)
{
    for_each([&](Peer &peer) { peer.on_wire(wire); });
}

void PeerTable::on_doubt(Wire &wire, sched::Nanos now)
{
    for_each([&](Peer &peer) { peer.on_doubt(wire, now); });
}

void PeerTable::on_carrier(uint16_t down, uint16_t back)
{
    for_each([&](Peer &peer) { peer.on_carrier(down, back); });
}

void PeerTable::on_new_rails()
{
    to_hear_.clear();
    for (const auto &[uuid, peer] : peers_) {
        to_hear_.push_back(uuid);
    }
}

void PeerTable::spread_news()
{
    for (unsigned i = 0; i < kHearAtOnce && !to_hear_.empty(); ++i) {
        auto it = peers_.find(to_hear_.back());
        to_hear_.pop_back();
        if (it != peers_.end()) {
            it->second->on_new_rails();
        }
    }
}

bool PeerTable::watched() const
{
    return active_.any([](const Peer &peer) { return peer.watched(); });
}

bool PeerTable::waits_for_nic() const
{
    return active_.any([](const Peer &peer) { return peer.waits_for_nic(); });
}

void PeerTable::defer(Peer &peer)
{
    if (!peer.deferred()) {
        peer.set_deferred(true);
        deferred_.push_back(&peer);
    }
}

unsigned PeerTable::run_deferred()
{
    /* Users hear of failures in here and may connect anew. */
    std::vector<Peer *> peers;
    peers.swap(deferred_);
    for (Peer *peer : peers) {
        peer->set_deferred(false); /* they may be again, from here on */
    }
    unsigned done = 0;
    for (Peer *peer : peers) {
        peer->run_deferred();
        if (peer->over() && peer->peer_session() != 0 && !peer->has_left()) {
            ended_.add(peer->peer_session(), peer->session(), peer->table());
        }
        if (peer->closed()) {
            bury(peer);
            ++done;
        } else if (!peer->deferred()) {
            ++done; /* the others wait for something */
        }
    }
    return done;
}

} // namespace fuselink

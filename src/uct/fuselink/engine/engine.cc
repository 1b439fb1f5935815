/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "engine.h"

#include "../rail/locked_memory.h"
#include "../rail/subnets.h"
#include "named_rails.h"

#include <algorithm>
#include <cstring>

namespace fuselink {

Engine::Engine(Host &host, uct_base_iface_t &owner, RegionTable &regions,
               NicMemory &nics, const EngineSettings &settings)
    : host_(host), owner_(owner), regions_(regions), nics_(nics),
      settings_(settings),
      planning_(*this, settings.policy == sched::find_policy("plan") ||
                           settings.policy == sched::find_policy("auto")),
      spread_home_(settings.policy != sched::find_policy("single"))
{
    table_.uuid = wire::make_uuid(host.network_signature(), host.random64());
    home_                 = static_cast<uint32_t>(table_.uuid);
    release_user_desc_.cb = release_user_desc;
}

Engine::~Engine()
{
    /* The users of all peers hear of the end while everything is there yet;
     * then endpoints, before the interfaces that they belong to. */
    for (const auto &[uuid, peer] : peers_) {
        peer->abandon();
    }
    for (const auto &peer : gone_) {
        peer->abandon();
    }
    peers_.clear();
    gone_.clear();
    end_watching();
}

ucs_status_t Engine::open_rails(const std::vector<RailCandidate> &candidates,
                                uct_worker_h worker,
                                const uct_iface_params_t *params)
{
    LowerIfaceParams lower;
    lower.worker      = worker;
    lower.user        = params;
    lower.rx_headroom = settings_.rx_headroom;
    lower.err_handler = on_rail_error;
    lower.async_cb    = Poller::on_async_event;
    lower.async_arg   = &poller_;

    std::string unlocked;
    auto chosen = without_shared_subnets(host_.network(), candidates,
                                         left_out_);
    lower.rails = std::min(chosen.size(), wire::kMaxRails);
    for (const auto &candidate : chosen) {
        if (rails_.size() == wire::kMaxRails) {
            ucs_warn("fuselink: more than %zu NIC ports; %s and those after it "
                     "are not used, choose others with UCX_FUSELINK_DEVICES",
                     wire::kMaxRails, candidate.device.c_str());
            for (size_t i = static_cast<size_t>(&candidate - chosen.data());
                 i < chosen.size(); ++i) {
                left_out_.push_back({chosen[i].device,
                                     "there are as many rails as can be"});
            }
            break;
        }
        if (!candidate.traits->routed_by_ip &&
            !host_.can_lock(*candidate.md, queue_memory(lower.rails))) {
            unlocked += (unlocked.empty() ? "" : ", ") + candidate.device;
            left_out_.push_back({candidate.device,
                                 "too little locked memory (ulimit -l)"});
            continue;
        }
        std::unique_ptr<Rail> rail;
        ucs_status_t status = Rail::open(candidate,
                                         static_cast<uint8_t>(rails_.size()),
                                         *this, lower, rail);
        if (status == UCS_OK && !candidate.named && adds_little(*rail)) {
            ucs_debug("fuselink: %s is not used beside much faster RDMA NICs "
                      "unless UCX_FUSELINK_DEVICES names it",
                      rail->name().c_str());
            left_out_.push_back({candidate.device,
                                 "far slower than the RDMA NICs beside it"});
            continue;
        }
        if (status == UCS_OK) {
            status = set_handlers(*rail);
        }
        if (status == UCS_OK) {
            status = rail->watch(poller_);
        }
        if (status != UCS_OK) {
            ucs_warn("fuselink: NIC port %s is not used: %s",
                     candidate.device.c_str(), ucs_status_string(status));
            left_out_.push_back({candidate.device, ucs_status_string(status)});
            continue;
        }
        said_uneven_  = said_uneven_ || candidate.named;
        rail->standby = !settings_.standby_none &&
                        settings_.standby.allows(rail->control().device());
        table_.rails.push_back(rail->record());
        rails_.push_back(std::move(rail));
    }
    if (!unlocked.empty()) {
        ucs_warn("fuselink: NIC ports that are not used because each needs %zu "
                 "MB of locked memory, of which this process may have %s "
                 "(ulimit -l): %s", queue_memory(lower.rails) >> 20,
                 host_.locked_memory_limit().c_str(), unlocked.c_str());
    }
    if (rails_.empty()) {
        ucs_error("fuselink: no NIC port could be opened; "
                  "UCX_FUSELINK_DEVICES selects the ports to use");
        return UCS_ERR_NO_DEVICE;
    }
    warn_of_no_rails("UCX_FUSELINK_STANDBY", settings_.standby, rails_);
    loads_.open(settings_.share, settings_.limits, rails_,
                settings_.policy == sched::find_policy("idle"));
    return start_watching();
}

/* A TCP port beside RDMA NICs that are far faster, most likely one of a
 * management network: it costs the CPU more than it brings. RDMA candidates
 * come first, so they are all open by now. */
bool Engine::adds_little(const Rail &rail) const
{
    constexpr double kShare = 1.0 / 8;
    return rail.traits().routed_by_ip &&
           std::any_of(rails_.begin(), rails_.end(), [&](const auto &other) {
               return !other->traits().routed_by_ip &&
                      rail.speed() < kShare * other->speed();
           });
}

ucs_status_t Engine::set_handlers(Rail &rail)
{
    static constexpr struct {
        wire::RailAm      id;
        uct_am_callback_t cb;
    } kHandlers[] = {
        {wire::RailAm::Wrapped, on_wrapped_am},
        {wire::RailAm::Control, on_control_am},
        {wire::RailAm::Chunk, on_chunk_am},
        {wire::RailAm::Data, on_data_am},
    };
    for (const LowerIface *iface : {&rail.control(), &rail.hello()}) {
        ucs_status_t status = UCS_OK;
        /* The user may set handlers at any time: look them up per message. */
        for (uint8_t id = 0; id < UCT_AM_ID_MAX && status == UCS_OK; ++id) {
            status = uct_iface_set_am_handler(iface->handle(), id, on_user_am,
                                              &owner_.am[id], 0);
        }
        for (const auto &handler : kHandlers) {
            if (status == UCS_OK) {
                status = uct_iface_set_am_handler(
                    iface->handle(), static_cast<uint8_t>(handler.id),
                    handler.cb, &rail, 0);
            }
        }
        if (status != UCS_OK) {
            return status;
        }
    }
    return UCS_OK;
}

size_t Engine::max_message() const
{
    size_t most = SIZE_MAX;
    for (const auto &rail : rails_) {
        most = std::min({most, rail->control().attr().cap.am.max_bcopy,
                         rail->hello().attr().cap.am.max_bcopy});
    }
    return most;
}

Peer *Engine::find_peer(uint32_t session) const
{
    for (const auto &[uuid, peer] : peers_) {
        if (peer->session() == session) {
            return peer.get();
        }
    }
    return nullptr;
}

Peer *Engine::new_peer(uint64_t uuid)
{
    if (++last_session_ == 0) { /* means "not known" on the wire */
        ++last_session_;
    }
    auto &slot = peers_[uuid];
    slot       = std::make_unique<Peer>(*this, uuid, last_session_);
    return slot.get();
}

/* Makes room for a peer's next connection. */
void Engine::retire(PeerSlot &slot)
{
    defer(*slot);
    gone_.push_back(std::move(slot));
}

/* Only from run_deferred(): no code of a peer is on the stack. */
void Engine::bury(Peer *peer)
{
    std::erase(deferred_, peer);
    auto it = peers_.find(peer->uuid());
    if (it != peers_.end() && it->second.get() == peer) {
        peers_.erase(it);
        return;
    }
    std::erase_if(gone_, [&](const PeerSlot &one) {
        return one.get() == peer;
    });
}

ucs_status_t Engine::connect(const wire::RailTable &address, Peer *&peer)
{
    auto it = peers_.find(address.uuid);
    if (it != peers_.end() && it->second->failed()) {
        retire(it->second);
        peers_.erase(it);
        it = peers_.end();
    }
    peer = it != peers_.end() ? it->second.get() : nullptr;
    if (peer != nullptr && peer->connected()) {
        return UCS_OK;
    }
    bool is_new = peer == nullptr;
    if (is_new) {
        peer = new_peer(address.uuid);
    }
    ucs_status_t status = peer->connect(address);
    if (status != UCS_OK && is_new) {
        std::erase(deferred_, peer);
        peers_.erase(address.uuid);
    } else if (status != UCS_OK) {
        peer->fail(status);
    }
    return status;
}

bool Engine::reaches(const wire::RailTable &address) const
{
    for (const auto &remote : address.rails) {
        if (Rail::route_to(host_.network(), remote, uuid(), address.uuid)
                .astray) {
            continue;
        }
        for (const auto &rail : rails_) {
            if (rail->speaks_with(remote)) {
                return true;
            }
        }
    }
    warn_apart(address);
    return false;
}

/* Once: it is a setting, and then the same with all peers of that node. */
void Engine::warn_apart(const wire::RailTable &address) const
{
    if (said_apart_) {
        return;
    }
    said_apart_ = true;
    std::string here, there;
    for (const auto &traits : all_traits()) {
        std::string tl(traits.tl);
        if (std::any_of(rails_.begin(), rails_.end(), [&](const auto &rail) {
                return &rail->traits() == &traits;
            })) {
            here += (here.empty() ? "" : ",") + tl;
        }
        if (std::any_of(address.rails.begin(), address.rails.end(),
                        [&](const auto &rail) {
                return rail.tl_hash == wire::hash_name(tl.c_str());
            })) {
            there += (there.empty() ? "" : ",") + tl;
        }
    }
    ucs_warn("fuselink: no rail of this process (%s) reaches one of peer "
             "%016lx (%s); see UCX_FUSELINK_RAIL_TLS and UCX_FUSELINK_DEVICES",
             here.c_str(), address.uuid,
             there.empty() ? "none known here" : there.c_str());
}

void Engine::compare(const wire::RailTable &theirs)
{
    if (said_uneven_ || theirs.rails.size() == rails_.size()) {
        return;
    }
    said_uneven_ = true;
    ucs_warn("fuselink: this process has %zu rails and peer %016lx has %zu: "
             "each side uses those that reach one of the other's. fuselink_info "
             "shows which NIC ports of a node are no rails and why; "
             "UCX_FUSELINK_DEVICES names those that are meant", rails_.size(),
             theirs.uuid, theirs.rails.size());
}

ucs_status_t Engine::create_lane(Peer &peer, const LowerIface &iface,
                                 const wire::RailRecord &remote, uct_ep_h &ep)
{
    ucs_status_t status = iface.create_ep(remote.device_address,
                                          remote.iface_address, &ep);
    if (status == UCS_OK) {
        add_lane(peer, ep);
    } else {
        ep = nullptr;
    }
    return status;
}

void Engine::destroy_lane(uct_ep_h ep)
{
    uct_ep_pending_purge(ep, [](uct_pending_req_t *, void *) {}, nullptr);
    lanes_.erase(ep);
    uct_ep_destroy(ep);
}

ucs_status_t Engine::flush()
{
    ucs_status_t result = UCS_OK;
    for (const auto &[uuid, peer] : peers_) {
        if (!peer->failed() && peer->connected()) {
            ucs_status_t status = peer->flush(nullptr, 0, nullptr);
            if (status != UCS_OK) {
                result = UCS_INPROGRESS; /* also when the lane is full */
            }
        }
    }
    return result;
}

void Engine::fence()
{
    for (const auto &[uuid, peer] : peers_) {
        peer->fence(true);
    }
}

/* --- receiving --- */

ucs_status_t Engine::on_user_am(void *arg, void *data, size_t length,
                                unsigned flags)
{
    auto *handler = static_cast<uct_am_handler_t *>(arg);
    return handler->cb(handler->arg, data, length, flags);
}

ucs_status_t Engine::on_wrapped_am(void *arg, void *data, size_t length,
                                   unsigned flags)
{
    Engine &engine = static_cast<Rail *>(arg)->engine();
    wire::UserHeader header;
    if (ucs_unlikely(!wire::parse(data, length, header) ||
                     header.am_id >= UCT_AM_ID_MAX)) {
        ucs_error("fuselink: malformed message on rail %s: dropped",
                  static_cast<Rail *>(arg)->name().c_str());
        return UCS_OK;
    }
    constexpr size_t kHeader = sizeof(header);
    if (flags & UCT_CB_PARAM_FLAG_DESC) {
        /* The user may keep the message and release it later by the hook in
         * front of the headroom that it was promised. Counted from the
         * user's data that is kHeader bytes into the rail's own headroom,
         * so the rail's hook stays intact and ours leads to it. */
        auto **hook = reinterpret_cast<uct_recv_desc_t **>(
            static_cast<char *>(data) + kHeader -
            engine.settings_.rx_headroom - sizeof(void *));
        *hook = &engine.release_user_desc_;
    }
    const uct_am_handler_t &handler = engine.owner_.am[header.am_id];
    return handler.cb(handler.arg, static_cast<char *>(data) + kHeader,
                      length - kHeader, flags);
}

void Engine::release_user_desc(uct_recv_desc_t *, void *desc)
{
    uct_iface_release_desc(static_cast<char *>(desc) -
                           sizeof(wire::UserHeader));
}

ucs_status_t Engine::on_control_am(void *arg, void *data, size_t length,
                                   unsigned)
{
    Engine &engine = static_cast<Rail *>(arg)->engine();
    wire::ControlHeader header;
    if (!wire::parse(data, length, header) ||
        header.version != wire::kProtocolVersion || header.sender == 0) {
        ucs_error("fuselink: malformed control message on rail %s: dropped",
                  static_cast<Rail *>(arg)->name().c_str());
        return UCS_OK;
    }
    if (header.type == static_cast<uint8_t>(wire::ControlType::Hello)) {
        engine.on_hello(header, data, length);
        return UCS_OK;
    }
    Peer *peer = engine.find_session(header.sender, header.session);
    if (peer == nullptr) {
        ucs_debug("fuselink: control message %d of unknown session %u of "
                  "peer %016lx", header.type, header.session, header.sender);
        return UCS_OK;
    }
    peer->on_control(header, data, length);
    return UCS_OK;
}

/* The connection that a peer means, which may have failed here. */
Peer *Engine::find_session(uint64_t uuid, uint32_t session)
{
    auto it = peers_.find(uuid);
    if (it != peers_.end() && it->second->peer_session() == session) {
        return it->second.get();
    }
    for (const auto &peer : gone_) {
        if (peer->uuid() == uuid && peer->peer_session() == session) {
            return peer.get();
        }
    }
    return nullptr;
}

void Engine::on_hello(const wire::ControlHeader &header, const void *data,
                      size_t length)
{
    wire::RailTable table;
    wire::Hello hello;
    auto *bytes = static_cast<const uint8_t *>(data);
    if (!wire::parse(data, length, hello) || header.session == 0 ||
        !wire::unpack_rail_table({bytes + sizeof(hello),
                                  length - sizeof(hello)}, table) ||
        table.uuid != header.sender || table.uuid == table_.uuid) {
        ucs_error("fuselink: malformed hello from %016lx: dropped",
                  header.sender);
        return;
    }
    Peer *known = find_session(table.uuid, header.session);
    if (known != nullptr && known->failed()) {
        return; /* from before the failure, of which the peer is told */
    }
    auto it    = peers_.find(table.uuid);
    Peer *peer = it != peers_.end() ? it->second.get() : nullptr;
    if (peer != nullptr && peer->failed()) {
        retire(it->second);
        peers_.erase(it);
        peer = nullptr;
    }
    if (peer == nullptr) {
        if (hello.receiver != 0) {
            return; /* to a connection that is no more */
        }
        peer = new_peer(table.uuid);
    } else if (known == nullptr && hello.receiver != peer->session()) {
        if (hello.receiver != 0 ||
            (peer->peer_session() != 0 &&
             wire::session_before(header.session, peer->peer_session()))) {
            return; /* late */
        }
        if (peer->peer_session() != 0) {
            /* The peer has lost the connection that we believe to have, and
             * begins anew. */
            peer->fail_as_told(UCS_ERR_CONNECTION_RESET);
            retire(it->second);
            peers_.erase(it);
            peer = new_peer(table.uuid);
        }
    }
    peer->on_hello(hello, table);
}

/* Bytes of a get have come in by the rail. */
void Engine::note_landed(Rail &rail, const Peer &peer, uint64_t length)
{
    rail.traffic.received.add(length);
    loads_.landed(rail, sched::Bytes(length));
    if (ucs_unlikely(trace_ != nullptr)) {
        const int64_t now = this->now().count();
        trace_->begin({.start = now, .end = now, .peer = peer.uuid(),
                       .length = length, .kind = Trace::Kind::Landed,
                       .rail = rail.index()});
    }
}

ucs_status_t Engine::on_chunk_am(void *arg, void *data, size_t length,
                                 unsigned)
{
    Rail   &rail   = *static_cast<Rail *>(arg);
    Engine &engine = rail.engine();
    wire::ChunkLanded chunk;
    if (!wire::parse(data, length, chunk)) {
        return UCS_OK;
    }
    Get *get = engine.gets_.find(chunk.op);
    if (get == nullptr || get->by_message ||
        chunk.length > get->missing()) {
        ucs_debug("fuselink: chunk that nobody asked for");
        return UCS_OK;
    }
    if (!get->peer->on_announced(chunk.rail, rail.index(), chunk.number)) {
        return UCS_OK;
    }
    engine.note_landed(rail, *get->peer, chunk.length);
    get->peer->on_landed(*get, chunk.length);
    return UCS_OK;
}

ucs_status_t Engine::on_data_am(void *arg, void *data, size_t length,
                                unsigned)
{
    Rail   &rail   = *static_cast<Rail *>(arg);
    Engine &engine = rail.engine();
    wire::DataPart part;
    if (!wire::parse(data, length, part)) {
        return UCS_OK;
    }
    if (part.rail >= wire::kMaxRails ||
        part.remote >= engine.rails_.size()) {
        ucs_debug("fuselink: bulk data of %016lx on a path that there is not",
                  part.sender);
        return UCS_OK;
    }
    Peer *peer = engine.find_session(part.sender, part.session);
    if (peer != nullptr && !peer->failed()) {
        auto        *bytes = static_cast<char *>(data) + sizeof(part);
        size_t       size  = length - sizeof(part);
        const bool   full  = (part.place & wire::kPartInSlot) != 0;
        wire::InSlot in_slot{};
        if (full) {
            if (!wire::parse(bytes, size, in_slot)) {
                return UCS_OK;
            }
            /* A length that no slot has is refused below, and counts as
             * nothing. */
            size = engine.has_hop() &&
                           in_slot.length <= engine.slots_in().size() ?
                       in_slot.length : 0;
        }
        if (part.kind == static_cast<uint8_t>(wire::DataKind::Get)) {
            engine.note_landed(rail, *peer, size);
        }
        if (full) {
            peer->on_slot_full(part, in_slot);
        } else {
            peer->on_data_part(part, bytes, size);
        }
    }
    return UCS_OK;
}

/* --- failures --- */

ucs_status_t Engine::on_rail_error(void *arg, uct_ep_h ep, ucs_status_t status)
{
    Engine &engine = static_cast<Rail *>(arg)->engine();
    auto it        = engine.lanes_.find(ep);
    if (it != engine.lanes_.end()) {
        it->second->on_lane_error(ep, status);
    }
    /* Handled: what the user hears of it comes from Peer::tell_users(). */
    return UCS_OK;
}

void Engine::defer(Peer &peer)
{
    if (std::find(deferred_.begin(), deferred_.end(), &peer) ==
        deferred_.end()) {
        deferred_.push_back(&peer);
    }
}

unsigned Engine::run_deferred()
{
    /* Users hear of failures in here and may connect anew. */
    std::vector<Peer *> peers;
    peers.swap(deferred_);
    unsigned done = 0;
    for (Peer *peer : peers) {
        peer->run_deferred();
        if (peer->closed()) {
            bury(peer);
            ++done;
        } else if (std::find(deferred_.begin(), deferred_.end(), peer) ==
                   deferred_.end()) {
            ++done; /* the others wait for something */
        }
    }
    return done;
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "am_dispatch.h"

namespace fuselink {

AmDispatch::AmDispatch(const Host &host, uct_base_iface_t &owner,
                       size_t rx_headroom, const Rails &rails,
                       PeerTable &peers, GetTable &gets, LoadView &loads,
                       UserCalls &calls, Turns &turns,
                       const Watching &watching)
    : host_(host), owner_(owner), rx_headroom_(rx_headroom), rails_(rails),
      peers_(peers), gets_(gets), loads_(loads), calls_(calls),
      watching_(watching)
{
    release_desc_[0] = {{.cb = release_desc<wire::UserHeader>}, &turns};
    release_desc_[1] = {{.cb = release_desc<wire::UserMessage>}, &turns};
}

ucs_status_t AmDispatch::receive(Rail &rail)
{
    static constexpr struct {
        wire::RailAm      id;
        uct_am_callback_t cb;
    } kHandlers[] = {
        {wire::RailAm::User, on_user},
        {wire::RailAm::Control, on_control},
        {wire::RailAm::Chunk, on_chunk},
        {wire::RailAm::Data, on_data},
    };
    Port &port = ports_.emplace_back(Port{this, &rail});
    for (const UctIface *iface : {&rail.control(), &rail.hello()}) {
        ucs_status_t status = UCS_OK;
        for (uint8_t id = 0; id < UCT_AM_ID_MAX && status == UCS_OK; ++id) {
            status = uct_iface_set_am_handler(iface->handle(), id, on_unknown,
                                              &port, 0);
        }
        for (const auto &handler : kHandlers) {
            if (status == UCS_OK) {
                status = uct_iface_set_am_handler(
                    iface->handle(), static_cast<uint8_t>(handler.id),
                    handler.cb, &port, 0);
            }
        }
        if (status != UCS_OK) {
            return status;
        }
    }
    return UCS_OK;
}

ucs_status_t AmDispatch::on_unknown(void *arg, void *, size_t, unsigned)
{
    ucs_error("fuselink: message of a kind that there is not on rail %s: dropped",
              static_cast<Port *>(arg)->rail->name().c_str());
    return UCS_OK;
}

ucs_status_t AmDispatch::on_user(void *arg, void *data, size_t length,
                                 unsigned flags)
{
    auto &[dispatch, rail] = *static_cast<Port *>(arg);
    wire::UserHeader header;
    if (ucs_unlikely(!wire::parse(data, length, header))) {
        ucs_error("fuselink: malformed message on rail %s: dropped",
                  rail->name().c_str());
        return UCS_OK;
    }
    const uint8_t marks  = header.am_id & wire::kMarks;
    const bool    beside = (header.am_id & wire::kBeside) != 0;
    header.am_id &= wire::kAmId;
    Peer *peer = dispatch->peers_.find_token(header.token);
    if (ucs_unlikely(peer == nullptr)) {
        return UCS_OK;
    }
    if (ucs_unlikely(marks != peer->marks())) {
        peer->note_marks(marks);
    }
    if (ucs_unlikely(beside)) {
        header.seen = peer->acknowledged();
        peer->note_beside();
    }
    peer->note_message();
    if (ucs_unlikely(!peer->take(header, wire::RailAm::User, data, length))) {
        return UCS_OK;
    }
    ucs_status_t status = dispatch->deliver<wire::UserHeader>(header.am_id, data,
                                                              length, flags);
    if (ucs_unlikely(peer->holds_next())) {
        dispatch->deliver_held(*peer);
    }
    return status;
}

/* Of a peer that has not been told its token. */
ucs_status_t AmDispatch::on_user_message(Peer &peer, void *data, size_t length,
                                         unsigned flags)
{
    wire::UserMessage message;
    if (!wire::parse(data, length, message) ||
        message.am_id >= UCT_AM_ID_MAX) {
        ucs_error("fuselink: malformed message of peer %016lx: dropped",
                  peer.uuid());
        return UCS_OK;
    }
    if (!peer.take(message.header, wire::RailAm::Control, data, length)) {
        return UCS_OK;
    }
    return deliver<wire::UserMessage>(message.am_id, data, length, flags);
}

/* Those whose turn it is, behind one that has just been handled. What was held was
 * well-formed. */
void AmDispatch::deliver_held(Peer &peer)
{
    while (peer.holds_next()) {
        const HeldMessages::Taken taken = peer.take_held();
        const auto &[data, length, am_id] = taken.message;
        wire::UserHeader    user;
        wire::UserMessage   message;
        wire::ControlHeader control;
        if (am_id == static_cast<uint8_t>(wire::RailAm::User)) {
            if (wire::parse(data, length, user)) {
                deliver<wire::UserHeader>(user.am_id & wire::kAmId, data, length, 0);
            }
        } else if (wire::parse(data, length, control)) {
            if (control.type != static_cast<uint8_t>(wire::ControlType::User)) {
                peer.on_held(control, data, length);
            } else if (wire::parse(data, length, message)) {
                deliver<wire::UserMessage>(message.am_id, data, length, 0);
            }
        }
        peer.free_held(taken);
    }
}

/* What is behind a Header goes to the user. The user may set handlers at any time:
 * they are looked up per message. */
template <typename Header>
ucs_status_t AmDispatch::deliver(uint8_t am_id, void *data, size_t length,
                                 unsigned flags)
{
    constexpr size_t kHeader = sizeof(Header);
    if (ucs_unlikely(calls_.held().holding())) {
        calls_.held().message(owner_, am_id, static_cast<char *>(data) + kHeader,
                              length - kHeader);
        return UCS_OK;
    }
    if (flags & UCT_CB_PARAM_FLAG_DESC) {
        /* The user may keep the message and release it later by the hook in
         * front of the headroom that it was promised. Counted from the
         * user's data that is kHeader bytes into the rail's own headroom,
         * so the rail's hook stays intact and ours leads to it. */
        auto **hook = reinterpret_cast<uct_recv_desc_t **>(
            static_cast<char *>(data) + kHeader - rx_headroom_ -
            sizeof(void *));
        *hook = &release_desc_[kHeader != sizeof(wire::UserHeader)].desc;
    }
    const uct_am_handler_t &handler = owner_.am[am_id];
    return handler.cb(handler.arg, static_cast<char *>(data) + kHeader,
                      length - kHeader, flags);
}

template <typename Header>
void AmDispatch::release_desc(uct_recv_desc_t *self, void *desc)
{
    const Turns::Own turn(*reinterpret_cast<Release *>(self)->turns);
    uct_iface_release_desc(static_cast<char *>(desc) - sizeof(Header));
}

ucs_status_t AmDispatch::on_control(void *arg, void *data, size_t length,
                                    unsigned flags)
{
    auto &[dispatch, rail] = *static_cast<Port *>(arg);
    wire::ControlHeader header;
    if (!wire::parse(data, length, header) ||
        header.version != wire::kProtocolVersion || header.sender == 0) {
        ucs_error("fuselink: malformed control message on rail %s: dropped",
                  rail->name().c_str());
        return UCS_OK;
    }
    if (header.type == static_cast<uint8_t>(wire::ControlType::Hello)) {
        dispatch->peers_.on_hello(header, data, length);
        return UCS_OK;
    }
    Peer *peer = dispatch->peers_.find_session(header.sender, header.session);
    if (header.type == static_cast<uint8_t>(wire::ControlType::Goodbye)) {
        dispatch->peers_.on_goodbye(peer, header, data, length);
    }
    if (peer == nullptr) {
        ucs_debug("fuselink: control message %d of unknown session %u of "
                  "peer %016lx", header.type, header.session, header.sender);
        dispatch->peers_.on_stray(header);
        return UCS_OK;
    }
    ucs_status_t status = UCS_OK;
    if (header.type == static_cast<uint8_t>(wire::ControlType::User)) {
        status = dispatch->on_user_message(*peer, data, length, flags);
    } else {
        peer->on_control(header, data, length);
    }
    if (ucs_unlikely(peer->holds_next())) {
        dispatch->deliver_held(*peer);
    }
    return status;
}

/* Bytes of a get have come in by the rail. */
void AmDispatch::note_landed(Rail &rail, uint64_t peer, uint64_t length)
{
    rail.traffic.received.add(length);
    loads_.landed(rail, sched::Bytes(length));
    Trace *trace = watching_.trace();
    if (ucs_unlikely(trace != nullptr)) {
        const int64_t now = host_.now().count();
        trace->begin({.start = now, .end = now, .peer = peer,
                       .length = length, .kind = Trace::Kind::Landed,
                       .rail = rail.index()});
    }
}

ucs_status_t AmDispatch::on_chunk(void *arg, void *data, size_t length,
                                  unsigned)
{
    auto &[dispatch, rail] = *static_cast<Port *>(arg);
    wire::ChunkLanded chunk;
    if (!wire::parse(data, length, chunk) || chunk.length == 0) {
        return UCS_OK; /* a probe of the wire has no length */
    }
    Get *get = dispatch->gets_.find(chunk.op);
    if (get == nullptr || get->by_message ||
        chunk.length > get->missing()) {
        ucs_debug("fuselink: chunk that nobody asked for");
        return UCS_OK;
    }
    if (!get->owner->on_announced(chunk.rail, rail->index(), chunk.number)) {
        return UCS_OK;
    }
    dispatch->note_landed(*rail, get->owner->uuid(), chunk.length);
    get->owner->on_landed(*get, chunk.length);
    return UCS_OK;
}

ucs_status_t AmDispatch::on_data(void *arg, void *data, size_t length,
                                 unsigned)
{
    auto &[dispatch, rail] = *static_cast<Port *>(arg);
    wire::DataPart part;
    if (!wire::parse(data, length, part)) {
        return UCS_OK;
    }
    if (part.rail >= wire::kMaxRails ||
        part.remote >= dispatch->rails_.list().size()) {
        ucs_debug("fuselink: bulk data of %016lx on a path that there is not",
                  part.sender);
        return UCS_OK;
    }
    Peer *peer = dispatch->peers_.find_session(part.sender, part.session);
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
            size = in_slot.length <= peer->slot_size(in_slot.pool) ? in_slot.length : 0;
        }
        if (part.kind == static_cast<uint8_t>(wire::DataKind::Get)) {
            dispatch->note_landed(*rail, peer->uuid(), size);
        }
        if (full) {
            peer->on_slot_full(part, in_slot);
        } else {
            peer->on_data_part(part, bytes, size);
        }
    }
    return UCS_OK;
}

} // namespace fuselink

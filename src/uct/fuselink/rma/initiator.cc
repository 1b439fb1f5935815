/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "initiator.h"

#include <cstring>

namespace fuselink {
namespace {

using wire::ControlType;

wire::PutData put_header(uint64_t remote, RemoteKey &key)
{
    wire::PutData header{};
    header.header.type    = static_cast<uint8_t>(ControlType::PutData);
    header.remote         = remote;
    header.region_id      = key.region.id;
    header.region_key     = key.region.key;
    header.header.flags   = key.revocable ? wire::kPutRevocable : 0;
    return header;
}

struct CopyFrom {
    const void *data;
    size_t      length;
};

size_t copy_from(void *dest, void *arg)
{
    auto *from = static_cast<CopyFrom *>(arg);
    memcpy(dest, from->data, from->length);
    return from->length;
}

size_t total_length(const uct_iov_t *iov, size_t iovcnt)
{
    size_t total = 0;
    for (size_t i = 0; i < iovcnt; ++i) {
        total += iov[i].length * iov[i].count;
    }
    return total;
}

size_t pack_get(void *dest, void *arg)
{
    memcpy(dest, arg, sizeof(wire::GetReq));
    return sizeof(wire::GetReq);
}

} // namespace

/* A small put as a message: `pack` or `buffer` gives the bytes. */
struct RmaInitiator::PutMessage {
    wire::PutData       header;
    uct_pack_callback_t pack;
    void               *arg;
    const void         *buffer;
    size_t              length;
};

/* Leaves in `message.length` what was sent, at most `most`. */
void RmaInitiator::put_message(PutMessage &message, size_t most)
{
    if (order_.behind_full_fence()) {
        message.header.header.flags |= wire::kPutBehind;
    }
    auto pack = [](void *dest, void *arg) {
        auto *p   = static_cast<PutMessage *>(arg);
        auto *out = static_cast<char *>(dest) + sizeof(p->header);
        memcpy(dest, &p->header, sizeof(p->header));
        if (p->pack != nullptr) {
            p->length = p->pack(out, p->arg);
        } else if (p->length != 0) { /* buffer may be null else */
            memcpy(out, p->buffer, p->length);
        }
        return sizeof(p->header) + p->length;
    };
    channel_.am_control(pack, &message, sizeof(message.header) + most);
    order_.put_sent();
    order_.op_begun();
}

/* The key for small puts and gets by the NIC of the lane;
 * UCT_INVALID_RKEY if they have to go as messages (for now): so that they come behind
 * other messages in front of a fence, for which a NIC does not wait. */
uct_rkey_t RmaInitiator::lane_rkey(RemoteKey &key)
{
    const Rail &rail = *channel_.rail();
    if (!rail.reads() || channel_.ep() == nullptr || key.on_gpu || key.revocable ||
        key.region.key == 0 || channel_.for_hellos()) {
        return UCT_INVALID_RKEY;
    }
    uint8_t slot = bulk_.memory_slot(channel_.remote());
    if (slot >= wire::kMaxRails) {
        return UCT_INVALID_RKEY;
    }
    if (!key.nics) {
        key.nics = std::make_shared<NicKeys>();
    }
    if (key.nics->state(slot) == NicKeys::State::Unknown) {
        keys_.request(key.region, key.nics);
    }
    if (order_.behind_fence()) {
        return UCT_INVALID_RKEY;
    }
    return key.nics->get(slot, rail.control().md());
}

/* What a get of the lane's own NIC returned, or a put. For fences a get is one of the
 * operations that are counted. */
ucs_status_t RmaInitiator::lane_status(ucs_status_t status)
{
    if (status == UCS_OK || status == UCS_INPROGRESS) {
        channel_.note_rma();
        order_.op_begun();
        return status;
    }
    return channel_.outcome(status);
}

/* A put of its own has gone. Of `data` null, the bytes are where they are kept. */
void RmaInitiator::lane_put_begun(const wire::PutData &header, const void *data,
                                  size_t length)
{
    const uint64_t number = order_.lane_put_sent();
    if (channel_.rail()->by_ep()) {
        if (data != nullptr) {
            channel_.keep_put(number, header, data, length);
        } else {
            channel_.keep_reserved_put(number, header, length);
        }
        order_.lane_put_kept();
    }
    lane_status(UCS_OK);
}

/* A put of the lane's own NIC, copied; returns as UCT's. */
ssize_t RmaInitiator::lane_put_bcopy(uct_pack_callback_t pack, void *arg,
                                     const wire::PutData &header, uct_rkey_t rkey)
{
    struct Pack {
        uct_pack_callback_t pack;
        void               *arg;
        char               *kept;
    };
    /* From what the NIC gets: the user packs once. */
    auto pack_both = [](void *dest, void *arg) {
        auto        *both   = static_cast<Pack *>(arg);
        const size_t length = both->pack(dest, both->arg);
        memcpy(both->kept, dest, length);
        return length;
    };
    const auto &cap  = channel_.rail()->control().attr().cap.put;
    Pack        both{pack, arg, channel_.reserve_put(cap.max_bcopy)};
    ssize_t     sent = order_.before_lane_put();
    if (sent == UCS_OK) {
        sent = uct_ep_put_bcopy(channel_.ep(), pack_both, &both, header.remote,
                                rkey);
    }
    if (sent < 0) {
        return lane_status(static_cast<ucs_status_t>(sent));
    }
    lane_put_begun(header, nullptr, static_cast<size_t>(sent));
    return sent;
}

/* A short get by the NIC of the control lane; UCS_ERR_UNSUPPORTED if it has
 * no access to the memory at either end (yet). */
ucs_status_t RmaInitiator::lane_get(PeerUser &user, void *buffer, size_t length,
                            uint64_t remote, Region *region, RemoteKey &key,
                            uct_completion_t *comp)
{
    uct_rkey_t rkey = lane_rkey(key);
    if (rkey == UCT_INVALID_RKEY) {
        return UCS_ERR_UNSUPPORTED;
    }
    const auto &cap = channel_.rail()->control().attr().cap.get;
    uct_mem_h  memh = region == nullptr || length < cap.min_zcopy ?
                          nullptr :
                          nics_.handle(*region, channel_.rail()->memory());
    bool       copy = memh == nullptr && length <= cap.max_bcopy;
    if (!copy && (memh == nullptr || length > cap.max_zcopy)) {
        return UCS_ERR_UNSUPPORTED;
    }
    LaneOp &op = ops_.begin({buffer, nullptr, length, remote, key.region});
    ucs_status_t status;
    if (copy) {
        status = uct_ep_get_bcopy(channel_.ep(), copy_in, buffer, length,
                                  remote, rkey, &op.comp);
    } else {
        uct_iov_t iov{buffer, length, memh, 0, 1};
        status = uct_ep_get_zcopy(channel_.ep(), &iov, 1, remote, rkey,
                                  &op.comp);
    }
    ops_.settle(op, status, user, comp);
    return lane_status(status);
}

ucs_status_t RmaInitiator::put_short(const void *buffer, unsigned length,
                             uint64_t remote, RemoteKey &key)
{
    ucs_status_t status = pending_.admission();
    if (status != UCS_OK) {
        return status;
    }
    if (length == 0) {
        return UCS_OK; /* perhaps without a key */
    }
    uct_rkey_t rkey = lane_rkey(key);
    const auto &lane = channel_.rail()->control().attr().cap.put;
    if (rkey != UCT_INVALID_RKEY && length <= lane.max_short) {
        status = order_.before_lane_put();
        if (status == UCS_OK) {
            status = uct_ep_put_short(channel_.ep(), buffer, length, remote,
                                      rkey);
        }
        if (status != UCS_OK) {
            return lane_status(status);
        }
        lane_put_begun(put_header(remote, key), buffer, length);
        return UCS_OK;
    }
    if (rkey != UCT_INVALID_RKEY && length <= lane.max_bcopy) {
        CopyFrom from{buffer, length};
        ssize_t  sent = lane_put_bcopy(copy_from, &from,
                                       put_header(remote, key), rkey);
        return sent < 0 ? static_cast<ucs_status_t>(sent) : UCS_OK;
    }
    PutMessage message{put_header(remote, key), nullptr, nullptr, buffer,
                       length};
    put_message(message, length);
    return UCS_OK;
}

ssize_t RmaInitiator::put_bcopy(uct_pack_callback_t cb, void *arg, uint64_t remote,
                        RemoteKey &key)
{
    ucs_status_t status = pending_.admission();
    if (status != UCS_OK) {
        return status;
    }
    uct_rkey_t rkey = lane_rkey(key);
    if (rkey != UCT_INVALID_RKEY &&
        rails_.max_put_bcopy() <=
            channel_.rail()->control().attr().cap.put.max_bcopy) {
        return lane_put_bcopy(cb, arg, put_header(remote, key), rkey);
    }
    PutMessage message{put_header(remote, key), cb, arg, nullptr, 0};
    put_message(message, rails_.max_put_bcopy());
    return static_cast<ssize_t>(message.length);
}

ucs_status_t RmaInitiator::put_zcopy(PeerUser &user, const uct_iov_t *iov,
                             size_t iovcnt, uint64_t remote,
                             RemoteKey &key, uct_completion_t *comp)
{
    ucs_status_t status = pending_.admission();
    if (status != UCS_OK) {
        return status;
    }
    size_t length = total_length(iov, iovcnt);
    if (length == 0) {
        return UCS_OK;
    }
    status = bulk_.put(user, iov[0].buffer, length, remote,
                       static_cast<Region *>(iov[0].memh), key, comp);
    order_.op_begun();
    return status;
}

/* Where a GPU is at one end, or the key may end, the peer's NICs may write the answer, if
 * ours reach the memory. Otherwise ours would have read it, if there are NICs that do. */
void RmaInitiator::name_region(wire::GetReq &request, Get &get, const Region *region,
                       bool from_gpu) const
{
    if ((from_gpu || get.unconfirmed || (request.header.flags & wire::kGetToGpu)) &&
        nics_.count() != 0 &&
        region != nullptr && region->for_nics()) {
        request.local_id  = region->key.id;
        request.local_key = region->key.key;
        get.named         = true;
    }
}

ucs_status_t RmaInitiator::request_get(PeerUser &user, Get &get,
                               const wire::OpId &op, const Region *region,
                               uint64_t remote, RemoteKey &key)
{
    wire::GetReq request{};
    request.header.type    = static_cast<uint8_t>(ControlType::GetReq);
    request.header.flags   = get.by_message ? wire::kGetInline :
                             get.to_gpu     ? wire::kGetToGpu : 0;
    if (order_.behind_full_fence()) {
        request.header.flags |= wire::kGetBehind;
    }
    get.unconfirmed        = key.revocable && !get.by_message;
    if (get.unconfirmed) {
        request.header.flags |= wire::kGetConfirm;
    }
    request.op             = op;
    request.remote         = remote;
    request.local          = reinterpret_cast<uintptr_t>(get.buffer);
    request.length         = get.length;
    request.region_id      = key.region.id;
    request.region_key     = key.region.key;
    name_region(request, get, region, key.on_gpu);
    get.epoch = order_.begin_op();
    get.user  = &user;
    ++user.open;
    channel_.am_control(pack_get, &request, sizeof(request));
    order_.op_begun();
    return UCS_INPROGRESS;
}

ucs_status_t RmaInitiator::get_bcopy(PeerUser &user, uct_unpack_callback_t unpack,
                             void *arg, size_t length, uint64_t remote,
                             RemoteKey &key, uct_completion_t *comp)
{
    ucs_status_t status = pending_.admission();
    if (status != UCS_OK) {
        return status;
    }
    if (length == 0) {
        unpack(arg, nullptr, 0);
        return UCS_OK;
    }
    uct_rkey_t rkey = lane_rkey(key);
    if (rkey != UCT_INVALID_RKEY &&
        length <= channel_.rail()->control().attr().cap.get.max_bcopy) {
        LaneOp &op = ops_.begin({arg, unpack, length, remote, key.region});
        status     = uct_ep_get_bcopy(channel_.ep(), LaneOps::unpack, &op, length,
                                      remote, rkey, &op.comp);
        ops_.settle(op, status, user, comp);
        return lane_status(status);
    }
    wire::OpId op;
    Get &get       = gets_.begin(op);
    get.comp       = comp;
    get.unpack     = unpack;
    get.unpack_arg = arg;
    get.length     = length;
    get.by_message = true;
    return request_get(user, get, op, nullptr, remote, key);
}

ucs_status_t RmaInitiator::get_zcopy(PeerUser &user, const uct_iov_t *iov,
                             size_t iovcnt, uint64_t remote,
                             RemoteKey &key, uct_completion_t *comp)
{
    ucs_status_t status = pending_.admission();
    if (status != UCS_OK) {
        return status;
    }
    size_t length = total_length(iov, iovcnt);
    if (length == 0) {
        return UCS_OK;
    }
    auto *region = static_cast<Region *>(iov[0].memh);
    bool to_gpu  = region != nullptr && region->on_gpu();
    if (to_gpu || key.on_gpu || key.revocable) {
        /* Its owner sends it. */
    } else if (length <= inline_get_) {
        status = lane_get(user, iov[0].buffer, length, remote, region, key, comp);
        if (status != UCS_ERR_UNSUPPORTED) {
            return status;
        }
    } else if (bulk_.reads()) {
        status = bulk_.get(user, iov[0].buffer, length, remote, region, key,
                           comp);
        order_.op_begun();
        return status;
    }
    wire::OpId op;
    Get &get       = gets_.begin(op);
    get.comp       = comp;
    get.buffer     = static_cast<char *>(iov[0].buffer);
    get.length     = length;
    get.by_message = length <= inline_get_;
    get.to_gpu     = to_gpu;
    return request_get(user, get, op, region, remote, key);
}

void RmaInitiator::ask_again()
{
    LaneOp op;
    while (ops_.take_lost(op)) {
        wire::OpId id;
        Get &get       = gets_.begin(id);
        get.user       = op.user;
        get.comp       = op.user_comp;
        get.unpack     = op.get.unpack;
        get.unpack_arg = op.get.unpack != nullptr ? op.get.buffer : nullptr;
        get.buffer     = static_cast<char *>(op.get.buffer);
        get.length     = op.get.length;
        get.by_message = true;
        get.epoch      = op.epoch;
        if (op.user == nullptr || op.user->cancelling) {
            gets_.end(get, UCS_ERR_CANCELED); /* nobody wants it any more */
            continue;
        }
        wire::GetReq request{};
        request.header.type  = static_cast<uint8_t>(ControlType::GetReq);
        request.header.flags = wire::kGetInline;
        request.op           = id;
        request.remote       = op.get.remote;
        request.local        = reinterpret_cast<uintptr_t>(op.get.buffer);
        request.length       = op.get.length;
        request.region_id    = op.get.region.id;
        request.region_key   = op.get.region.key;
        conn_.send_control(&request, sizeof(request));
    }
}

void RmaInitiator::ask_for(const Transfer &transfer)
{
    wire::OpId op;
    Get &get   = gets_.begin(op);
    get.user   = transfer.user;
    get.comp   = transfer.comp;
    get.buffer = const_cast<char *>(transfer.buffer);
    get.length = transfer.length;
    get.epoch  = transfer.epoch;
    get.to_gpu = transfer.from_gpu;

    wire::GetReq request{};
    request.header.type  = static_cast<uint8_t>(ControlType::GetReq);
    request.header.flags = get.to_gpu ? wire::kGetToGpu : 0;
    request.op          = op;
    request.remote      = transfer.remote;
    request.local       = reinterpret_cast<uintptr_t>(transfer.buffer);
    request.length      = transfer.length;
    request.region_id   = transfer.remote_region.id;
    request.region_key  = transfer.remote_region.key;
    name_region(request, get, transfer.region, false);
    conn_.send_control(&request, sizeof(request));
}

} // namespace fuselink

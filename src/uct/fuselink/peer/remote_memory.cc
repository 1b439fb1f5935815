/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: puts and gets of this process. */

#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>

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
struct Peer::PutMessage {
    wire::PutData       header;
    uct_pack_callback_t pack;
    void               *arg;
    const void         *buffer;
    size_t              length;
};

/* Leaves in `message.length` what was sent. */
ucs_status_t Peer::put_message(PutMessage &message)
{
    stamp(&message.header);
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
    ssize_t sent = uct_ep_am_bcopy(
        control_, static_cast<uint8_t>(wire::RailAm::Control), pack, &message,
        0);
    if (sent < 0) {
        return rail_status(static_cast<ucs_status_t>(sent));
    }
    put_last_ = ++put_sn_;
    repeat_fence();
    return UCS_OK;
}

/* --- asking --- */

/* What a get of the control lane's own returned. For fences it is one of the
 * operations that are counted. */
ucs_status_t Peer::lane_get_status(ucs_status_t status)
{
    if (status == UCS_OK || status == UCS_INPROGRESS) {
        unflushed_ = true;
        repeat_fence();
        return status;
    }
    return rail_status(status);
}

/* What a put of its own returned. */
ucs_status_t Peer::lane_put_status(ucs_status_t status)
{
    lane_puts_ = lane_puts_ || status == UCS_OK;
    return lane_get_status(status);
}

/* A put of the control lane's own, copied; returns as UCT's. */
ssize_t Peer::lane_put_bcopy(uct_pack_callback_t pack, void *arg,
                             uint64_t remote, uct_rkey_t rkey)
{
    ssize_t sent = fence_lane_put();
    if (sent == UCS_OK) {
        sent = uct_ep_put_bcopy(control_, pack, arg, remote, rkey);
    }
    if (sent < 0) {
        return lane_put_status(static_cast<ucs_status_t>(sent));
    }
    lane_put_status(UCS_OK);
    return sent;
}

/* A short get by the NIC of the control lane; UCS_ERR_UNSUPPORTED if it has
 * no access to the memory at either end (yet). */
ucs_status_t Peer::lane_get(PeerUser &user, void *buffer, size_t length,
                            uint64_t remote, Region *region, RemoteKey &key,
                            uct_completion_t *comp)
{
    uct_rkey_t rkey = lane_rkey(key);
    if (rkey == UCT_INVALID_RKEY) {
        return UCS_ERR_UNSUPPORTED;
    }
    const auto &cap = rail_->control().attr().cap.get;
    uct_mem_h  memh = region == nullptr || length < cap.min_zcopy ?
                          nullptr :
                          engine_.nics().handle(*region, rail_->memory());
    bool       copy = memh == nullptr && length <= cap.max_bcopy;
    if (!copy && (memh == nullptr || length > cap.max_zcopy)) {
        return UCS_ERR_UNSUPPORTED;
    }
    SendOp &op = begin_lane_op(true);
    ucs_status_t status;
    if (copy) {
        status = uct_ep_get_bcopy(control_, copy_in, buffer, length, remote,
                                  rkey, &op.comp);
    } else {
        uct_iov_t iov{buffer, length, memh, 0, 1};
        status = uct_ep_get_zcopy(control_, &iov, 1, remote, rkey, &op.comp);
    }
    settle_lane_op(op, status, user, comp);
    return lane_get_status(status);
}

ucs_status_t Peer::put_short(const void *buffer, unsigned length,
                             uint64_t remote, RemoteKey &key)
{
    ucs_status_t status = obstacle_status();
    if (status != UCS_OK) {
        return status;
    }
    if (length == 0) {
        return UCS_OK; /* perhaps without a key */
    }
    uct_rkey_t rkey = lane_rkey(key);
    const auto &lane = rail_->control().attr().cap.put;
    if (rkey != UCT_INVALID_RKEY && length <= lane.max_short) {
        status = fence_lane_put();
        if (status == UCS_OK) {
            status = uct_ep_put_short(control_, buffer, length, remote, rkey);
        }
        return lane_put_status(status);
    }
    if (rkey != UCT_INVALID_RKEY && length <= lane.max_bcopy) {
        CopyFrom from{buffer, length};
        ssize_t  sent = lane_put_bcopy(copy_from, &from, remote, rkey);
        return sent < 0 ? static_cast<ucs_status_t>(sent) : UCS_OK;
    }
    PutMessage message{put_header(remote, key), nullptr, nullptr, buffer,
                       length};
    return put_message(message);
}

ssize_t Peer::put_bcopy(uct_pack_callback_t cb, void *arg, uint64_t remote,
                        RemoteKey &key)
{
    ucs_status_t status = obstacle_status();
    if (status != UCS_OK) {
        return status;
    }
    uct_rkey_t rkey = lane_rkey(key);
    if (rkey != UCT_INVALID_RKEY && engine_.max_put_bcopy() <=
                                    rail_->control().attr().cap.put.max_bcopy) {
        return lane_put_bcopy(cb, arg, remote, rkey);
    }
    PutMessage message{put_header(remote, key), cb, arg, nullptr, 0};
    status = put_message(message);
    if (status != UCS_OK) {
        return status;
    }
    return static_cast<ssize_t>(message.length);
}

ucs_status_t Peer::put_zcopy(PeerUser &user, const uct_iov_t *iov,
                             size_t iovcnt, uint64_t remote,
                             RemoteKey &key, uct_completion_t *comp)
{
    ucs_status_t status = obstacle_status();
    if (status != UCS_OK) {
        return status;
    }
    size_t length = total_length(iov, iovcnt);
    if (length == 0) {
        return UCS_OK;
    }
    status = bulk_.put(user, iov[0].buffer, length, remote,
                       static_cast<Region *>(iov[0].memh), key, comp);
    repeat_fence();
    return status;
}

/* Where a GPU is at one end, the peer's NICs may write the answer, if ours reach the
 * memory. Otherwise ours would have read it, if there are NICs that do. */
void Peer::name_region(wire::GetReq &request, Get &get, const Region *region,
                       bool from_gpu) const
{
    if ((from_gpu || (request.header.flags & wire::kGetToGpu)) &&
        engine_.nics().count() != 0 &&
        region != nullptr && region->for_nics()) {
        request.local_id  = region->key.id;
        request.local_key = region->key.key;
        get.named         = true;
    }
}

ucs_status_t Peer::request_get(PeerUser &user, Get &get,
                               const wire::OpId &op, const Region *region,
                               uint64_t remote, RemoteKey &key)
{
    wire::GetReq request{};
    request.header.type    = static_cast<uint8_t>(ControlType::GetReq);
    request.header.flags   = get.by_message ? wire::kGetInline :
                             get.to_gpu     ? wire::kGetToGpu : 0;
    request.op             = op;
    request.remote         = remote;
    request.local          = reinterpret_cast<uintptr_t>(get.buffer);
    request.length         = get.length;
    request.region_id      = key.region.id;
    request.region_key     = key.region.key;
    name_region(request, get, region, key.on_gpu);
    stamp(&request);
    /* A lane that fails inside the call ends operations, and their users may
     * begin and end others: count this one first, and look again after. */
    get.epoch    = begin_op();
    get.user     = &user;
    ++user.open;
    ssize_t sent = uct_ep_am_bcopy(
        control_, static_cast<uint8_t>(wire::RailAm::Control), pack_get,
        &request, 0);
    if (sent >= 0) {
        repeat_fence();
        return UCS_INPROGRESS;
    }
    if (engine_.gets().find(op) == &get) {
        get.comp = nullptr; /* the status tells */
        end_get(get, UCS_OK);
    }
    return rail_status(static_cast<ucs_status_t>(sent));
}

ucs_status_t Peer::get_bcopy(PeerUser &user, uct_unpack_callback_t unpack,
                             void *arg, size_t length, uint64_t remote,
                             RemoteKey &key, uct_completion_t *comp)
{
    ucs_status_t status = obstacle_status();
    if (status != UCS_OK) {
        return status;
    }
    if (length == 0) {
        unpack(arg, nullptr, 0);
        return UCS_OK;
    }
    uct_rkey_t rkey = lane_rkey(key);
    if (rkey != UCT_INVALID_RKEY &&
        length <= rail_->control().attr().cap.get.max_bcopy) {
        SendOp &op = begin_lane_op(true);
        status     = uct_ep_get_bcopy(control_, unpack, arg, length, remote,
                                      rkey, &op.comp);
        settle_lane_op(op, status, user, comp);
        return lane_get_status(status);
    }
    wire::OpId op;
    Get &get       = engine_.gets().begin(op);
    get.peer       = this;
    get.comp       = comp;
    get.unpack     = unpack;
    get.unpack_arg = arg;
    get.length     = length;
    get.by_message = true;
    return request_get(user, get, op, nullptr, remote, key);
}

ucs_status_t Peer::get_zcopy(PeerUser &user, const uct_iov_t *iov,
                             size_t iovcnt, uint64_t remote,
                             RemoteKey &key, uct_completion_t *comp)
{
    ucs_status_t status = obstacle_status();
    if (status != UCS_OK) {
        return status;
    }
    size_t length = total_length(iov, iovcnt);
    if (length == 0) {
        return UCS_OK;
    }
    auto *region = static_cast<Region *>(iov[0].memh);
    bool to_gpu  = region != nullptr && region->on_gpu();
    if (to_gpu || key.on_gpu) {
        /* Its owner sends it. */
    } else if (length <= engine_.settings().inline_get) {
        status = lane_get(user, iov[0].buffer, length, remote, region, key, comp);
        if (status != UCS_ERR_UNSUPPORTED) {
            return status;
        }
    } else if (bulk_.reads()) {
        status = bulk_.get(user, iov[0].buffer, length, remote, region, key,
                           comp);
        repeat_fence();
        return status;
    }
    wire::OpId op;
    Get &get       = engine_.gets().begin(op);
    get.peer       = this;
    get.comp       = comp;
    get.buffer     = static_cast<char *>(iov[0].buffer);
    get.length     = length;
    get.by_message = length <= engine_.settings().inline_get;
    get.to_gpu     = to_gpu;
    return request_get(user, get, op, region, remote, key);
}

void Peer::end_get(Get &get, ucs_status_t status)
{
    if (ucs_unlikely(get.arriving != 0)) {
        const wire::OpId id{get.slot, get.generation};
        onto_gpu_.wait(); /* nothing is to be written any more */
        if (engine_.gets().find(id) != &get) {
            return; /* that was the last of it */
        }
    }
    uct_completion_t *comp  = get.comp;
    PeerUser         *user  = get.user;
    Epochs::Id        epoch = get.epoch;
    engine_.gets().end(get);
    user_op_ended(user);
    if (comp != nullptr) {
        uct_invoke_completion(comp, status);
    }
    end_op(epoch);
}

/* --- answers --- */

void Peer::on_get_data(const void *data, size_t length)
{
    wire::GetData reply;
    if (!wire::parse(data, length, reply)) {
        return;
    }
    Get *get    = engine_.gets().find(reply.op);
    size_t size = length - sizeof(reply);
    if (get == nullptr || get->peer != this || !get->by_message ||
        reply.offset != get->landed || size > get->length - get->landed) {
        ucs_debug("fuselink: get data that nobody asked for from %016lx",
                  uuid());
        return;
    }
    const char *payload = static_cast<const char *>(data) + sizeof(reply);
    if (get->unpack == nullptr) {
        if (!take_in(get->buffer + get->landed, get->to_gpu, payload, size)) {
            end_get(*get, UCS_ERR_IO_ERROR);
            return;
        }
    } else if (size != get->length) {
        /* The peer's messages are shorter than ours; unpack wants it whole. */
        get->parts.insert(get->parts.end(), payload, payload + size);
        payload = get->parts.data();
    }
    get->landed += size;
    if (get->landed != get->length) {
        return;
    }
    if (get->unpack != nullptr) {
        get->unpack(get->unpack_arg, payload, get->length);
        get = engine_.gets().find(reply.op); /* the user may cancel it here */
    }
    if (get != nullptr) {
        end_get(*get, UCS_OK);
    }
}

void Peer::on_get_done(const void *data, size_t length)
{
    wire::GetDone done;
    if (!wire::parse(data, length, done)) {
        return;
    }
    Get *get = engine_.gets().find(done.op);
    if (get == nullptr || get->peer != this) {
        return;
    }
    auto status = static_cast<ucs_status_t>(done.status);
    bool sane   = status < 0 && status > UCS_ERR_LAST;
    end_get(*get, sane ? status : UCS_ERR_IO_ERROR);
}

void Peer::on_landed(Get &get, uint64_t length)
{
    ++landings_;
    get.landed += length;
    if (get.landed == get.length) {
        end_get(get, UCS_OK);
    }
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: keys of NICs, and bulk data that comes by messages. */

#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>

namespace fuselink {

using wire::ControlType;

uint32_t Peer::request_keys(const RegionKey &region,
                            const std::shared_ptr<NicKeys> &keys)
{
    wire::KeyReq request{};
    for (const auto &remote : bulk_.table().rails) {
        if (remote.memory < wire::kMaxRails &&
            keys->state(remote.memory) == NicKeys::State::Unknown) {
            keys->set_asked(remote.memory);
            request.slots |= static_cast<uint16_t>(1u << remote.memory);
        }
    }
    if (request.slots == 0) {
        return 0;
    }
    request.header.type = static_cast<uint8_t>(ControlType::KeyReq);
    request.region_id   = region.id;
    request.region_key  = region.key;
    key_token_         += 1 + (key_token_ == UINT32_MAX); /* 0 is none */
    request.token       = key_token_;
    key_requests_[request.token] = keys;
    send_control(&request, sizeof(request));
    return request.token;
}

void Peer::on_key_request(const void *data, size_t length)
{
    wire::KeyReq request;
    if (!wire::parse(data, length, request)) {
        return;
    }
    NicMemory &nics = engine_.nics();
    std::vector<uint8_t> body;
    wire::KeyData reply{};
    auto pack = [&](Region *region) {
        for (unsigned slot = 0; slot < wire::kMaxRails; ++slot) {
            if (!(request.slots & (1u << slot))) {
                continue;
            }
            uint8_t key[UINT8_MAX];
            size_t  size = slot < nics.count() ? nics.key_size(slot) : 0;
            bool    ok   = region != nullptr && size != 0 &&
                           size <= sizeof(key) &&
                           nics.pack(*region, slot, key);
            body.push_back(static_cast<uint8_t>(slot));
            body.push_back(static_cast<uint8_t>(ok ? size : 0));
            body.insert(body.end(), key, key + (ok ? size : 0));
            ++reply.count;
        }
    };
    if (!engine_.regions().with_region(
            {request.region_id, request.region_key},
            [&](Region &region) { pack(&region); })) {
        pack(nullptr);
    }
    reply.header.type = static_cast<uint8_t>(ControlType::KeyData);
    reply.token       = request.token;
    send_control(&reply, sizeof(reply), body.data(), body.size());
}

void Peer::on_key_data(const void *data, size_t length)
{
    wire::KeyData reply;
    if (!wire::parse(data, length, reply)) {
        return;
    }
    auto it = key_requests_.find(reply.token);
    if (it == key_requests_.end()) {
        ucs_debug("fuselink: keys that nobody asked for from %016lx", uuid());
        return;
    }
    std::shared_ptr<NicKeys> keys = std::move(it->second);
    key_requests_.erase(it);

    auto *at  = static_cast<const uint8_t *>(data) + sizeof(reply);
    auto *end = static_cast<const uint8_t *>(data) + length;
    for (uint32_t i = 0; i < reply.count && end - at >= 2; ++i) {
        unsigned slot = at[0];
        size_t   size = at[1];
        at += 2;
        if (slot >= wire::kMaxRails ||
            size > static_cast<size_t>(end - at)) {
            break;
        }
        keys->set(slot, {at, size});
        at += size;
    }
    keys->give_up_asked(); /* what the answer left out does not exist */
    bulk_.pump();
}

void Peer::ask_for(const Transfer &transfer)
{
    wire::OpId op;
    Get &get   = engine_.gets().begin(op);
    get.peer   = this;
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
    send_control(&request, sizeof(request));
}

/* Where bytes of bulk data belong, if the peer may write there. */
bool Peer::find_target(const wire::DataPart &part, size_t length,
                       PartTarget &target)
{
    if (part.kind == static_cast<uint8_t>(wire::DataKind::Put)) {
        RegionKey key{part.region_id, part.key};
        target.to     = reinterpret_cast<char *>(
            static_cast<uintptr_t>(part.target));
        target.on_gpu = region_on_gpu(key);
        return engine_.regions().contains(key, part.target, length);
    }
    memcpy(&target.op, &part.key, sizeof(target.op));
    Get *get = engine_.gets().find(target.op);
    if (get == nullptr || get->peer != this || get->by_message ||
        length > get->missing() || length > get->length ||
        part.target > get->length - length) {
        return false;
    }
    target.to     = get->buffer + part.target;
    target.on_gpu = get->to_gpu;
    target.get    = get;
    return true;
}

/* To memory of the host, which another worker may have deregistered since
 * find_target(): false then. */
bool Peer::copy_to(const PartTarget &target, const wire::DataPart &part,
                   const void *data, size_t length)
{
    if (target.get == nullptr) {
        return engine_.regions().copy_in({part.region_id, part.key},
                                         part.target, data, length);
    }
    memcpy(target.to, data, length);
    return true;
}

void Peer::on_data_part(const wire::DataPart &part, const char *data,
                        size_t length)
{
    ucs_status_t status = UCS_ERR_INVALID_ADDR;
    Arrival  &arrival   = arrivals_[{part.rail, part.remote}];
    uint32_t &open      = arrival.open;
    if (ucs_unlikely(wire::chunk_before(part.chunk, arrival.from))) {
        return; /* it is sent again */
    }
    arrival.from = wire::chunk_mark(arrival.from, part.chunk);
    if (part.place & wire::kPartFirst) {
        open           = part.chunk + 1;
        arrival.of_get = false;
        arrival.length = 0;
    }
    bool whole = open == part.chunk + 1; /* all that came before it is here */
    bool gpu   = false; /* then onto_gpu_ answers */
    PartTarget target;
    if (!whole) {
        status = UCS_ERR_IO_ERROR;
        ucs_debug("fuselink: peer %016lx: part of a chunk without those before",
                  uuid());
    } else if (find_target(part, length, target) &&
               onto_gpu_.goes_on(part, target.get != nullptr ? &target.op :
                                                               nullptr)) {
        status = UCS_OK;
        gpu    = target.on_gpu;
        if (gpu) {
            if (target.get != nullptr) {
                target.get->arriving += length;
            }
            onto_gpu_.part(part, target.to, data, length,
                           target.get != nullptr ? &target.op : nullptr);
        } else if (!copy_to(target, part, data, length)) {
            status = UCS_ERR_INVALID_ADDR;
        } else {
            if (target.get != nullptr) {
                if (!arrival.of_get || arrival.get != target.op) {
                    arrival.length = 0;
                }
                arrival.of_get  = true;
                arrival.get     = target.op;
                arrival.length += length;
                on_landed(*target.get, length);
            }
        }
    }
    if (status != UCS_OK && whole) {
        ucs_error("fuselink: %zu bytes of bulk data of peer %016lx are for "
                  "memory that it may not write: dropped", length, uuid());
    }
    if ((status != UCS_OK && whole) || (part.place & wire::kPartLast)) {
        open = 0;
        if (gpu || onto_gpu_.after(part, status)) {
            return;
        }
        wire::ChunkAck ack{};
        ack.header.type = static_cast<uint8_t>(ControlType::ChunkAck);
        ack.chunk       = part.chunk;
        ack.status      = status;
        ack.rail        = part.rail;
        ack.remote      = part.remote;
        send_control(&ack, sizeof(ack));
    }
}

void Peer::on_chunk_ack(const void *data, size_t length)
{
    wire::ChunkAck ack;
    if (wire::parse(data, length, ack)) {
        bulk_.on_chunk_ack(ack);
    }
}

} // namespace fuselink

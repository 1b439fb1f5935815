/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "message_tx.h"

#include "chunk.h"

#include <algorithm>
#include <cstring>

namespace fuselink {
namespace {

struct PackPart {
    wire::DataPart        header;
    const char           *data;
    size_t                length;
    Transfer             *served = nullptr; /* it is of its memory, at `at` */
    const TransferMemory *memory = nullptr;
    size_t                at     = 0;
};

size_t pack_part(void *dest, void *arg)
{
    auto *part = static_cast<PackPart *>(arg);
    memcpy(dest, &part->header, sizeof(part->header));
    char *to = static_cast<char *>(dest) + sizeof(part->header);
    if (part->served == nullptr) {
        memcpy(to, part->data, part->length);
    } else if (!part->memory->copy_served(*part->served, part->at, to, part->length)) {
        memset(to, 0, part->length); /* which the peer throws away with the rest */
        part->served->status = UCS_ERR_INVALID_ADDR;
    }
    return sizeof(part->header) + part->length;
}

} // namespace

bool MessageTx::send(Path &path)
{
    const UctIface &iface = path.by_messages ? path.rail.hello() :
                                                 path.rail.control();
    const size_t most = iface.attr().cap.am.max_bcopy - sizeof(wire::DataPart);
    while (!path.parts.empty() && path.usable() && !connection_.failed()) {
        Chunk    *chunk    = path.parts.front();
        Transfer &transfer = *chunk->transfer;
        size_t    at       = chunk->offset + chunk->sent;
        PackPart  part{};
        wire::InSlot in_slot{};
        size_t    part_length = std::min(most, chunk->length - chunk->sent);
        if (chunk->in_slot) {
            /* UCT orders nothing on an endpoint without a fence. */
            if (uct_ep_fence(path.ep, 0) != UCS_OK) {
                connection_.fail(UCS_ERR_IO_ERROR);
                return false;
            }
            in_slot.name   = {chunk->loan.slot, chunk->loan.turn};
            in_slot.length = static_cast<uint32_t>(chunk->length);
            in_slot.pool   = chunk->pool;
            part_length    = chunk->length;
            part.data      = reinterpret_cast<const char *>(&in_slot);
            part.length    = sizeof(in_slot);
        } else {
            part.data   = chunk->data() + chunk->sent;
            part.length = part_length;
            if (transfer.kind == Transfer::Kind::ServeGet && chunk->staged == nullptr) {
                part.served = &transfer;
                part.memory = &memory_;
                part.at     = at;
            }
        }
        part.header.sender     = own_;
        part.header.session    = connection_.session();
        part.header.chunk      = chunk->number;
        part.header.place      = static_cast<uint8_t>(
            (chunk->sent == 0 ? wire::kPartFirst : 0) |
            (chunk->sent + part_length == chunk->length ? wire::kPartLast : 0) |
            (chunk->in_slot ? wire::kPartInSlot : 0) |
            (transfer.checks_key() ? wire::kPartRevocable : 0));
        part.header.rail       = path.rail.index();
        part.header.remote     = path.remote.index;
        if (transfer.kind == Transfer::Kind::Put) {
            part.header.kind      = static_cast<uint8_t>(wire::DataKind::Put);
            part.header.target    = transfer.remote + at;
            part.header.key       = transfer.remote_region.key;
            part.header.region_id = transfer.remote_region.id;
        } else {
            part.header.kind   = static_cast<uint8_t>(wire::DataKind::Get);
            part.header.target = at;
            memcpy(&part.header.key, &transfer.op, sizeof(transfer.op));
        }
        ssize_t sent = uct_ep_am_bcopy(path.ep,
                                       static_cast<uint8_t>(wire::RailAm::Data),
                                       pack_part, &part, 0);
        if (sent == UCS_ERR_NO_RESOURCE) {
            room_.block(path);
            return false;
        }
        if (sent < 0) {
            recovery_.post_failed(path, static_cast<ucs_status_t>(sent));
            return false;
        }
        chunk->sent += part_length;
        if (chunk->sent == chunk->length) {
            path.parts.pop_front();
            path.unacked.push(chunk->number, *chunk);
        }
    }
    return path.usable();
}

Chunk *MessageTx::take_acknowledged(const wire::ChunkAck &ack)
{
    Path *path = paths_.find(ack.rail, ack.remote,
                             [](const Path &) { return true; });
    Chunk *chunk = path != nullptr ? path->unacked.acknowledge(ack.chunk) :
                                     nullptr;
    if (chunk == nullptr) {
        ucs_debug("fuselink: peer %016lx acknowledges a chunk that was not "
                  "sent, or was acknowledged before", connection_.uuid());
    }
    return chunk;
}

} // namespace fuselink

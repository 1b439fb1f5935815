/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: the in-band exchange of rail tables, and the dispatch of fuselink's
 * own messages. */

#include "peer.h"

#include "../engine/engine.h"

namespace fuselink {

using wire::ControlType;

void Peer::say_hello(bool want_reply)
{
    std::vector<uint8_t> table;
    wire::pack_rail_table(engine_.table(), table);
    wire::ControlHeader header{};
    header.type  = static_cast<uint8_t>(ControlType::Hello);
    header.flags = want_reply ? wire::kHelloWantReply : 0;
    send_control(&header, sizeof(header), table.data(), table.size());
}

void Peer::on_hello(const wire::RailTable &table, bool want_reply)
{
    bool first   = !table_known_;
    table_known_ = true;
    if (!connected()) {
        if (connect(table) != UCS_OK) { /* says hello */
            return;
        }
    } else if (want_reply && !first) {
        say_hello(false); /* at the first one, ours is on its way already */
    }
    if (!first) {
        return;
    }
    if (bulk_.set_table(table) == 0) {
        ucs_error("fuselink: no rail for bulk data to peer %016lx: none of "
                  "its %zu NIC ports is reached from a port in "
                  "UCX_FUSELINK_DEVICES", uuid_, table.rails.size());
        no_paths_ = true; /* the peer must hear our table first */
        drain_queue();
        return;
    }
    start_lane();
    bulk_.pump();
}

void Peer::on_control(const wire::ControlHeader &header, const void *data,
                      size_t length)
{
    switch (static_cast<ControlType>(header.type)) {
    case ControlType::GetReq:
        return on_get_request(data, length);
    case ControlType::GetData:
        return on_get_data(data, length);
    case ControlType::GetDone:
        return on_get_done(data, length);
    case ControlType::PutData:
        return on_put_data(data, length);
    case ControlType::FlushReq:
        return on_flush(data, length, false);
    case ControlType::FlushAck:
        return on_flush(data, length, true);
    case ControlType::RailAddr: {
        wire::RailAddr message;
        if (wire::parse(data, length, message) &&
            message.length == length - sizeof(message)) {
            auto *bytes = static_cast<const uint8_t *>(data) + sizeof(message);
            std::vector<uint8_t> address(bytes, bytes + message.length);
            if (message.use == static_cast<uint8_t>(wire::LinkUse::Lane)) {
                on_lane_step(message, address);
            } else {
                bulk_.on_rail_address(message, address);
            }
        }
        return;
    }
    case ControlType::KeyReq:
        return on_key_request(data, length);
    case ControlType::KeyData:
        return on_key_data(data, length);
    case ControlType::ChunkAck:
        return on_chunk_ack(data, length);
    case ControlType::Hello:
        break; /* handled by the engine, which may not know the peer yet */
    }
    ucs_debug("fuselink: control message of unknown type %d from %016lx",
              header.type, uuid_);
}

} // namespace fuselink

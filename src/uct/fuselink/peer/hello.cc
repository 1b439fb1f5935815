/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: the in-band exchange of rail tables, and the dispatch of fuselink's
 * own messages. */

#include "peer.h"

#include "../engine/engine.h"

#include <cstring>

namespace fuselink {

using wire::ControlType;

/* Goes ahead of what waited for the lane. */
void Peer::say_hello()
{
    std::vector<uint8_t> message(sizeof(wire::Hello)), table;
    wire::Hello hello{};
    hello.header.type  = static_cast<uint8_t>(ControlType::Hello);
    hello.header.flags = table_known_ ? 0 : wire::kHelloWantReply;
    hello.receiver     = peer_session_;
    hello.from         = ways_[way_].rail->index();
    hello.to           = ways_[way_].remote.index;
    stamp(&hello);
    memcpy(message.data(), &hello, sizeof(hello));
    wire::pack_rail_table(engine_.table(), table);
    message.insert(message.end(), table.begin(), table.end());
    queue_bytes_ += message.size();
    queue_.push_front(std::move(message));
    drain_queue();
}

void Peer::on_hello(const wire::Hello &hello, const wire::RailTable &table)
{
    bool first    = !table_known_;
    table_known_  = true;
    peer_session_ = hello.header.session;
    peer_from_    = hello.from;
    peer_to_      = hello.to;
    if (!connected()) {
        ucs_status_t status = connect(table, true); /* says hello */
        if (status != UCS_OK) {
            fail(status);
            return;
        }
    } else if ((hello.header.flags & wire::kHelloWantReply) && !first) {
        say_hello(); /* at the first one, ours is on its way already */
    }
    learn_ways(hello, table);
    if (!first) {
        return;
    }
    engine_.compare(table);
    if (bulk_.set_table(table) == 0) {
        ucs_error("fuselink: no rail for bulk data to peer %016lx: none of "
                  "its %zu NIC ports is reached from a port in "
                  "UCX_FUSELINK_DEVICES", uuid(), table.rails.size());
        no_paths_ = true; /* the peer must hear our table first */
        drain_queue();
        return;
    }
    if (hello.receiver != session() && bulk_.may_use_messages()) {
        /* The peer may not know this connection yet, and would drop bulk data
         * that overtakes our hello: it waits until the lane has told. */
        hello_fence_due_ = true; /* not from inside the rail's callback */
        defer();
    }
    start_lane();
    bulk_.pump();
}

void Peer::on_control(const wire::ControlHeader &header, const void *data,
                      size_t length)
{
    auto type = static_cast<ControlType>(header.type);
    if (failed() && type != ControlType::Goodbye &&
        type != ControlType::GetDone) {
        return; /* it was told, or will be */
    }
    switch (type) {
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
    case ControlType::GetCancel:
        return on_get_cancel(data, length);
    case ControlType::LoadAsk:
        return on_load_ask(data, length);
    case ControlType::LoadGrant:
        return on_load_grant(data, length);
    case ControlType::SlotAsk:
        return on_slot_ask(data, length);
    case ControlType::SlotGrant:
        return bulk_.on_slot_grant(data, length);
    case ControlType::SlotRecall:
        return bulk_.on_slot_recall(data, length);
    case ControlType::SlotBack:
        return on_slot_back(data, length);
    case ControlType::PathBroken:
        return on_path_broken(data, length);
    case ControlType::PathQuiet:
        return on_path_quiet(data, length);
    case ControlType::Landed:
        return on_landed_word(data, length);
    case ControlType::Goodbye:
        return on_goodbye(header, data, length);
    case ControlType::Hello:
        break; /* handled by the engine, which may not know the peer yet */
    }
    ucs_debug("fuselink: control message of unknown type %d from %016lx",
              header.type, uuid());
}

} // namespace fuselink

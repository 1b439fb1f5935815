/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: what it asks of this process's memory. */

#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>

namespace fuselink {
namespace {

using wire::ControlType;

/* Answers that wait for the lane, bytes, and transfers under way: gets beyond
 * that wait as requests, which take much less memory. */
constexpr size_t kMaxAnswers = 1 << 20;
constexpr size_t kMaxServing = 1024;
/* No program has so many gets open with one peer. */
constexpr size_t kMaxUnserved = 1 << 18;

} // namespace

void Peer::on_get_request(const void *data, size_t length)
{
    wire::GetReq request;
    if (!wire::parse(data, length, request)) {
        ucs_debug("fuselink: short get request from %016lx", uuid());
        return;
    }
    if (unserved_.size() == kMaxUnserved) {
        ucs_error("fuselink: peer %016lx asks for more than %zu gets at once: "
                  "given up", uuid(), kMaxUnserved);
        fail(UCS_ERR_EXCEEDS_LIMIT);
        return;
    }
    unserved_.push_back(request);
    serve_waiting();
}

void Peer::serve_waiting()
{
    if (serving_) {
        return;
    }
    serving_ = true;
    while (!unserved_.empty() && queue_bytes_ < kMaxAnswers &&
           bulk_.serving() < kMaxServing && !failed()) {
        wire::GetReq request = unserved_.front();
        unserved_.pop_front();
        serve(request);
    }
    serving_ = false;
}

void Peer::serve(const wire::GetReq &request)
{
    RegionKey key{request.region_id, request.region_key};
    bool by_message = (request.header.flags & wire::kGetInline) != 0;
    ucs_status_t status = UCS_OK;
    if (request.length == 0 ||
        (by_message && request.length > wire::kMaxInlineGet)) {
        status = UCS_ERR_INVALID_PARAM;
    } else if (!engine_.regions().contains(key, request.remote,
                                           request.length)) {
        status = UCS_ERR_INVALID_ADDR;
    } else if (!by_message && bulk_.ready() && !bulk_.has_paths()) {
        status = UCS_ERR_UNREACHABLE;
    }
    if (status != UCS_OK) {
        ucs_debug("fuselink: get of %lu bytes refused: %s",
                  request.length, ucs_status_string(status));
        refuse_get(request.op, status);
        return;
    }

    auto *source = reinterpret_cast<const char *>(
        static_cast<uintptr_t>(request.remote));
    bool from_gpu = region_on_gpu(key);
    if (!by_message) {
        bulk_.serve_get(source, request.length, request.local, request.op,
                        key, from_gpu,
                        (request.header.flags & wire::kGetToGpu) != 0,
                        {request.local_id, request.local_key});
        return;
    }
    std::vector<char> copy;
    if (from_gpu) {
        copy.resize(request.length);
        status = engine_.hop().out(copy.data(), source, copy.size());
        if (status != UCS_OK) {
            refuse_get(request.op, status);
            return;
        }
        source = copy.data();
    }
    size_t most = engine_.max_message() - sizeof(wire::GetData);
    for (uint64_t offset = 0; offset < request.length;) {
        uint64_t part = std::min<uint64_t>(most, request.length - offset);
        wire::GetData reply{};
        reply.header.type = static_cast<uint8_t>(ControlType::GetData);
        reply.op          = request.op;
        reply.offset      = offset;
        send_control(&reply, sizeof(reply), source + offset, part);
        offset += part;
    }
}

void Peer::refuse_get(const wire::OpId &op, ucs_status_t status)
{
    wire::GetDone done{};
    done.header.type = static_cast<uint8_t>(ControlType::GetDone);
    done.op          = op;
    done.status      = status;
    send_control(&done, sizeof(done));
}

void Peer::on_get_cancel(const void *data, size_t length)
{
    wire::GetCancel message;
    if (!wire::parse(data, length, message)) {
        return;
    }
    auto same = [&](const wire::GetReq &request) {
        return request.op == message.op;
    };
    unserved_.erase(std::remove_if(unserved_.begin(), unserved_.end(), same),
                    unserved_.end());
    if (!bulk_.stop_serving(message.op)) {
        /* All of it has arrived, or nothing will. */
        refuse_get(message.op, UCS_ERR_CANCELED);
    }
}

void Peer::on_put_data(const void *data, size_t length)
{
    wire::PutData put;
    if (!wire::parse(data, length, put)) {
        return;
    }
    size_t size = length - sizeof(put);
    RegionKey key{put.region_id, put.region_key};
    const char *bytes  = static_cast<const char *>(data) + sizeof(put);
    const bool  on_gpu = region_on_gpu(key);
    RegionTable &regions = engine_.regions();
    if (on_gpu ? !regions.contains(key, put.remote, size) :
                 !regions.copy_in(key, put.remote, bytes, size)) {
        ucs_error("fuselink: put of %zu bytes from peer %016lx outside of the "
                  "memory that its key names: dropped", size, uuid());
        return;
    }
    auto *to = reinterpret_cast<char *>(static_cast<uintptr_t>(put.remote));
    if (on_gpu && !take_in(to, true, bytes, size)) {
        fail(UCS_ERR_IO_ERROR); /* nobody would tell the peer otherwise */
    }
}

/* As it was registered here, whatever the peer believes. */
bool Peer::region_on_gpu(const RegionKey &key)
{
    bool on_gpu = false;
    engine_.regions().with_region(key, [&](const Region &region) {
        on_gpu = region.on_gpu();
    });
    return on_gpu;
}

/* Bytes of a message to where they belong. */
bool Peer::take_in(char *to, bool to_gpu, const void *data, size_t length)
{
    if (ucs_unlikely(to_gpu)) {
        return engine_.hop().in(to, data, length) == UCS_OK;
    }
    memcpy(to, data, length);
    return true;
}

void Peer::on_flush(const void *data, size_t length, bool is_ack)
{
    wire::Flush flush;
    if (!wire::parse(data, length, flush)) {
        return;
    }
    if (!is_ack) {
        wire::Flush reply{};
        reply.header.type = static_cast<uint8_t>(ControlType::FlushAck);
        reply.sn          = flush.sn;
        send_control(&reply, sizeof(reply));
        return;
    }
    if (flush.sn <= put_acked_ || flush.sn > put_requested_) {
        return;
    }
    put_acked_ = flush.sn;
    check_waiters();
    bulk_.pump(); /* may have been held by a fence */
}

} // namespace fuselink

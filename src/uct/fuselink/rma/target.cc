/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "target.h"

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

void RmaTarget::on_get(const void *data, size_t length)
{
    wire::GetReq request;
    if (!wire::parse(data, length, request)) {
        ucs_debug("fuselink: short get request from %016lx", conn_.uuid());
        return;
    }
    if (waiting_.size() + paused_.size() == kMaxUnserved) {
        ucs_error("fuselink: peer %016lx asks for more than %zu gets at once: "
                  "given up", conn_.uuid(), kMaxUnserved);
        conn_.fail(UCS_ERR_EXCEEDS_LIMIT);
        return;
    }
    waiting_.push_back(request);
    serve_waiting();
}

void RmaTarget::pause()
{
    pauses_ = true;
}

/* They are in no order with others. */
void RmaTarget::resume()
{
    pauses_ = false;
    for (; !paused_.empty(); paused_.pop_front()) {
        waiting_.push_back(paused_.front());
    }
    serve_waiting();
}

/* The first is behind a fence, and the program has not been told of all in front. */
bool RmaTarget::waits_for_program()
{
    HeldCalls &held = conn_.calls().held();
    if ((waiting_.front().header.flags & wire::kGetBehind) == 0 ||
        !held.has_messages()) {
        return false;
    }
    held.owe(conn_);
    held.note_waiting(waiting_.size());
    return true;
}

void RmaTarget::serve_waiting()
{
    if (serving_) {
        return;
    }
    serving_ = true;
    while (!waiting_.empty() && channel_.queue_bytes() < kMaxAnswers &&
           bulk_.serving() < kMaxServing && !conn_.failed() &&
           !waits_for_program()) {
        wire::GetReq request = waiting_.front();
        waiting_.pop_front();
        if (ucs_unlikely(pauses_) && (request.header.flags & wire::kGetConfirm) != 0) {
            paused_.push_back(request);
        } else {
            serve(request);
        }
    }
    serving_ = false;
}

void RmaTarget::serve(const wire::GetReq &request)
{
    RegionKey key{request.region_id, request.region_key};
    bool by_message = (request.header.flags & wire::kGetInline) != 0;
    ucs_status_t status = UCS_OK;
    if (request.length == 0 ||
        (by_message && request.length > wire::kMaxInlineGet)) {
        status = UCS_ERR_INVALID_PARAM;
    } else if (!memory_.contains(key, request.remote, request.length)) {
        status = UCS_ERR_INVALID_ADDR;
    } else if (!by_message && bulk_.ready() && !bulk_.has_paths()) {
        status = UCS_ERR_UNREACHABLE;
    }
    if (status != UCS_OK) {
        ucs_debug("fuselink: get of %lu bytes refused: %s",
                  request.length, ucs_status_string(status));
        refuse(request.op, status);
        return;
    }

    auto *source = reinterpret_cast<const char *>(
        static_cast<uintptr_t>(request.remote));
    bool from_gpu = memory_.on_gpu(key);
    if (!by_message) {
        bulk_.serve_get({source, request.length, request.local, request.op, key,
                         from_gpu, (request.header.flags & wire::kGetToGpu) != 0,
                         {request.local_id, request.local_key},
                         (request.header.flags & wire::kGetConfirm) != 0});
        return;
    }
    answer_.resize(request.length);
    if (from_gpu) {
        status = memory_.read_gpu(answer_.data(), source, answer_.size());
    } else if (!memory_.read(key, request.remote, answer_.data(), answer_.size())) {
        status = UCS_ERR_INVALID_ADDR; /* another thread has just taken it away */
    }
    if (status != UCS_OK) {
        refuse(request.op, status);
        return;
    }
    size_t most = rails_.max_message() - sizeof(wire::GetData);
    for (uint64_t offset = 0; offset < request.length;) {
        uint64_t part = std::min<uint64_t>(most, request.length - offset);
        wire::GetData reply{};
        reply.header.type = static_cast<uint8_t>(ControlType::GetData);
        reply.op          = request.op;
        reply.offset      = offset;
        conn_.send_control(&reply, sizeof(reply), answer_.data() + offset, part);
        offset += part;
    }
}

void RmaTarget::confirm(const Transfer &get)
{
    const bool there = memory_.contains(get.own_region,
                                        reinterpret_cast<uintptr_t>(get.buffer),
                                        get.length);
    refuse(get.op, there ? UCS_OK : UCS_ERR_CONNECTION_RESET);
}

void RmaTarget::refuse(const wire::OpId &op, ucs_status_t status)
{
    wire::GetDone done{};
    done.header.type = static_cast<uint8_t>(ControlType::GetDone);
    done.op          = op;
    done.status      = status;
    conn_.send_control(&done, sizeof(done));
}

void RmaTarget::on_cancel(const void *data, size_t length)
{
    wire::GetCancel message;
    if (!wire::parse(data, length, message)) {
        return;
    }
    auto same = [&](const wire::GetReq &request) {
        return request.op == message.op;
    };
    waiting_.erase_if(same);
    paused_.erase_if(same);
    if (!bulk_.stop_serving(message.op)) {
        /* All of it has arrived, or nothing will. */
        refuse(message.op, UCS_ERR_CANCELED);
    }
}

void RmaTarget::on_put(const void *data, size_t length)
{
    wire::PutData put;
    if (!wire::parse(data, length, put)) {
        return;
    }
    size_t size = length - sizeof(put);
    if (size == 0) {
        return; /* of any memory, as UCT has it */
    }
    RegionKey key{put.region_id, put.region_key};
    const char *bytes  = static_cast<const char *>(data) + sizeof(put);
    const bool  on_gpu = memory_.on_gpu(key);
    if (on_gpu ? !memory_.contains(key, put.remote, size) :
                 !memory_.write(key, put.remote, bytes, size)) {
        const bool may_end = (put.header.flags & wire::kPutRevocable) != 0;
        ucs_log(may_end ? UCS_LOG_LEVEL_DEBUG : UCS_LOG_LEVEL_ERROR,
                "fuselink: put of %zu bytes from peer %016lx outside of the "
                "memory that its key names: dropped", size, conn_.uuid());
        return;
    }
    auto *to = reinterpret_cast<char *>(static_cast<uintptr_t>(put.remote));
    if (on_gpu && !memory_.write(to, true, bytes, size)) {
        conn_.fail(UCS_ERR_IO_ERROR); /* nobody would tell the peer otherwise */
    }
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "control_channel.h"

#include "../wire/messages.h"

#include <cstring>
#include <utility>

namespace fuselink {
namespace {

constexpr uint8_t kControl = static_cast<uint8_t>(wire::RailAm::Control);

struct PackControl {
    const void *head;
    size_t      head_length;
    const void *body;
    size_t      body_length;
};

size_t pack_control(void *dest, void *arg)
{
    auto *p = static_cast<PackControl *>(arg);
    memcpy(dest, p->head, p->head_length);
    if (p->body_length != 0) {
        memcpy(static_cast<char *>(dest) + p->head_length, p->body,
               p->body_length);
    }
    return p->head_length + p->body_length;
}

/* Errors of a call, which say nothing of the connection. */
bool is_callers_error(ucs_status_t status)
{
    return status == UCS_ERR_INVALID_PARAM || status == UCS_ERR_NO_MEMORY ||
           status == UCS_ERR_UNSUPPORTED || status == UCS_ERR_EXCEEDS_LIMIT;
}

} // namespace

ControlChannel::ControlChannel(Connection &conn, uint64_t own, Events &events)
    : conn_(conn), own_(own), events_(events)
{
    hook_.req.func = on_hook;
    hook_.channel  = this;
}

/* --- the lane --- */

void ControlChannel::open(uct_ep_h ep, Rail &rail, uint8_t remote)
{
    ep_         = ep;
    rail_       = &rail;
    remote_     = remote;
    for_hellos_ = true;
    clear(kConnecting | kWiring);
    if (rail.by_ep()) {
        set(kWiring); /* until the table is known */
    }
}

void ControlChannel::move_to(uct_ep_h ep, Rail &rail, uint8_t remote)
{
    if (ep_ != nullptr) {
        uct_ep_pending_purge(ep_, [](uct_pending_req_t *, void *) {}, nullptr);
    }
    hook_.queued = false;
    clear(kBlocked);
    ep_         = ep;
    rail_       = &rail;
    remote_     = remote;
    for_hellos_ = false;
}

void ControlChannel::leave()
{
    close();
    room_later_ = false;
    clear(kBlocked);
    set(kConnecting);
    queue_.drop_hellos();
}

void ControlChannel::close()
{
    ep_          = nullptr;
    hook_.queued = false;
}

/* --- room --- */

ucs_status_t ControlChannel::outcome(ucs_status_t status)
{
    if (status == UCS_ERR_NO_RESOURCE) {
        block();
    } else if (UCS_STATUS_IS_ERR(status) && !is_callers_error(status)) {
        events_.on_call_failed(status);
    }
    return status;
}

/* Nothing is sent until the lane takes messages again. */
void ControlChannel::block()
{
    set(kBlocked);
    if (hook_.queued || has(kFailed | kConnecting)) {
        return; /* it is on the queue of the lane, or of the one before */
    }
    hook_.queued = true;
    if (hook_.running) {
        return; /* stays where it is: a rail's queue must not get it twice */
    }
    if (uct_ep_pending_add(ep_, &hook_.req, 0) != UCS_OK) {
        /* Nothing will tell us: the lane is free, but what it needs to send
         * (buffers of the whole rail) is not. Asking again at once would be
         * a loop without end. */
        hook_.queued = false;
        room_later_  = true;
        conn_.defer();
    }
}

/* A stream takes nobody onto its queue who need not wait. */
bool ControlChannel::written()
{
    if (has(kBlocked) || hook_.queued || hook_.running) {
        return false;
    }
    if (uct_ep_pending_add(ep_, &hook_.req, 0) != UCS_OK) {
        return true;
    }
    hook_.queued = true;
    set(kBlocked);
    return false;
}

ucs_status_t ControlChannel::on_hook(uct_pending_req_t *req)
{
    Hook *hook    = reinterpret_cast<Hook *>(req);
    hook->queued  = false;
    hook->running = true;
    hook->channel->room();
    hook->running = false;
    return hook->queued ? UCS_ERR_NO_RESOURCE : UCS_OK;
}

void ControlChannel::room()
{
    clear(kBlocked);
    drain();
    events_.on_room();
}

void ControlChannel::look_for_room()
{
    if (room_later_ && !conn_.failed()) {
        room_later_ = false;
        room();
    }
}

/* --- control messages --- */

ucs_status_t ControlChannel::am_control(uct_pack_callback_t pack, void *arg)
{
    ssize_t sent = uct_ep_am_bcopy(ep_, kControl, pack, arg, 0);
    return sent >= 0 ? UCS_OK : outcome(static_cast<ucs_status_t>(sent));
}

bool ControlChannel::try_send(uct_ep_h ep, const void *head, size_t head_length,
                              const void *body, size_t body_length)
{
    PackControl pack{head, head_length, body, body_length};
    ssize_t sent = uct_ep_am_bcopy(ep, kControl, pack_control, &pack, 0);
    if (sent >= 0) {
        return true;
    }
    if (sent != UCS_ERR_NO_RESOURCE) {
        events_.on_lane_error(ep, static_cast<ucs_status_t>(sent));
        return true;
    }
    return false;
}

void ControlChannel::stamp(void *head) const
{
    wire::ControlHeader header;
    memcpy(&header, head, sizeof(header));
    header.version = wire::kProtocolVersion;
    header.session = conn_.session();
    header.sender  = own_;
    memcpy(head, &header, sizeof(header));
}

void ControlChannel::send(void *head, size_t head_length, const void *body,
                          size_t body_length)
{
    if (conn_.failed() || !connected()) {
        return;
    }
    stamp(head);
    if (queue_.empty() && !has(kBlocked | kConnecting) && !draining_ &&
        taken_) {
        if (try_send(ep_, head, head_length, body, body_length)) {
            return;
        }
        block();
    }
    ControlQueue::Message message(head_length + body_length);
    PackControl pack{head, head_length, body, body_length};
    pack_control(message.data(), &pack);
    if (!queue_.push(std::move(message))) {
        ucs_error("fuselink: peer %016lx asks on and takes no answers, of "
                  "which %zu bytes wait: given up", conn_.uuid(),
                  queue_.answer_bytes());
        conn_.fail(UCS_ERR_EXCEEDS_LIMIT);
    }
    drain();
}

void ControlChannel::send_first(ControlQueue::Message message)
{
    queue_.push_first(std::move(message));
    drain();
}

void ControlChannel::drain()
{
    if (draining_) {
        return; /* a lane that fails inside the call brought us here */
    }
    draining_ = true;
    bool taken = taken_;
    while (!queue_.empty() && !has(kFailed | kConnecting | kBlocked)) {
        const auto &message = queue_.front();
        if (!try_send(ep_, message.data(), message.size())) {
            block();
            break;
        }
        if (has(kConnecting)) {
            break; /* it failed: the next one takes the message */
        }
        taken_ = true;
        queue_.pop();
    }
    draining_ = false;
    if (conn_.failed()) {
        return;
    }
    if (taken_ && !taken) {
        events_.on_first_taken();
    }
    events_.on_drained();
}

} // namespace fuselink

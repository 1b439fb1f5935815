/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "path_wireup.h"

#include <algorithm>

namespace fuselink {
namespace {

/* A peer that goes refuses connections; its goodbye is a little later to be seen
 * than that. It is said of no rail of such a peer that it was not reached. */
constexpr sched::Nanos kGoodbye = sched::Nanos::millis(500);

} // namespace

/* It does not connect: the others go on without it. After a while it is tried
 * again. */
void PathWireup::leave_out(Path &path)
{
    path.state = Path::State::Out;
    out_       = true;
    connection_.defer();
}

/* The same. What is left of a pair of queue pairs ends at the peer, too. */
void PathWireup::not_connected(Path &path, ucs_status_t status)
{
    if (path.recovery.out ||
        (path.pair && path.pair->ep() != nullptr)) {
        recovery_.break_path(path, status);
    } else {
        leave_out(path);
    }
}

bool PathWireup::connect(Path &path)
{
    if (path.state != Path::State::Idle) {
        return false;
    }
    if (path.pair && path.pair->failed()) {
        not_connected(path, UCS_ERR_ENDPOINT_TIMEOUT);
        return false;
    }
    /* The peer takes no question until it has our answer, which it does not get while there
     * is a pair: where it has postponed ours, it may end its own that never was whole. */
    if (path.pair && path.pair->ep() == nullptr && recovery_.owes_quiet(path)) {
        return false;
    }
    if (path.pair && !path.pair->refused()) {
        path.pair->ask();
        if (path.pair->ready()) {
            path.ep    = path.pair->ep();
            path.state = Path::State::Ready;
            recovery_.on_pair_ready(path);
        }
        if (!path.pair->refused()) {
            return path.state == Path::State::Ready;
        }
    }
    path.by_messages = path.by_messages || path.pair != nullptr;
    if (connect_ep_ && path.rail.traits().stream) {
        return ask(path);
    }
    const UctIface &iface = path.by_messages ? path.rail.hello() :
                                                 path.rail.bulk();
    ucs_status_t status = endpoints_.create(iface, path.remote, path.ep);
    if (status != UCS_OK) {
        not_connected(path, status);
        return false;
    }
    path.state = Path::State::Ready;
    room_.await_connection(path);
    return true;
}

/* Endpoint to endpoint: offers the peer one. */
bool PathWireup::ask(Path &path)
{
    const UctIface &iface = path.rail.bulk();
    std::vector<uint8_t> address;
    ucs_status_t status = iface.create_unconnected_ep(&path.ep);
    if (status != UCS_OK) {
        path.ep = nullptr;
        not_connected(path, status);
        return false;
    }
    endpoints_.add(path.ep);
    status = iface.get_ep_address(path.ep, address);
    if (status != UCS_OK || address.size() > UINT8_MAX) {
        leave_out(path);
        return false;
    }
    path.state = Path::State::Asked;
    wire::RailAddr message{};
    message.header.type = static_cast<uint8_t>(wire::ControlType::RailAddr);
    message.rail        = path.remote.index;
    message.from        = path.rail.index();
    message.use         = static_cast<uint8_t>(wire::LinkUse::Bulk);
    message.length      = static_cast<uint8_t>(address.size());
    connection_.send_control(&message, sizeof(message), address.data(),
                             address.size());
    return false;
}

void PathWireup::on_rail_address(const wire::RailAddr       &message,
                                 const std::vector<uint8_t> &address)
{
    for (auto &path : paths_) {
        if (!path->pair || !path->pair->meant(message)) {
            continue;
        }
        if (path->state == Path::State::Backoff) {
            path->recovery.until = path->recovery.rests_until = {}; /* the peer's is over */
            recovery_.revive(host_.now());
        }
        if (!path->usable()) {
            ucs_debug("fuselink: peer %016lx connects a path that is "
                      "broken", connection_.uuid());
            if (path->state == Path::State::Backoff &&
                message.step == static_cast<uint8_t>(wire::LinkStep::Ask)) {
                QueuePair::postpone(connection_, message); /* it waits for an answer */
            }
            return;
        }
        ucs_status_t status = path->pair->on_message(message, address);
        if (status != UCS_OK) {
            connection_.fail(status);
        } else {
            pump_.pump();
        }
        return;
    }
    if (message.step == static_cast<uint8_t>(wire::LinkStep::Answer)) {
        take_reply(message, address);
    } else {
        inbound_.on_offer(message, address);
    }
}

void PathWireup::take_reply(const wire::RailAddr       &message,
                            const std::vector<uint8_t> &address)
{
    Path *path = paths_.find(message.rail, message.from, [](const Path &one) {
        return one.state == Path::State::Asked;
    });
    if (path == nullptr) {
        ucs_debug("fuselink: unasked endpoint address for rail %d",
                  message.rail);
        return;
    }
    ucs_status_t status = path->rail.bulk().connect_ep(
        path->ep, path->remote.device_address, address);
    if (status != UCS_OK) {
        not_connected(*path, status);
        return;
    }
    path->state = Path::State::Ready;
    room_.await_connection(*path);
    pump_.pump();
}

bool PathWireup::on_path_error(uct_ep_h ep, ucs_status_t status)
{
    auto it = std::find_if(paths_.begin(), paths_.end(),
                           [&](const auto &path) {
                               return path->ep == ep ||
                                      (path->pair && path->pair->ep() == ep);
                           });
    if (it == paths_.end()) {
        return inbound_.has(ep); /* the peer, whose path it ends, sees it too */
    }
    Path &path = **it;
    if (path.pair && ep == path.pair->ep() && path.pair->on_error()) {
        connection_.defer();
        return true;
    }
    if (!path.usable()) {
        return true; /* known */
    }
    if (!path.room.connected && path.chunks == 0 &&
        !(path.pair && path.pair->ready())) {
        path.recovery.until = host_.now() + kGoodbye;
        not_connected(path, status);
    } else {
        recovery_.break_path(path, status);
    }
    return true;
}

void PathWireup::advance()
{
    inbound_.advance();
    for (auto &path : paths_) {
        if (path->pair && path->state == Path::State::Idle) {
            path->pair->advance();
            if (path->pair->ready()) {
                recovery_.on_pair_ready(*path);
                pump_.pump(); /* it may be wanted */
            } else if (path->pair->failed()) {
                not_connected(*path, UCS_ERR_ENDPOINT_TIMEOUT);
            }
        }
    }
}

void PathWireup::remove_left_out()
{
    bool removed = false;
    for (auto &path : paths_) {
        if (path->state != Path::State::Out) {
            continue;
        }
        removed = true;
        if (!path->pair || !path->pair->failed()) { /* it has said so */
            unsaid_.push_back({&path->rail, path->remote.name,
                               path->recovery.until});
        }
        recovery_.drain_completions(*path);
        if (path->ep != nullptr && !path->pair_owns()) {
            endpoints_.destroy(path->ep);
        }
        path->ep               = nullptr;
        path->room.hook.queued = false;
        recovery_.rest(*path);
    }
    sched::Nanos now = host_.now();
    std::erase_if(unsaid_, [&](const LeftOut &one) {
        if (now < one.say_at) {
            return false;
        }
        const auto level = one.rail->health.say() ? UCS_LOG_LEVEL_WARN :
                                                    UCS_LOG_LEVEL_INFO;
        ucs_log(level, "fuselink: rail %s does not reach %s of peer %016lx: "
                "left out until it does", one.rail->name().c_str(),
                one.remote.c_str(), connection_.uuid());
        return true;
    });
    out_ = !unsaid_.empty();
    if (out_) {
        connection_.defer();
    }
    if (removed || !out_) { /* a get may have waited to be handed over */
        pump_.pump();
    }
}

void PathWireup::close()
{
    for (auto &path : paths_) {
        uct_ep_h ep = path->pair_owns() ? nullptr : path->ep;
        if (ep != nullptr) {
            endpoints_.destroy(ep); /* may end chunks of the path */
        }
        path->pair.reset();
        path->ep = nullptr;
    }
    inbound_.close();
}

} // namespace fuselink

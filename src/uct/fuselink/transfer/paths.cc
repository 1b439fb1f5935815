/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* BulkSender: which paths there are, and connecting them. */

#include "bulk.h"

#include "../rail/pairs.h"

#include <algorithm>

namespace fuselink {
namespace {

/* A peer that goes refuses connections; its goodbye is a little later to be seen
 * than that. It is said of no rail of such a peer that it was not reached. */
constexpr sched::Nanos kGoodbye = sched::Nanos::millis(500);

} // namespace

size_t BulkSender::set_table(const wire::RailTable &table)
{
    table_         = table;
    table_known_   = true;
    for (const auto &remote : table.rails) {
        Rail::Route route = Rail::route_to(env_.host.network(), remote,
                                           env_.rails.uuid(), table.uuid);
        for (const auto &rail : env_.rails.list()) {
            if (rail->traits().routed_by_ip && rail->reaches(remote, route)) {
                add_path(*rail, remote);
            }
        }
    }
    for (const RailPair &pair : pair_rails(env_.rails.list(), table.rails)) {
        add_path(*pair.own, *pair.remote);
    }
    return paths_.size();
}

void BulkSender::add_path(Rail &rail, const wire::RailRecord &remote)
{
    if (paths_.size() == sched::max_paths) {
        return;
    }
    ucs_debug("fuselink: path to %016lx: %s -> %s", connection_.uuid(),
              rail.name().c_str(), remote.name.c_str());
    auto path = std::make_unique<Path>(
        *this, rail, remote, Path::Books{env_.host, env_.loads, env_.room});
    if (rail.by_ep()) {
        path->link = std::make_unique<QueuePair>(connection_, endpoints_,
                                                 rail, remote,
                                                 QueuePair::Use::Bulk);
    }
    path->by_messages = rail.by_messages();
    reads_            = reads_ || rail.reads();
    streams_          = streams_ || rail.traits().stream;
    paths_.push_back(std::move(path));
}

uint8_t BulkSender::memory_slot(uint8_t rail) const
{
    for (const auto &remote : table_.rails) {
        if (remote.index == rail) {
            return remote.memory;
        }
    }
    return wire::RailRecord::kNoKeys;
}

/* Every path has them: data for a peer's GPU goes by messages while the peer has
 * lent no slots. */
bool BulkSender::may_use_messages() const
{
    return !paths_.empty();
}

/* It does not connect: the others go on without it. */
void BulkSender::leave_out(Path &path)
{
    path.state = Path::State::Out;
    out_       = true;
    connection_.defer();
}

bool BulkSender::connect(Path &path)
{
    if (path.state != Path::State::Idle) {
        return false;
    }
    if (path.link && path.link->failed()) {
        not_connected(path, UCS_ERR_ENDPOINT_TIMEOUT);
        return false;
    }
    if (path.link && !path.link->refused()) {
        path.link->ask();
        if (path.link->ready()) {
            path.ep    = path.link->ep();
            path.state = Path::State::Ready;
        }
        if (!path.link->refused()) {
            return path.state == Path::State::Ready;
        }
    }
    path.by_messages = path.by_messages || path.link != nullptr;
    if (env_.settings.connect_ep && path.rail.traits().stream) {
        return ask(path);
    }
    const LowerIface &iface = path.by_messages ? path.rail.hello() :
                                                 path.rail.bulk();
    ucs_status_t status = endpoints_.create(iface,
                                                     path.remote, path.ep);
    if (status != UCS_OK) {
        not_connected(path, status);
        return false;
    }
    path.state         = Path::State::Ready;
    path.hook.req.func = on_hook;
    if (uct_ep_pending_add(path.ep, &path.hook.req, 0) == UCS_OK) {
        path.hook.queued = path.blocked = true; /* until it is connected */
    } else {
        path.connected = true;
    }
    return true;
}

/* Connect-to-ep: offers the peer an endpoint. */
bool BulkSender::ask(Path &path)
{
    const LowerIface &iface = path.rail.bulk();
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

void BulkSender::on_rail_address(const wire::RailAddr &message,
                                 const std::vector<uint8_t> &address)
{
    for (auto &path : paths_) {
        if (path->link && path->link->meant(message)) {
            if (path->state == Path::State::Resting) {
                path->until = {}; /* the peer has rested */
                revive(env_.host.now());
            }
            if (!path->usable()) {
                ucs_debug("fuselink: peer %016lx connects a path that is "
                          "broken", connection_.uuid());
                return;
            }
            ucs_status_t status = path->link->on_message(message, address);
            if (status != UCS_OK) {
                connection_.fail(status);
            } else {
                pump();
            }
            return;
        }
    }
    if (message.step == static_cast<uint8_t>(wire::LinkStep::Answer)) {
        take_reply(message, address);
    } else {
        answer(message, address);
    }
}

void BulkSender::take_reply(const wire::RailAddr &message,
                            const std::vector<uint8_t> &address)
{
    for (auto &path : paths_) {
        if (path->rail.index() != message.rail ||
            path->remote.index != message.from ||
            path->state != Path::State::Asked) {
            continue;
        }
        ucs_status_t status = path->rail.bulk().connect_ep(
            path->ep, path->remote.device_address, address);
        if (status != UCS_OK) {
            not_connected(*path, status);
            return;
        }
        path->state = Path::State::Ready;
        pump();
        return;
    }
    ucs_debug("fuselink: unasked endpoint address for rail %d", message.rail);
}

void BulkSender::answer(const wire::RailAddr &message,
                        const std::vector<uint8_t> &address)
{
    auto remote = std::find_if(table_.rails.begin(), table_.rails.end(),
                               [&](const wire::RailRecord &r) {
                                   return r.index == message.from;
                               });
    bool again  = std::any_of(inbound_.begin(), inbound_.end(),
                              [&](const Inbound &inbound) {
                                 return inbound.rail == message.rail &&
                                        inbound.from == message.from;
                             });
    if (message.rail >= env_.rails.list().size() ||
        remote == table_.rails.end() || again) {
        ucs_debug("fuselink: endpoint address for an unknown rail");
        return;
    }
    /* The transport trusts the address that it is given to be one of its
     * own kind: only a pair that could be a path gets that far. */
    const Rail &rail = *env_.rails.list()[message.rail];
    if (!rail.traits().stream ||
        !rail.reaches(*remote, Rail::route_to(env_.host.network(),
                                              *remote, env_.rails.uuid(),
                                              table_.uuid))) {
        ucs_debug("fuselink: endpoint address for rails that are no path");
        return;
    }
    if (!env_.settings.connect_ep) {
        ucs_error("fuselink: peer %016lx connects endpoint to endpoint and "
                  "this process does not: UCX_FUSELINK_CONNECT must be the "
                  "same on both sides", connection_.uuid());
        connection_.fail(UCS_ERR_UNSUPPORTED);
        return;
    }
    const LowerIface &iface = rail.control();
    std::vector<uint8_t> own;
    uct_ep_h ep;
    ucs_status_t status = iface.create_unconnected_ep(&ep);
    if (status != UCS_OK) {
        connection_.fail(status);
        return;
    }
    endpoints_.add(ep);
    inbound_.push_back({message.rail, message.from, ep});
    status = iface.get_ep_address(ep, own);
    if (status == UCS_OK) {
        status = iface.connect_ep(ep, remote->device_address, address);
    }
    if (status != UCS_OK || own.size() > UINT8_MAX) {
        connection_.fail(status != UCS_OK ? status : UCS_ERR_UNSUPPORTED);
        return;
    }
    wire::RailAddr reply{};
    reply.header.type = static_cast<uint8_t>(wire::ControlType::RailAddr);
    reply.rail        = message.from;
    reply.from        = message.rail;
    reply.step        = static_cast<uint8_t>(wire::LinkStep::Answer);
    reply.use         = static_cast<uint8_t>(wire::LinkUse::Bulk);
    reply.length      = static_cast<uint8_t>(own.size());
    connection_.send_control(&reply, sizeof(reply), own.data(), own.size());
}

bool BulkSender::on_path_error(uct_ep_h ep, ucs_status_t status)
{
    auto it = std::find_if(paths_.begin(), paths_.end(),
                           [&](const auto &path) {
                               return path->ep == ep ||
                                      (path->link && path->link->ep() == ep);
                           });
    if (it == paths_.end()) {
        /* The peer, whose path it ends, will see it as well. */
        return std::any_of(inbound_.begin(), inbound_.end(),
                           [&](const Inbound &one) { return one.ep == ep; });
    }
    Path &path = **it;
    if (path.link && ep == path.link->ep() && path.link->on_error()) {
        connection_.defer();
        return true;
    }
    if (!path.connected && path.chunks == 0 &&
        !(path.link && path.link->ready())) {
        path.until = env_.host.now() + kGoodbye;
        not_connected(path, status);
    } else {
        break_path(path, status);
    }
    return true;
}

void BulkSender::drop_inbound(uint8_t own, uint8_t remote)
{
    for (auto it = inbound_.begin(); it != inbound_.end(); ++it) {
        if (it->rail == own && it->from == remote) {
            endpoints_.destroy(it->ep);
            inbound_.erase(it);
            return;
        }
    }
}

/* What a NIC has acknowledged may be left in its queue: the peer believes that
 * we have heard of it, and with our end it would go away. A stream acknowledges
 * what was looked at. */
void BulkSender::take_last(const Path &path)
{
    if (path.rail.reads()) {
        env_.poller.drain(path.rail.poll_index());
    }
}

/* False if no path is left, and the peer has not left in the meantime. */
bool BulkSender::remove_left_out()
{
    bool removed = false;
    for (auto it = paths_.begin(); it != paths_.end();) {
        Path &path = **it;
        if (path.state != Path::State::Out) {
            ++it;
            continue;
        }
        removed = true;
        if (!path.link || !path.link->failed()) { /* it has said so */
            unsaid_.push_back({path.rail.name(), path.remote.name, path.until});
        }
        take_last(path);
        if (path.ep != nullptr && !path.link_owns()) {
            endpoints_.destroy(path.ep);
        }
        it = paths_.erase(it);
    }
    sched::Nanos now = env_.host.now();
    std::erase_if(unsaid_, [&](const LeftOut &one) {
        if (now < one.say_at) {
            return false;
        }
        ucs_warn("fuselink: rail %s does not reach %s of peer %016lx: left "
                 "out", one.rail.c_str(), one.remote.c_str(), connection_.uuid());
        return true;
    });
    out_ = !unsaid_.empty();
    if (out_) {
        connection_.defer();
    } else if (paths_.empty()) {
        return false;
    }
    if (removed) {
        pump();
    }
    return true;
}

bool BulkSender::run_deferred()
{
    for (auto &path : paths_) {
        if (path->link && path->state == Path::State::Idle) {
            path->link->advance();
            if (path->link->ready()) {
                pump(); /* it may be wanted */
            } else if (path->link->failed()) {
                not_connected(*path, UCS_ERR_ENDPOINT_TIMEOUT);
            }
        }
    }
    if (ucs_unlikely(mending_ != 0) && !mend()) {
        return false;
    }
    if (ucs_unlikely(out_) && !remove_left_out()) {
        return false;
    }
    if (retry_) {
        retry_ = false;
        for (auto &path : paths_) {
            if (path->retry) {
                path->retry = path->blocked = false;
                send_waiting(*path);
            }
        }
        pump();
    }
    if (later_) {
        later_ = false;
        pump();
    }
    return true;
}

} // namespace fuselink

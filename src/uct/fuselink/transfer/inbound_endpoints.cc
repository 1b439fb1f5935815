/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "inbound_endpoints.h"

#include "../host/host.h"

#include <algorithm>
#include <utility>

namespace fuselink {

/* The rail of ours that the message names and the peer's that it comes from;
 * nullptr if there is no such pair. The transport trusts
 * the address that it is given to be one of its own kind: only a pair that could be
 * a path gets that far. */
const Rail *InboundEndpoints::rail_for(const wire::RailAddr    &message,
                                       const wire::RailRecord *&remote) const
{
    auto it    = std::find_if(theirs_.rails.begin(), theirs_.rails.end(),
                              [&](const wire::RailRecord &r) {
                                  return r.index == message.from;
                              });
    if (message.rail >= rails_.list().size() || it == theirs_.rails.end()) {
        ucs_debug("fuselink: endpoint address for an unknown rail");
        return nullptr;
    }
    const Rail &rail = *rails_.list()[message.rail];
    if (!rail.traits().stream ||
        !rail.reaches(*it, rails_.route_to(*it, theirs_.uuid))) {
        ucs_debug("fuselink: endpoint address for rails that are no path");
        return nullptr;
    }
    remote = &*it;
    return &rail;
}

void InboundEndpoints::on_offer(const wire::RailAddr       &message,
                                const std::vector<uint8_t> &address)
{
    const wire::RailRecord *remote = nullptr;
    const Rail             *rail   = rail_for(message, remote);
    if (rail == nullptr) {
        return;
    }
    if (!connect_ep_) {
        ucs_error("fuselink: peer %016lx connects endpoint to endpoint and "
                  "this process does not: UCX_FUSELINK_CONNECT must be the "
                  "same on both sides", connection_.uuid());
        connection_.fail(UCS_ERR_UNSUPPORTED);
        return;
    }
    if (find(message.rail, message.from) == inbound_.end()) {
        accept(*rail, *remote, message, address);
        return;
    }
    std::erase_if(again_, [&](const Offer &one) {
        return one.message.rail == message.rail && one.message.from == message.from;
    });
    again_.push_back({message, address});
    connection_.defer();
}

void InboundEndpoints::advance()
{
    for (const Offer &offer : std::exchange(again_, {})) {
        const wire::RailRecord *remote = nullptr;
        const Rail             *rail   = rail_for(offer.message, remote);
        if (rail != nullptr && !connection_.failed()) {
            drop(offer.message.rail, offer.message.from);
            accept(*rail, *remote, offer.message, offer.address);
        }
    }
}

void InboundEndpoints::accept(const Rail &rail, const wire::RailRecord &remote,
                              const wire::RailAddr       &message,
                              const std::vector<uint8_t> &address)
{
    const UctIface      &iface = rail.control();
    std::vector<uint8_t> own;
    uct_ep_h             ep;
    ucs_status_t status = iface.create_unconnected_ep(&ep);
    if (status != UCS_OK) {
        connection_.fail(status);
        return;
    }
    endpoints_.add(ep);
    inbound_.push_back({message.rail, message.from, ep});
    status = iface.get_ep_address(ep, own);
    if (status == UCS_OK) {
        status = iface.connect_ep(ep, remote.device_address, address);
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

bool InboundEndpoints::has(uct_ep_h ep) const
{
    return std::any_of(inbound_.begin(), inbound_.end(),
                       [&](const Inbound &one) { return one.ep == ep; });
}

InboundEndpoints::Inbounds::iterator InboundEndpoints::find(uint8_t own,
                                                            uint8_t remote)
{
    return std::find_if(inbound_.begin(), inbound_.end(), [&](const Inbound &one) {
        return one.rail == own && one.from == remote;
    });
}

void InboundEndpoints::drop(uint8_t own, uint8_t remote)
{
    auto it = find(own, remote);
    if (it != inbound_.end()) {
        endpoints_.destroy(it->ep);
        inbound_.erase(it);
    }
}

void InboundEndpoints::close()
{
    for (const Inbound &one : inbound_) {
        endpoints_.destroy(one.ep);
    }
    inbound_.clear();
    again_.clear();
}

} // namespace fuselink

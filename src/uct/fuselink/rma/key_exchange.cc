/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "key_exchange.h"

#include "../wire/messages.h"

namespace fuselink {

using wire::ControlType;

uint32_t KeyExchange::request(const RegionKey &region,
                              const std::shared_ptr<NicKeys> &keys)
{
    wire::KeyReq request{};
    for (const auto &remote : theirs_.rails) {
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
    last_token_        += 1 + (last_token_ == UINT32_MAX); /* 0 is none */
    request.token       = last_token_;
    requests_[request.token] = keys;
    conn_.send_control(&request, sizeof(request));
    return request.token;
}

void KeyExchange::on_request(const void *data, size_t length)
{
    wire::KeyReq request;
    if (!wire::parse(data, length, request)) {
        return;
    }
    std::vector<uint8_t> body;
    wire::KeyData reply{};
    auto pack = [&](Region *region) {
        for (unsigned slot = 0; slot < wire::kMaxRails; ++slot) {
            if (!(request.slots & (1u << slot))) {
                continue;
            }
            uint8_t key[UINT8_MAX];
            size_t  size = slot < nics_.count() ? nics_.key_size(slot) : 0;
            bool    ok   = region != nullptr && size != 0 &&
                           size <= sizeof(key) &&
                           nics_.pack(*region, slot, key);
            body.push_back(static_cast<uint8_t>(slot));
            body.push_back(static_cast<uint8_t>(ok ? size : 0));
            body.insert(body.end(), key, key + (ok ? size : 0));
            ++reply.count;
        }
    };
    if (!regions_.with_region(
            {request.region_id, request.region_key},
            [&](Region &region) { pack(&region); })) {
        pack(nullptr);
    }
    reply.header.type = static_cast<uint8_t>(ControlType::KeyData);
    reply.token       = request.token;
    conn_.send_control(&reply, sizeof(reply), body.data(), body.size());
}

bool KeyExchange::on_data(const void *data, size_t length)
{
    wire::KeyData reply;
    if (!wire::parse(data, length, reply)) {
        return false;
    }
    auto it = requests_.find(reply.token);
    if (it == requests_.end()) {
        ucs_debug("fuselink: keys that nobody asked for from %016lx",
                  conn_.uuid());
        return false;
    }
    std::shared_ptr<NicKeys> keys = std::move(it->second);
    requests_.erase(it);

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
    return true;
}

} // namespace fuselink

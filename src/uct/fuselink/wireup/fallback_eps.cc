/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "fallback_eps.h"

#include <algorithm>

namespace fuselink {

void FallbackEps::keep(const Fallback &fallback)
{
    auto entry      = std::make_unique<Entry>();
    entry->req.func = on_room;
    entry->conn     = &conn_;
    entry->fallback = fallback;
    entry->state    = State::Silent;
    uct_ep_pending_purge(fallback.ep, [](uct_pending_req_t *, void *) {},
                         nullptr);
    if (uct_ep_pending_add(fallback.ep, &entry->req, 0) != UCS_OK) {
        entry->state = State::Connected; /* just now */
        conn_.defer();
    }
    entries_.push_back(std::move(entry));
}

ucs_status_t FallbackEps::on_room(uct_pending_req_t *req)
{
    auto *entry = reinterpret_cast<Entry *>(req);
    if (entry->state == State::Silent) {
        entry->state = State::Connected;
        entry->conn->defer();
    }
    return UCS_OK;
}

std::optional<FallbackEps::Fallback> FallbackEps::take()
{
    auto it = std::find_if(entries_.begin(), entries_.end(),
                           [](const auto &entry) {
        return entry->state == State::Connected;
    });
    if (it == entries_.end()) {
        return std::nullopt;
    }
    Fallback taken = (*it)->fallback;
    entries_.erase(it);
    return taken;
}

bool FallbackEps::on_error(uct_ep_h ep)
{
    for (auto &entry : entries_) {
        if (entry->fallback.ep == ep) {
            entry->state = State::Broken;
            conn_.defer();
            return true;
        }
    }
    return false;
}

void FallbackEps::sweep()
{
    std::erase_if(entries_, [this](const auto &entry) {
        if (entry->state == State::Broken) {
            endpoints_.destroy(entry->fallback.ep);
            return true;
        }
        return false;
    });
}

void FallbackEps::for_each_silent(
    const std::function<void(const Fallback &)> &fn) const
{
    for (const auto &entry : entries_) {
        if (entry->state != State::Connected) {
            fn(entry->fallback);
        }
    }
}

void FallbackEps::close_if(const std::function<bool(const Fallback &)> &fn)
{
    std::erase_if(entries_, [&](const auto &entry) {
        if (fn(entry->fallback)) {
            endpoints_.destroy(entry->fallback.ep);
            return true;
        }
        return false;
    });
}

bool FallbackEps::has(size_t candidate) const
{
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const auto &entry) {
                           return entry->fallback.candidate == candidate;
                       });
}

void FallbackEps::close()
{
    for (const auto &entry : entries_) {
        endpoints_.destroy(entry->fallback.ep);
    }
    entries_.clear();
}

} // namespace fuselink

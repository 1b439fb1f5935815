/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "path_set.h"

#include "../rail/pairs.h"

#include <algorithm>

namespace fuselink {

size_t PathSet::set_table(const wire::RailTable &table)
{
    table_       = table;
    table_known_ = true;
    own_rails_   = rails_.list().size();
    paths_.reserve(sched::max_paths);
    for (const auto &remote : table.rails) {
        add_routed(remote);
    }
    for (const RailPair &pair : pair_rails(rails_.list(), table.rails)) {
        add(*pair.own, *pair.remote);
    }
    return paths_.size();
}

Rail::Route PathSet::route_to(const wire::RailRecord &remote) const
{
    return rails_.route_to(remote, table_.uuid);
}

void PathSet::add_routed(const wire::RailRecord &remote)
{
    const Rail::Route route = route_to(remote);
    for (const auto &rail : rails_.list()) {
        if (rail->traits().routed_by_ip && rail->reaches(remote, route)) {
            add(*rail, remote);
        }
    }
}

void PathSet::add_own(Rail &rail)
{
    for (const auto &remote : table_.rails) {
        if (rail.traits().routed_by_ip && rail.reaches(remote, route_to(remote))) {
            add(rail, remote);
        }
    }
    own_rails_ = rail.index() + size_t{1};
    drop_plan();
}

void PathSet::add_remote(const wire::RailRecord &remote)
{
    table_.rails.push_back(remote);
    add_routed(remote);
    drop_plan();
}

void PathSet::add(Rail &rail, const wire::RailRecord &remote)
{
    if (paths_.size() == sched::max_paths) {
        return;
    }
    ucs_debug("fuselink: path to %016lx: %s -> %s", connection_.uuid(),
              rail.name().c_str(), remote.name.c_str());
    auto path = std::make_unique<Path>(rail, remote, books_);
    if (rail.by_ep()) {
        path->pair = std::make_unique<QueuePair>(connection_, endpoints_, rail,
                                                 remote, QueuePair::Use::Bulk);
    }
    path->by_messages = rail.by_messages();
    path->remote_down = is_down(remote.index);
    path->recovery.had_link = path->has_link();
    reads_            = reads_ || rail.reads();
    streams_          = streams_ || rail.traits().stream;
    written_in_place_ = written_in_place_ ||
                        (!rail.reads() && !rail.by_messages());
    paths_.push_back(std::move(path));
}

bool PathSet::is_down(uint8_t remote) const
{
    return remote < wire::kMaxRails && (remote_down_ >> remote & 1) != 0;
}

void PathSet::note_remote_down(uint16_t down)
{
    remote_down_ = down;
    for (const auto &path : paths_) {
        path->remote_down = is_down(path->remote.index);
    }
}

uint8_t PathSet::memory_slot(uint8_t rail) const
{
    for (const auto &remote : table_.rails) {
        if (remote.index == rail) {
            return remote.memory;
        }
    }
    return wire::RailRecord::kNoKeys;
}

bool PathSet::in_play(const Path &path) const
{
    return path.usable() &&
           (ucs_likely(!path.rail.standby) ||
            std::none_of(paths_.begin(), paths_.end(), [](const auto &other) {
                return other->usable() && !other->rail.standby;
            }));
}

bool PathSet::any_usable() const
{
    return std::any_of(paths_.begin(), paths_.end(),
                       [](const auto &path) { return path->usable(); });
}

uint32_t PathSet::preferred(uint32_t turn) const
{
    uint32_t near[sched::max_paths];
    uint32_t count = 0;
    for (uint32_t i = 0; i < paths_.size(); ++i) {
        if (paths_[i]->rail.near()) {
            near[count++] = i;
        }
    }
    return count != 0 ? near[turn % count] : turn;
}

void PathSet::take_plan(std::span<const double> split)
{
    size_t i = 0;
    for (const auto &path : paths_) {
        path->planned = in_play(*path) ? split[i++] : 0;
    }
    planned_ = true;
}

} // namespace fuselink

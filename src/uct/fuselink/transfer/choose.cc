/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* BulkSender: which path the next chunk takes. */

#include "bulk.h"

#include "../sched/window.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Less is sent before the peer's answer would be of use. */
constexpr size_t kLong = 1 << 20;

/* How often a peer is asked. */
constexpr sched::Nanos kAsk = sched::Nanos::millis(5);

uint32_t kilobytes(double bytes)
{
    return static_cast<uint32_t>(std::min(bytes / 1024, double(UINT32_MAX)));
}

} // namespace

/* Tells the peer what is on its way to each of its rails, and what would come if
 * it was divided by the speeds of our NICs, and asks what others bring there.
 * With nothing on its way it is a farewell. */
void BulkSender::ask_for_load(sched::Nanos now)
{
    double loads[wire::kLoads] = {}, rates[sched::max_paths] = {}, sum = 0;
    for (size_t i = 0; i < paths_.size(); ++i) {
        const Path &path = *paths_[i];
        if (in_play(path)) {
            rates[i] = path.full_rate().bytes_per_second();
            sum     += rates[i];
        }
    }
    for (size_t i = 0; i < paths_.size(); ++i) {
        const Path &path = *paths_[i];
        if (path.remote.index < wire::kLoads && sum > 0) {
            loads[path.remote.index] +=
                static_cast<double>(path.meter.in_flight().count()) +
                static_cast<double>(backlog_) * rates[i] / sum;
        }
    }
    wire::LoadAsk ask{};
    ask.header.type = static_cast<uint8_t>(wire::ControlType::LoadAsk);
    for (size_t i = 0; i < wire::kLoads; ++i) {
        ask.load[i] = kilobytes(loads[i]);
    }
    asked_    = backlog_ != 0;
    next_ask_ = now + kAsk;
    connection_.send_control(&ask, sizeof(ask));
}

void BulkSender::on_grant(const wire::LoadGrant &grant)
{
    if (asked_) {
        receiver_.take(grant, env_.host.now());
    }
}

bool BulkSender::in_play(const Path &path) const
{
    return path.usable() &&
           (ucs_likely(!path.rail.standby) ||
            std::none_of(paths_.begin(), paths_.end(), [](const auto &other) {
                return other->usable() && !other->rail.standby;
            }));
}

bool BulkSender::any_usable() const
{
    return std::any_of(paths_.begin(), paths_.end(),
                       [](const auto &path) { return path->usable(); });
}

void BulkSender::take_plan(std::span<const double> split)
{
    size_t i = 0;
    for (const auto &path : paths_) {
        path->planned = in_play(*path) ? split[i++] : 0;
    }
    planned_ = true;
}

/* How the next chunk would go on the path, if it may. */
BulkSender::Carry BulkSender::carry(Transfer &transfer, Path &path)
{
    Rail &rail = path.rail;
    if (transfer.kind == Transfer::Kind::Get && path.by_messages) {
        return Carry::Not;
    }
    if (path.by_messages) {
        return Carry::Messages;
    }
    if (transfer.to_gpu) {
        return carry_to_gpu(transfer, path);
    }
    if (!rail.reads()) {
        return transfer.kind == Transfer::Kind::Get ? Carry::Not :
                                                      Carry::Hardware;
    }
    /* A NIC with memory protection: both ends must be registered. */
    const Carry without = transfer.kind == Transfer::Kind::Get ?
                              Carry::Not : Carry::Messages;
    if (transfer.kind != Transfer::Kind::ServeGet &&
        transfer.region == nullptr) {
        return without;
    }
    return opens(transfer, path)      ? Carry::Hardware :
           awaits_key(transfer, path) ? Carry::NotYet :
                                        without;
}

/* Asks the policy for the next chunk. */
BulkSender::Pick BulkSender::choose(Transfer &transfer, const Piece *piece)
{
    Pick pick;
    const Staged *copy = piece != nullptr ? piece->staged : transfer.staged;
    const bool there   = !transfer.from_gpu ||
                         (copy != nullptr && !copy->copying);
    if (ucs_unlikely(!there && (piece != nullptr ||
                                !env_.nics.any_for_gpus()))) {
        pick.none = piece != nullptr;
        return pick; /* copied() comes back */
    }
    const BulkSettings &settings = env_.settings;
    sched::PathViews room;
    sched::PathView *views = room.at;
    Path            *usable[sched::max_paths];
    Carry            ways[sched::max_paths];
    bool             direct[sched::max_paths];
    size_t           count = 0;
    sched::Nanos     now   = env_.host.now();
    LoadView        &loads = env_.loads;
    bool             full  = false;
    /* It waits for a copy that has not begun, or for a NIC that needs none. */
    const bool       uncopied = transfer.from_gpu && piece == nullptr &&
                                transfer.staged == nullptr;
    bool             waits_for_nic = false;
    loads.refresh(now);
    env_.planning.refresh(now);
    if (ucs_unlikely(mending_ != 0)) {
        revive(now);
    }
    if (backlog_ >= kLong && !settings.fixed_weights && now >= next_ask_) {
        ask_for_load(now);
    }
    for (auto &candidate : paths_) {
        Path &p    = *candidate;
        if (!in_play(p)) {
            continue;
        }
        bool ready = p.state == Path::State::Ready || connect(p);
        Carry how  = ucs_likely(!connection_.failed()) ? carry(transfer, p) :
                                                   Carry::Not;
        if (connection_.failed()) {
            return pick; /* and the transfer may have ended */
        }
        if (how == Carry::Not) {
            continue;
        }
        direct[count] = ucs_unlikely(transfer.from_gpu) && piece == nullptr &&
                        may_read_gpu(transfer, p, how);
        waits_for_nic = waits_for_nic || (ucs_unlikely(uncopied) &&
                                          direct_way(transfer, p, how));
        if (ucs_unlikely(transfer.from_gpu) && !direct[count] &&
            how != Carry::NotYet && !may_read_copy(p, how)) {
            how = Carry::Messages; /* it reads the GPU's memory, not ours */
        }
        bool open     = ready && !p.blocked && how != Carry::NotYet &&
                        (ucs_likely(there) || direct[count]);
        usable[count] = &p;
        ways[count]   = how;
        views[count]  = sched::view_of(p.meter, now, settings.limits, open);
        views[count].overhead += p.rail.far_overhead();
        views[count].planned = p.planned;
        if (settings.fixed_weights) {
            views[count].rate   = p.weight;
            views[count].window = sched::window_for(p.weight,
                                                    settings.limits);
        } else {
            full |= p.rail.nic.show(p.meter, now, settings.limits,
                                    loads.borrow_max(), views[count]);
            if (ucs_unlikely(asked_) && receiver_.valid(now)) {
                receiver_.show(p.remote.index, views[count]);
            }
        }
        ++count;
    }
    if (count == 0) {
        pick.none  = any_usable();
        pick.stuck = (mending_ == 0 || pick.none) &&
                     transfer.rest() == transfer.length &&
                     !out_;
        if (!pick.stuck && mending_ != 0) {
            /* No path is whole, or none that can: TCP cannot read what a get
             * has begun to. mend() sees to it. */
            starved_ = true;
            connection_.defer();
        }
        return pick;
    }
    size_t remaining          = piece != nullptr ?
                                    piece->length :
                                    transfer.rest();
    transfer.demand.remaining = sched::Bytes(remaining);
    transfer.demand.planned   = planned_;
    transfer.demand.backlog   = sched::Bytes(backlog_ - remaining);
    sched::Choice choice = settings.policy->next({views, count},
                                                 transfer.demand,
                                                 settings.limits);
    if (!choice) {
        if (full) {
            env_.room.wait(*this);
        }
        /* With nothing on its way the policy waits for a NIC that others may
         * have copies for. */
        pick.none = uncopied && (!waits_for_nic || in_flight_ == 0);
        return pick;
    }
    if (ucs_unlikely(env_.trace != nullptr)) {
        seen_ = views[choice.path];
    }
    pick.path   = usable[choice.path];
    pick.how    = ways[choice.path];
    pick.length = std::min<uint64_t>(choice.length.count(), remaining);
    if (pick.how == Carry::Slot) {
        pick.length = std::min(pick.length, slots_size_);
    }
    if (pick.path->rail.reads() && !pick.path->by_messages) {
        const auto &cap = pick.path->rail.control().attr().cap;
        pick.length     = std::min(pick.length,
                                   transfer.kind == Transfer::Kind::Get ?
                                       cap.get.max_zcopy : cap.put.max_zcopy);
    }
    pick.direct = direct[choice.path];
    if (ucs_unlikely(pick.direct)) {
        cut_direct(transfer, pick);
    } else if (ucs_unlikely(transfer.from_gpu) && piece == nullptr) {
        cut_staged(transfer, pick);
    }
    return pick;
}

} // namespace fuselink

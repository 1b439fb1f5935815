/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "plan_manager.h"

#include "../../../ucs_ext/hash.h"
#include "../rail/rails.h"
#include "bulk.h"

#include <algorithm>
#include <span>

namespace fuselink {
namespace {

/* Longer than a plan takes by far, short against a transfer that is worth one.
 * What is posted together is posted within it. */
constexpr sched::Nanos kPause = sched::Nanos::millis(1);

/* While a plan is followed it is looked at again: loads change. */
constexpr sched::Nanos kAgain = sched::Nanos::millis(8);

/* A plan must end earlier by this part: speeds are measured, and in what is
 * balanced they alone make plans that look better. */
constexpr double kWorth = 0.15;

constexpr uint32_t kDemands = 64;
constexpr uint32_t kLinks   = 512;
constexpr uint32_t kPaths   = 1024;

/* The peer's NIC: those of one host that reach us by the same address are the
 * same, whichever process names it. */
uint64_t key_of(uint64_t peer, const Path &path)
{
    const auto &address = path.remote.device_address;
    Hash hash(peer >> (64 - wire::kUuidNetworkBits));
    hash.add({reinterpret_cast<const char *>(address.data()),
              address.size()});
    return hash.value();
}

} // namespace

/* The paths of a sender that counts, in their order: where each leads. */
void PlanManager::see(const BulkSender &sender)
{
    for (const auto &path : sender.paths()) {
        if (!sender.paths().in_play(*path)) {
            continue;
        }
        const uint64_t key = key_of(sender.connection().uuid(), *path);
        const auto [found, is_new] =
            by_key_.try_emplace(key, static_cast<uint32_t>(receivers_.size()));
        if (is_new) {
            receivers_.emplace_back();
        }
        Receiver &receiver = receivers_[found->second];
        Way       way{path->rail.index(), found->second, path->full_rate()};
        receiver.load += path->meter.in_flight();
        receiver.rate  = std::max(receiver.rate, way.rate);
        ways_.push_back(way);
    }
}

/* Who has something to send, and over what, if it is as many as a plan is made for. False:
 * it is not. */
bool PlanManager::collect()
{
    senders_.clear();
    receivers_.clear();
    by_key_.clear();
    ways_.clear();
    peers_.for_each_sender([this](BulkSender &sender) {
        sender.paths().drop_plan();
        if (!sender.connection().failed() && sender.backlog() != 0) {
            senders_.push_back({&sender, 0, 0});
        }
    });
    if (senders_.size() < 2 || senders_.size() > kDemands) {
        return false;
    }
    for (Sender &sender : senders_) {
        sender.first = ways_.size();
        see(*sender.sender);
        sender.ways = ways_.size() - sender.first;
    }
    return true;
}

/* Adds a sender's demand, and what it would put on links if it were divided by
 * the speeds of its paths. */
uint32_t PlanManager::offer(const Sender &from, double &soonest)
{
    const std::span<const Way> ways{ways_.data() + from.first, from.ways};
    const BulkSender &sender = *from.sender;
    const auto nics          = static_cast<uint32_t>(rails_.list().size());
    sched::Planner::Path paths[sched::max_paths];
    double sum = 0;
    for (const Way &way : ways) {
        sum += way.rate.bytes_per_second();
    }
    for (size_t i = 0; i < ways.size(); ++i) {
        const Way &way     = ways[i];
        const double bytes = static_cast<double>(sender.backlog()) *
                             way.rate.bytes_per_second() / std::max(sum, 1.0);
        paths[i] = {way.nic, nics + way.receiver};
        for (uint32_t link : {paths[i].tx, paths[i].rx}) {
            loads_[link] += bytes / std::max(rates_[link], 1.0);
            soonest       = std::max(soonest, loads_[link]);
        }
    }
    return planner_->add_demand(sender.connection().uuid(),
                                sched::Bytes(sender.backlog()),
                                {paths, ways.size()});
}

/* True if a plan is followed. */
bool PlanManager::solve()
{
    if (planner_ == nullptr) {
        planner_ = std::make_unique<sched::Planner>(
            sched::Planner::Maxima{kLinks, kDemands, kPaths});
    }
    planner_->begin();
    loads_.clear();
    rates_.clear();
    auto add_link = [&](sched::Rate rate, sched::Bytes load) {
        loads_.push_back((load / rate).as_seconds());
        rates_.push_back(rate.bytes_per_second());
        return planner_->add_link(rate, load) != sched::Planner::none;
    };
    bool fits = true;
    for (const auto &rail : rails_.list()) {
        const sched::SharedNic &nic = rail->nic.shared();
        fits = fits && add_link(nic.rate, nic.in_flight + nic.ahead);
    }
    for (const Receiver &receiver : receivers_) {
        fits = fits && add_link(receiver.rate, receiver.load);
    }
    double unplanned = 0;
    for (size_t i = 0; fits && i < senders_.size(); ++i) {
        fits = offer(senders_[i], unplanned) == i;
    }
    if (!fits ||
        planner_->solve() > unplanned * (1 - kWorth)) {
        return false;
    }
    for (size_t i = 0; i < senders_.size(); ++i) {
        senders_[i].sender->paths().take_plan(
            planner_->split(static_cast<uint32_t>(i)));
    }
    return true;
}

void PlanManager::plan(sched::Nanos now)
{
    due_  = collect() && solve();
    next_ = now + (due_ ? kAgain : kPause);
    if (due_) {
        ++followed_;
        ucs_trace("fuselink: plan %lu for %zu peers", followed_,
                  senders_.size());
    }
}

} // namespace fuselink

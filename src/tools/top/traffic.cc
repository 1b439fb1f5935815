/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "traffic.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace fuselink::top {
namespace {

uint64_t grown(uint64_t before, uint64_t after)
{
    return after - std::min(before, after);
}

/* What had been completed by each flow. Looked up by key: a hostile board may
 * have tens of thousands of them. */
class Completed {
public:
    explicit Completed(const Reading &reading)
    {
        for (const auto &flow : reading.flows) {
            known_[key(reading, flow)] = flow.completed;
        }
    }
    /** 0 for one that was not there. */
    uint64_t of(const Reading &later, const Reading::Flow &flow) const
    {
        auto it = known_.find(key(later, flow));
        return it != known_.end() ? it->second : 0;
    }

private:
    using Key = std::tuple<uid_t, unsigned, uint64_t, std::string, Direction>;

    static Key key(const Reading &reading, const Reading::Flow &flow)
    {
        const auto &process = reading.processes[flow.process];
        return {process.owner, process.seat, process.id,
                reading.nics[flow.nic].name, flow.direction};
    }

    std::map<Key, uint64_t> known_;
};

double kernel_rate(const Reading &before, const Reading::Nic &nic,
                   Direction direction, double seconds)
{
    for (const auto &old : before.nics) {
        if (old.name == nic.name && old.counters && nic.counters) {
            return static_cast<double>(
                       direction == Direction::Out ?
                           grown(old.counters->sent, nic.counters->sent) :
                           grown(old.counters->received,
                                 nic.counters->received)) / seconds;
        }
    }
    return NAN;
}

} // namespace

Traffic compare(const Reading &before, const Reading &after)
{
    Traffic traffic;
    traffic.seconds = std::max(
        static_cast<double>(after.at - before.at) * 1e-9, 1e-6);
    traffic.totals.resize(after.processes.size());
    for (const auto &nic : after.nics) {
        for (auto direction : {Direction::Out, Direction::In}) {
            Traffic::Line line{.nic = &nic, .direction = direction};
            line.nic_rate = kernel_rate(before, nic, direction,
                                        traffic.seconds);
            traffic.lines.push_back(std::move(line));
        }
    }
    const Completed completed(before);
    for (const auto &flow : after.flows) {
        const auto &process = after.processes[flow.process];
        auto       &line    = traffic.lines[2 * flow.nic +
                                   static_cast<size_t>(flow.direction)];
        uint64_t moved = grown(completed.of(after, flow), flow.completed);
        double   rate  = static_cast<double>(moved) / traffic.seconds;
        auto    &totals = traffic.totals[flow.process];
        (flow.direction == Direction::Out ? totals.out : totals.in) += rate;
        totals.borrowed += flow.borrowed;
        line.rate       += rate;
        line.in_flight  += flow.in_flight;
        line.parts.push_back({&process, &flow, rate});
    }
    for (const auto &link : after.gpu_links) {
        const auto old = std::find_if(
            before.gpu_links.begin(), before.gpu_links.end(), [&](const auto &one) {
                return one.owner == link.owner && one.entry == link.entry &&
                       one.id == link.id;
            });
        const bool known = old != before.gpu_links.end();
        auto rate = [&](uint64_t was, uint64_t is) {
            return static_cast<double>(grown(was, is)) / traffic.seconds;
        };
        traffic.gpu_links.push_back({rate(known ? old->out : 0, link.out),
                                     rate(known ? old->in : 0, link.in),
                                     rate(known ? old->nics_out : 0, link.nics_out),
                                     rate(known ? old->nics_in : 0, link.nics_in)});
    }
    for (auto &line : traffic.lines) {
        line.of_speed = line.nic->speed != 0 ?
                            line.rate / static_cast<double>(line.nic->speed) :
                            NAN;
        std::stable_sort(line.parts.begin(), line.parts.end(),
                         [](const Traffic::Part &x, const Traffic::Part &y) {
                             return x.rate > y.rate;
                         });
    }
    return traffic;
}

} // namespace fuselink::top

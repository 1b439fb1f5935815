/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "auto.h"

#include "finish.h"
#include "plan.h"

namespace fuselink::sched {
namespace {

constexpr Finish alone;
constexpr Plan together;

} // namespace

Choice Auto::next(std::span<const PathView> paths, Demand &demand,
                  const Limits &limits) const noexcept
{
    if (demand.planned) [[unlikely]] {
        return together.next(paths, demand, limits);
    }
    return alone.next(paths, demand, limits);
}

const char *Auto::name() const noexcept
{
    return "auto";
}

} // namespace fuselink::sched

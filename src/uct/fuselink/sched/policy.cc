/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "policy.h"

#include "auto.h"
#include "finish.h"
#include "idle.h"
#include "plan.h"
#include "single.h"
#include "stripe.h"

namespace fuselink::sched {
namespace {

constinit const Auto auto_policy;
constinit const Finish finish_policy;
constinit const Idle idle_policy;
constinit const Plan plan_policy;
constinit const Single single_policy;
constinit const Stripe stripe_policy;

constexpr PolicyInfo all_policies[] = {
        {"single", "all bytes of a transfer on its home rail", &single_policy},
        {"stripe", "fixed shares by reported bandwidth, as UCX multi-rail does",
         &stripe_policy},
        {"idle",
         "the own NIC if idle, else an idle one of others, else the own",
         &idle_policy},
        {"finish",
         "each chunk where it finishes first, by bytes in flight and "
         "measured rate",
         &finish_policy},
        {"plan",
         "what a plan over all transfers posted together says, else finish",
         &plan_policy},
        {"auto", "plan where there is one, else finish", &auto_policy},
};

} // namespace

std::span<const PolicyInfo> policies() noexcept
{
    return all_policies;
}

const Policy *find_policy(std::string_view name) noexcept
{
    for (const PolicyInfo &info : all_policies) {
        if (name == info.name) {
            return info.policy;
        }
    }
    return nullptr;
}

} // namespace fuselink::sched

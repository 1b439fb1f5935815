/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "policy.h"

#include "finish.h"
#include "single.h"
#include "stripe.h"

namespace fuselink::sched {
namespace {

constinit const Finish finish_policy;
constinit const Single single_policy;
constinit const Stripe stripe_policy;

constexpr PolicyInfo all_policies[] = {
        {"single", "all bytes of a transfer on its home rail", &single_policy},
        {"stripe", "fixed shares by reported bandwidth, as UCX multi-rail does",
         &stripe_policy},
        {"finish",
         "each chunk where it finishes first, by bytes in flight and "
         "measured rate",
         &finish_policy},
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

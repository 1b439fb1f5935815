/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_UNSUPPORTED_OP_H
#define FUSELINK_EDGE_UNSUPPORTED_OP_H

#include "../ucx.h"

#include <type_traits>

namespace fuselink {

/* Becomes a function of whatever type is asked for, which ignores its
 * arguments and says "unsupported". UCP calls some operations without looking
 * whether they are there, so no slot of a table is left empty; and a slot
 * whose signature differs between UCX releases needs no stub for each. */
struct UnsupportedOp {
    template <typename R, typename... Args> using Function = R (*)(Args...);

    template <typename R, typename... Args>
    constexpr operator Function<R, Args...>() const
    {
        return [](Args...) -> R {
            if constexpr (std::is_pointer_v<R>) {
                return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
            } else if constexpr (!std::is_void_v<R>) {
                return static_cast<R>(UCS_ERR_UNSUPPORTED);
            }
        };
    }
};

inline constexpr UnsupportedOp kUnsupportedOp{};

} // namespace fuselink

#endif

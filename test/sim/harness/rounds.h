/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_ROUNDS_H
#define FUSELINK_TEST_SIM_HARNESS_ROUNDS_H

#include "../fabric/world.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace fuselink::sim {

/**
 * The programs of a run, each in its turn, and the time that passes when none of them has
 * done anything. `P`: Program or UcpProgram.
 */
template <typename P> class Rounds {
public:
    /** All outlive this; `order` is whose turn it is. */
    Rounds(World &world, const std::vector<std::unique_ptr<P>> &programs, Random &order)
        : world_(world), programs_(programs), order_(order)
    {
    }

    /** Goes on until `done()`. False if `bound` has passed before, a rule is violated, or
     *  a program waits for longer than it may. */
    template <typename Done> bool until(Instant bound, Done &&done)
    {
        const Instant end = world_.time().now() + bound;
        while (!done()) {
            if (!world_.journal().violations().empty() || world_.time().now() > end ||
                (++rounds_ % 1024 == 0 && any_overdue())) {
                return false;
            }
            if (step()) {
                pause_ = kShortPause;
            } else {
                idle();
            }
        }
        return true;
    }

    /** The same while nothing is wanted of anybody, in fewer rounds. */
    template <typename Done> bool calm_until(Instant bound, Done &&done)
    {
        longest_        = kCalmPause;
        const bool came = until(bound, done);
        longest_        = kLongPause;
        return came;
    }

    /** So long nothing is wanted. */
    void pass(Instant time)
    {
        calm_until(time, [] { return false; });
    }

private:
    /* Each program in turn, in an order of its own. True if one did something. */
    bool step()
    {
        bool         did   = false;
        const size_t count = programs_.size();
        const size_t first = order_.below(count);
        for (size_t i = 0; i < count; ++i) {
            P &program     = *programs_[(first + i) % count];
            world_.running = program.process().index();
            if (program.process().runs()) {
                did |= program.step();
            }
        }
        return did;
    }

    void idle()
    {
        Instant step = pause_;
        if (!world_.time().empty()) {
            step = std::min(step, world_.time().next() - world_.time().now());
        }
        world_.time().pass(std::max<Instant>(step, 1));
        pause_ = std::min(2 * pause_, longest_);
    }

    bool any_overdue() const
    {
        return std::any_of(programs_.begin(), programs_.end(), [](const auto &program) {
            return !program->gone() && program->is_overdue();
        });
    }

    static constexpr Instant kShortPause = kMicrosecond, kLongPause = 200 * kMicrosecond,
                             kCalmPause = kMillisecond;

    World                                 &world_;
    const std::vector<std::unique_ptr<P>> &programs_;
    Random                                &order_;
    Instant                                pause_   = kShortPause;
    Instant                                longest_ = kLongPause;
    uint64_t                               rounds_  = 0;
};

} // namespace fuselink::sim

#endif

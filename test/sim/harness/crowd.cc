/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "crowd.h"

#include <utility>

namespace fuselink::sim {

void Crowd::begin()
{
    if (!scenario_.crowded) {
        return;
    }
    for (unsigned i : {0, 1}) {
        longest_run_[i]  = chance_.scaled(1'000'000, 50'000'000);
        longest_wait_[i] = chance_.scaled(4'000'000, 80'000'000);
    }
    for (auto &process : world_.processes()) {
        run(*process);
    }
}

void Crowd::end()
{
    over_ = true;
    for (auto &process : world_.processes()) {
        process->waits = false;
    }
}

/* For a slice of time, as schedulers give. */
void Crowd::run(Process &process)
{
    process.waits = false;
    after(chance_.scaled(50'000, longest_run_[process.index() % 2]),
          [this, &process] { wait(process); });
}

/* For those of others. */
void Crowd::wait(Process &process)
{
    world_.count(Count::Waits);
    process.waits = true;
    const uint64_t most = longest_wait_[process.index() % 2];
    after(chance_.between(most / 16, most), [this, &process] { run(process); });
}

void Crowd::after(uint64_t time, std::function<void()> then)
{
    world_.time().after(static_cast<Instant>(time), [this, then = std::move(then)] {
        if (!over_) {
            then();
        }
    });
}

} // namespace fuselink::sim

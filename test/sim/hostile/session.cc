/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "session.h"

#include "../harness/scenario.h"
#include "attacker.h"
#include "bytes.h"
#include "../uct/memory.h"
#include "victim.h"

#include <cstdlib>
#include <memory>

namespace fuselink::sim {
namespace {

constexpr Instant kStep = 20 * kMicrosecond;

/* A script is as long as a fuzzer makes it. */
constexpr unsigned kMostActs = 300;

/* What the victim says of the peer is not looked at: it may say much. */
ucs_log_func_rc_t say_nothing(const char *, unsigned, const char *,
                              ucs_log_level_t,
                              const ucs_log_component_config_t *, const char *,
                              va_list)
{
    return UCS_LOG_FUNC_RC_STOP;
}

void register_once()
{
    static bool registered = false;
    if (!registered) {
        registered = true;
        register_component();
        register_gpu_component();
        if (getenv("UCX_LOG_LEVEL") == nullptr) {
            ucs_log_push_handler(say_nothing);
        }
    }
}

Profile profile_of(Wires wires)
{
    Profile profile;
    profile.ip          = wires == Wires::Tcp || wires == Wires::Mixed;
    profile.rdma        = wires != Wires::Tcp;
    profile.queue_pairs = wires != Wires::Ud;
    return profile;
}

} // namespace

std::vector<std::string> hostile_session(const uint8_t *data, size_t size)
{
    register_once();
    Bytes script(data, size);
    World world(1, profile_of(static_cast<Wires>(script.below(4))));
    World::current = &world;
    std::vector<std::unique_ptr<NodeMemory>> memories;
    for (unsigned node = 0; node < 2; ++node) {
        world.add_node(2);
        memories.push_back(std::make_unique<NodeMemory>(world));
    }
    {
        Victim victim(world.add_process(0, Victim::kArena, Victim::kGpu),
                      *memories[0]);
        if (!victim.open(script.below(2) != 0)) {
            return {"the victim does not open its interface"};
        }
        Process &enemy = world.add_process(1, Victim::kArena, 0);
        enemy.open(enemy.arena(), Victim::kArena);
        Attacker attacker(enemy, victim);
        if (!attacker.open()) {
            return {"the attacker does not open its interface"};
        }
        const auto pass = [&](Instant time) {
            world.time().pass(time);
            victim.progress(8);
            attacker.progress(8);
        };
        if (script.below(4) != 0) { /* mostly it begins as others do */
            attacker.say_hello();
        }
        for (unsigned n = 0; !script.empty() && n < kMostActs; ++n) {
            constexpr Instant kPauses[] = {kMicrosecond, kMillisecond,
                                           100 * kMillisecond, 3 * kSecond};
            const unsigned what = script.below(8);
            if (what < 5) {
                attacker.act(script);
            } else if (what < 7) {
                victim.connect(attacker.table(),
                               reinterpret_cast<uintptr_t>(enemy.arena()));
                victim.act(script);
            } else {
                pass(kPauses[script.below(4)]);
            }
            pass(kStep);
        }
        for (unsigned n = 0; n < 50; ++n) {
            pass(kMillisecond);
        }
        victim.check();
        victim.close();
        attacker.close();
    }
    for (const auto &process : world.processes()) {
        if (process->endpoints != 0 || process->registrations() != 0 ||
            process->sockets != 0) {
            world.journal().violate("process " +
                                    std::to_string(process->index()) +
                                    " leaves something");
        }
    }
    /* What is done to the attacker's memory it has asked for itself. */
    std::vector<std::string> violations = world.journal().violations();
    std::erase_if(violations, [](const std::string &violation) {
        return violation.starts_with("process 1 ");
    });
    World::current = nullptr;
    return violations;
}

} // namespace fuselink::sim

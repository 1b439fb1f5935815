/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_LOAD_CHECK_H
#define FUSELINK_TEST_SIM_HARNESS_LOAD_CHECK_H

#include "../fabric/world.h"
#include "scenario.h"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace fuselink::sim {

class Program;

/**
 * What senders of much tell their receivers of the load that they bring, and are told
 * of the load that others bring: reads along as messages come, knows what each
 * receiver has heard, and so what it has to answer.
 */
class LoadCheck {
public:
    LoadCheck(const Scenario &scenario, World &world,
              std::vector<std::unique_ptr<Program>> &programs);
    ~LoadCheck();
    LoadCheck(const LoadCheck &)            = delete;
    LoadCheck &operator=(const LoadCheck &) = delete;

    /** All is done: whoever has asked has said that nothing comes any more. */
    void check_calm();

private:
    using Pair  = std::pair<unsigned, unsigned>; /* from and to whom */
    using Loads = std::array<uint64_t, 16>;      /* KiB, by rail of the receiver */
    struct Said {
        Loads   loads{};
        Instant came     = 0;
        Instant answered = 0; /* 0: not yet. The receiver may have held it back so
                                 long, behind messages of lower numbers */
    };
    struct Answer {
        Loads   loads{};
        Instant asked = 0;
    };

    void on_message(Process &at, const uint8_t *data, size_t length);
    void on_ask(unsigned from, unsigned to, const Loads &loads);
    void on_grant(unsigned from, unsigned to, const Loads &loads,
                  unsigned rails);
    bool may_differ(unsigned from, unsigned to, Instant asked) const;
    bool find(uint64_t uuid, unsigned &index);
    bool alone(unsigned process) const;
    bool calm() const;

    const Scenario                        &scenario_;
    World                                 &world_;
    std::vector<std::unique_ptr<Program>> &programs_;
    std::map<uint64_t, unsigned>           known_; /* processes, by identity */
    std::map<Pair, Said>                   said_;
    std::map<Pair, std::deque<Answer>>     owed_;
    /* By who sent it to whom, session and number. */
    std::set<std::tuple<unsigned, unsigned, uint32_t, uint16_t>> had_;
};

} // namespace fuselink::sim

#endif

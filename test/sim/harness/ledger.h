/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_LEDGER_H
#define FUSELINK_TEST_SIM_HARNESS_LEDGER_H

#include "../fabric/world.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fuselink::sim {

/** The byte that belongs at a place of what was made from a seed; that of `seed`
 *  at n is that of `seed` + n in front. */
inline constexpr uint64_t kPatternFactor = 0x9e3779b97f4a7c15u;
inline uint8_t pattern(uint64_t seed, size_t at)
{
    return static_cast<uint8_t>((seed + at) * kPatternFactor >> 56);
}
void fill(uint8_t *to, size_t length, uint64_t seed);
/** Of a range that its user has back. */
inline constexpr uint64_t kGarbage = 0xdeadbeef;
/** The first that differs; `length` if none does. */
size_t differs(const uint8_t *at, size_t length, uint64_t seed);

/** Of what is in front of a process's arena, to be read. */
inline uint64_t library_seed(const Process &process)
{
    return 0x5eed0000 + process.index() * 1'000'003u;
}

/** What a put is to leave in a peer's memory. */
struct Landing {
    Process *process = nullptr;
    size_t   at = 0, length = 0;
    uint64_t seed = 0;
    bool     known = false; /* its user knows that it is there */
    bool     flushed = false; /* the same by a flush, when it was */
    bool     failed = false;
    bool     revocable = false; /* by such a key */
    std::shared_ptr<Landing> over; /* the one that it replaces */
    bool     replaced = false;     /* another has begun to, */
    unsigned replaced_at = 0;      /* behind so many fences */
};

/**
 * What all programs of a run have sent and are owed, as nobody in it can know it:
 * so what arrives can be checked where it arrives.
 */
class Ledger {
public:
    explicit Ledger(World &world) : world_(world) {}

    World &world() { return world_; }

    /* --- messages --- */

    struct Message {
        size_t   length;
        uint64_t seed;
        std::vector<std::shared_ptr<Landing>> after; /* that were fenced off */
        std::shared_ptr<Landing> written; /* by whoever gets it */
    };
    struct Flow { /* of one endpoint, in order */
        unsigned             from, to;
        std::vector<Message> sent;
        uint32_t             delivered = 0;
        bool                 may_lose = false; /* it has failed, or was given up */
    };

    uint32_t begin_flow(unsigned from, unsigned to);
    Flow    &flow(uint32_t instance) { return flows_.at(instance); }
    /** A message has come to process `at`. False if it cannot be. */
    void     deliver(unsigned at, const uint8_t *data, size_t length);

    /* --- failures --- */

    /** Something has happened after which these two may lose each other. */
    void excuse(unsigned a, unsigned b);
    void excuse_all(unsigned process);
    bool excused(unsigned a, unsigned b) const;

    /* --- what must stay as it is --- */

    /** This range belongs to its user, who left that in it. */
    void keep(Process &process, size_t at, size_t length, uint64_t seed);
    void note(std::shared_ptr<Landing> landing) { landings_.push_back(landing); }
    /** The same of one that the process may revoke(), before it begins. */
    void note_revocable(std::shared_ptr<Landing> landing)
    {
        revocable_.push_back(landing);
    }
    /** The process has its memory back, also where a put is to leave something yet. */
    void revoke(Process &process);

    /** At the end of a run. */
    void check();

private:
    struct Kept {
        Process *process;
        size_t   at, length;
        uint64_t seed;
    };

    World                                  &world_;
    std::map<uint32_t, Flow>                flows_;
    uint32_t                                last_ = 0;
    std::set<std::pair<unsigned, unsigned>> excused_;
    std::vector<Kept>                       kept_;
    std::vector<std::shared_ptr<Landing>>   landings_, revocable_;
};

} // namespace fuselink::sim

#endif

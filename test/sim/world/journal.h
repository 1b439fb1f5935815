/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_WORLD_JOURNAL_H
#define FUSELINK_TEST_SIM_WORLD_JOURNAL_H

#include "timeline.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace fuselink::sim {

/**
 * What happened in a run, in order: a hash of all of it, by which two runs can be
 * compared, and the lines themselves if somebody wants to read them. Lines have
 * numbers and offsets, never addresses, which differ from one process to another.
 * Keeps what was violated: the run has failed then.
 */
class Journal {
public:
    explicit Journal(const Timeline &time) : time_(time) {}

    void print_to(FILE *out) { out_ = out; }

    /** One event: what, of whom (a process), and numbers that go with it. */
    void note(const char *what, unsigned who, uint64_t a = 0, uint64_t b = 0,
              uint64_t c = 0)
    {
        for (const char *at = what; *at != 0; ++at) {
            mix(static_cast<uint8_t>(*at));
        }
        mix(static_cast<uint64_t>(time_.now()));
        mix(who);
        mix(a);
        mix(b);
        mix(c);
        ++lines_;
        if (out_ != nullptr) {
            fprintf(out_, "%12.3f us  p%u %-22s %" PRIu64 " %" PRIu64
                    " %" PRIu64 "\n", static_cast<double>(time_.now()) / 1e3,
                    who, what, a, b, c);
        }
    }

    /** Something that must hold does not. */
    void violate(const std::string &what)
    {
        if (out_ != nullptr) {
            fprintf(out_, "%12.3f us  VIOLATED: %s\n",
                    static_cast<double>(time_.now()) / 1e3, what.c_str());
        }
        if (violations_.size() < 16) {
            violations_.push_back(what);
        }
    }

    uint64_t                        hash() const { return hash_; }
    uint64_t                        lines() const { return lines_; }
    const std::vector<std::string> &violations() const { return violations_; }

private:
    void mix(uint64_t value)
    {
        hash_ = (hash_ ^ value) * 0x100000001b3u;
        hash_ ^= hash_ >> 29;
    }

    const Timeline          &time_;
    FILE                    *out_ = nullptr;
    uint64_t                 hash_ = 0xcbf29ce484222325u;
    uint64_t                 lines_ = 0;
    std::vector<std::string> violations_;
};

} // namespace fuselink::sim

#endif

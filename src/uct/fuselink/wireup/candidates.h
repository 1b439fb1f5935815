/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIREUP_CANDIDATES_H
#define FUSELINK_WIREUP_CANDIDATES_H

#include "../rail/rails.h"
#include "../wire/address.h"
#include "candidate_order.h"

#include <vector>

namespace fuselink {

/** The same number at both ends of a connection, any value. */
inline uint64_t common_number(uint64_t one, uint64_t other)
{
    uint64_t mix = one ^ other;
    mix ^= mix >> 32;
    return mix ^ (mix >> 16);
}

/**
 * Pairs of a rail of ours and one of a peer that hellos can go over, and which of
 * them is to be tried next.
 *
 * One thread at a time (the worker's).
 */
class Candidates {
public:
    struct Candidate {
        Rail            *rail;
        wire::RailRecord remote;
    };

    /** For hellos to the interface `peer`. */
    Candidates(const Rails &rails, uint64_t peer) : rails_(rails), peer_(peer) {}
    Candidates(const Candidates &)            = delete;
    Candidates &operator=(const Candidates &) = delete;

    /** Those that are not there yet. The peer's address has its first few rails,
     *  its hello has all of them. */
    void add(const wire::RailTable &theirs);
    void add(Rail &rail, const wire::RailRecord &remote);
    /** Rails that the longest table given to add() had. */
    size_t known_rails() const { return known_rails_; }

    bool             empty() const { return candidates_.empty(); }
    size_t           size() const { return candidates_.size(); }
    const Candidate &at(size_t i) const { return candidates_[i]; }

    /** Those of which the wire is silent are tried after all others from now on. */
    void look_at_wires();

    CandidateOrder       &order() { return order_; }
    const CandidateOrder &order() const { return order_; }

private:
    Rail *best_own(const wire::RailRecord &remote, bool own_route) const;

    const Rails           &rails_;
    const uint64_t         peer_;
    std::vector<Candidate> candidates_;
    CandidateOrder         order_; /* of the same, by their numbers */
    size_t                 known_rails_ = 0;
};

} // namespace fuselink

#endif

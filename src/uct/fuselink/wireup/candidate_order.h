/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIREUP_CANDIDATE_ORDER_H
#define FUSELINK_WIREUP_CANDIDATE_ORDER_H

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace fuselink {

/**
 * In which order candidates for hellos are tried: by what is known of their
 * rails. Messages want the shortest way: a NIC that needs no kernel, wherever it
 * is, if the user does not keep it for emergencies, and among equals one that is
 * near. Of equals the one that was added first.
 *
 * The one over which the peer's own hello came is known to work: it goes before
 * all others that are left, if it is no standby. Only at the first time that is
 * said nothing of where the rail has endpoints for hellos only, and so no more
 * than datagrams: of these any NIC is as good as another.
 *
 * One thread at a time.
 */
class CandidateOrder {
public:
    struct Candidate {
        uint8_t own;    /* number of our rail, */
        uint8_t remote; /* and of the peer's */
        bool    standby      = false;
        bool    routed_by_ip = false;
        bool    far          = false;
        bool    by_ep        = false; /* its endpoints for hellos are apart */
    };

    /** False if the pair is there already. */
    bool add(const Candidate &candidate)
    {
        if (find(candidate.own, candidate.remote) != size()) {
            return false;
        }
        entries_.push_back({candidate, false, false});
        return true;
    }

    size_t size() const { return entries_.size(); }

    /** The peer's hello came over this pair. */
    void prefer(uint8_t own, uint8_t remote)
    {
        const size_t at = find(own, remote);
        if (at != size() && !entries_[at].candidate.standby) {
            preferred_ = at;
            last_      = last_ == at ? kNone : last_;
        }
    }
    /** next() is that one. */
    bool next_is_preferred() const { return next() == preferred_; }

    /** The best that was not tried; size() if all were. */
    size_t next() const
    {
        if (preferred_ != kNone && !entries_[preferred_].tried &&
            (any_tried_ || entries_[preferred_].candidate.by_ep)) {
            return preferred_;
        }
        size_t best = size();
        for (size_t i = 0; i < entries_.size(); ++i) {
            if (!entries_[i].tried &&
                (best == size() || rank(i) < rank(best))) {
                best = i;
            }
        }
        return best;
    }
    /** Nothing is heard of its wire, or something is: the others first. */
    void set_silent(size_t at, bool silent) { entries_[at].silent = silent; }
    /** Its datagrams arrive, or seem to, and its queue pair has failed: all others
     *  first, from now on. */
    void note_no_data(size_t at) { entries_[at].no_data = true; }
    bool moves_no_data(size_t at) const { return entries_[at].no_data; }
    /** It is tried from now on. */
    void note_tried(size_t at)
    {
        entries_[at].tried = true;
        any_tried_         = true;
    }
    /** All may be tried again; this one, which broke, as the last. */
    void restart(size_t broken)
    {
        for (Entry &entry : entries_) {
            entry.tried = false;
        }
        preferred_ = kNone;
        last_      = broken;
    }

private:
    static constexpr size_t kNone = SIZE_MAX;

    struct Entry {
        Candidate candidate;
        bool      tried;
        bool      silent = false, no_data = false;
    };

    /* size() if it is not there. */
    size_t find(uint8_t own, uint8_t remote) const
    {
        for (size_t i = 0; i < entries_.size(); ++i) {
            if (entries_[i].candidate.own == own &&
                entries_[i].candidate.remote == remote) {
                return i;
            }
        }
        return size();
    }
    std::tuple<bool, bool, bool, bool, bool, bool> rank(size_t at) const
    {
        const Entry     &entry     = entries_[at];
        const Candidate &candidate = entry.candidate;
        return {entry.silent, entry.no_data, at == last_, candidate.standby,
                candidate.routed_by_ip, candidate.far};
    }

    std::vector<Entry> entries_;
    size_t             preferred_ = kNone;
    size_t             last_      = kNone;
    bool               any_tried_ = false;
};

} // namespace fuselink

#endif

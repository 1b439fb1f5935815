/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_POLICY_H
#define FUSELINK_SCHED_POLICY_H

#include "units.h"

#include <cstdint>
#include <span>
#include <string_view>

/*
 * One decision of the scheduler: which path carries the next bytes of a
 * transfer, and how many. A policy is a pure function of what it is shown; it
 * reads no clock, allocates nothing, takes no lock and keeps nothing, so one
 * object serves all transfers of all threads.
 *
 * How it is used. The caller owns everything. For a transfer it builds one
 * PathView per living path and calls next() until it says none(); each choice
 * is posted, subtracted from `remaining` and added to that path's `in_flight`
 * before the next call. The chunk's offset is `total - remaining` as it was
 * before the call. After none() the caller calls again when any path of the
 * span completes something, opens, joins or leaves.
 */
namespace fuselink::sched {

/** The most paths one decision looks at; a longer span is cut. */
inline constexpr uint32_t max_paths = 32;

/** What the caller knows about one path at the moment of the decision. */
struct PathView {
    /** Whose our NIC is, at this moment. */
    enum class Standing : uint8_t {
        Free,  /**< nobody's in particular */
        Own,   /**< this process's direct NIC: others leave it when we send */
        Lent,  /**< another process's direct NIC, which does not use it now */
        Taken  /**< another's, who is using it now, or of a job of higher
                    priority */
    };

    /** Bytes per second the path delivers when busy (`stripe`: its weight). */
    Rate rate;
    /** Fixed time from giving the path a chunk until its acknowledgement, over
     *  and above the time its bytes take. 0 or more. */
    Nanos overhead;
    /** Bytes given to the path, by all transfers, and not yet acknowledged. */
    Bytes in_flight;
    /** The path takes no new chunk at or above this much in flight. A chunk
     *  may overshoot it: in flight stays below window plus one chunk. An idle
     *  path takes a chunk whatever its window. */
    Bytes window;
    /** false: cannot take a chunk now (e.g. the rail's queue is full). What is
     *  in flight on it still drains, so it still counts when a policy decides
     *  whether to wait. A dead path must not be in the span at all. */
    bool open = true;
    /** Optional. The part of in_flight that has, by estimate, already been
     *  carried although its acknowledgement is not here. 0: not estimated.
     *  See RateMeter::drained(). */
    Bytes drained{};
    /** Optional. The rate is a guess or out of date: worth one smallest chunk
     *  now and then to learn it, even where the rate would earn it none. */
    bool probe = false;
    /** Bytes of others that this path's NICs are to carry first: other
     *  processes of this node at our end, other senders at the peer's,
     *  whichever is more. 0: none or not known. */
    Bytes ahead{};
    Standing standing = Standing::Free;
    /** Optional. Bytes of this transfer that a plan over all transfers posted
     *  together wants on this path and that are not given to it yet. Below 0
     *  when it has more than its part. Meaningful if Demand::planned. */
    double planned = 0;
};

/** Room for the views of one decision. Clearing it all would cost as much as the
 *  decision: entries that were not written are nothing. */
struct PathViews {
    PathViews() noexcept {}
    union {
        PathView at[max_paths];
    };
};

/** What is to be sent, and the policy's notes about it. */
struct Demand {
    /** Bytes of this transfer not given to a path yet. 0: nothing to choose. */
    Bytes remaining;
    /** Bytes of the whole transfer. */
    Bytes total;
    /** Bytes of other transfers that wait behind this one for these paths. */
    Bytes backlog{};
    /** Index of the path the transfer prefers; taken modulo the span. `single`
     *  uses no other; `finish` prefers it among (almost) equals, so that
     *  callers with different homes spread over equal rails. */
    uint32_t home = 0;
    /** Belongs to the policy; 0 at the start of a transfer, then untouched. */
    uint32_t cursor = 0;
    /** PathView::planned is there, and the caller keeps it up to date: it
     *  subtracts what is posted. */
    bool planned = false;
};

/** Bounds on chunks, the same for all paths. */
struct Limits {
    /** A chunk smaller than this costs more than it brings. Only the last
     *  bytes of a transfer may be a smaller chunk. */
    Bytes min_chunk = Bytes::kib(16);
    /** No chunk is larger. */
    Bytes max_chunk = Bytes::mib(4);
    /** The time a chunk should keep its path busy: long against the cost of a
     *  chunk, short against a transfer. */
    Nanos chunk_time = Nanos::millis(4);

    /** Settings that make sense together: 0 < min <= max and time > 0. With
     *  others the policies stay safe but choose poorly. */
    constexpr bool valid() const noexcept
    {
        return !min_chunk.is_zero() && (min_chunk <= max_chunk) &&
               (chunk_time > Nanos());
    }
};

/** A decision: `length` bytes on path `path`, or none: wait. */
struct Choice {
    uint32_t path = 0;
    Bytes length{};

    static constexpr Choice none() noexcept { return Choice(); }
    constexpr explicit operator bool() const noexcept
    {
        return !length.is_zero();
    }
    constexpr bool operator==(const Choice &) const noexcept = default;
};

/**
 * The rule by which chunks find their paths.
 *
 * All policies promise: 0 < length <= min(remaining, max_chunk); never a
 * closed path; never a path that is at or above its window, except an idle
 * one; and, so that no transfer sleeps for ever, never none() when nothing is
 * in flight on any path and a path the policy may use is open. Those which
 * look at the load (all but `single` and `stripe`) use no taken path while
 * there is another one in the span.
 */
class Policy {
public:
    /**
     * Choose the next chunk.
     *
     * @param paths  Living paths; the order must not change during a transfer
     *               except by removal or appending.
     * @param demand Read, and `cursor` written.
     * @param limits Bounds on chunk sizes.
     * @return A chunk, or none() when `remaining` is 0, no path can take one,
     *         or waiting for a path in use is better than what is free now.
     */
    virtual Choice next(std::span<const PathView> paths, Demand &demand,
                        const Limits &limits) const noexcept = 0;

    /** The name by which find_policy() knows it; static storage. */
    virtual const char *name() const noexcept = 0;

protected:
    /* Policies are static objects; nobody owns or deletes one. */
    ~Policy() = default;
};

/** An entry of the list of policies. */
struct PolicyInfo {
    const char *name;
    const char *summary; /**< one line for a help text, no full stop */
    const Policy *policy;
};

/** All policies, in the order in which a help text should show them. */
std::span<const PolicyInfo> policies() noexcept;

/** The policy called exactly @a name, or nullptr. */
const Policy *find_policy(std::string_view name) noexcept;

} // namespace fuselink::sched

#endif

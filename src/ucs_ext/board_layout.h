/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_BOARD_LAYOUT_H
#define FUSELINK_UCS_EXT_BOARD_LAYOUT_H

#include "board.h"
#include "cpus.h"
#include "shared_segment.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

/*
 * The load board in memory, byte for byte; board.h says what it means. Only
 * atomic words, so that a reader never meets half a value, and all of it may be
 * nonsense. Not for use by others than the board.
 */
namespace fuselink::board {

using Word = std::atomic<uint64_t>;
static_assert(sizeof(Word) == 8 && Word::is_always_lock_free);

/** An instant that somebody wrote; 0 if that cannot be: none, or of the future. */
inline int64_t past_instant(uint64_t word, int64_t now)
{
    const auto at = static_cast<int64_t>(word);
    return at > 0 && at <= now ? at : 0;
}
inline int64_t past_instant(const Word &word, int64_t now)
{
    return past_instant(word.load(std::memory_order_relaxed), now);
}

inline constexpr unsigned kNics  = 64; /* one bit each in Seat::nics */
inline constexpr unsigned kSeats = 512;
inline constexpr unsigned kWires = 4096;
inline constexpr unsigned kNameWords = 4;
inline constexpr unsigned kCpuWords  = CpuSet().size() / 64;

/* Another layout has another magic, and so another segment. */
inline constexpr uint64_t kMagic = 0x66756c42'00000005; /* "fulB", version */

/* A NIC of a network namespace. Entered by whoever uses it first, and only replaced
 * when nobody uses it and room is needed. */
struct alignas(64) Nic {
    Word key; /* never 0: which network namespace, which device; 0: unused */
    Word name[kNameWords];
    Word speed; /* bytes per second, as reported */
};

/* One engine (a UCX worker) of some process. */
struct alignas(64) Seat {
    Word owner;  /* ProcessId::word(); 0: free */
    Word state;  /* SeatState */
    Word stamp;  /* of the last sign of life, CLOCK_MONOTONIC ns */
    Word nics;   /* bit per NIC that it uses */
    Word direct; /* bit per NIC that is its own, as to everybody */
    Word claims; /* the same, as to other jobs alone */
    Word job;    /* what it belongs to */
    Word rank;   /* priority of the job, 0 to 2 */
    Word name[2];
    Word cpus[kCpuWords]; /* bit per CPU to which its process is bound; none: it is not */

    void   bind(const CpuSet &cpus);
    CpuSet bound() const;
};

enum SeatState : uint64_t {
    kSeatFree  = 0, /* or being taken, or being cleared */
    kSeatTaken = 1
};

/* What a seat has on one NIC in one direction. Written by that seat only. */
struct alignas(64) Cell {
    Word in_flight; /* bytes */
    Word completed; /* bytes, since the seat was taken */
    Word borrowed;  /* of these, while the NIC was another's */
    Word stamp;     /* of the last change, CLOCK_MONOTONIC ns; 0: never used */

    /* What it says at a moment. */
    struct Look {
        uint64_t flying;    /* bytes; 0 if they are stale */
        uint64_t completed;
        bool     active;    /* has, or just had, bytes in flight */
        bool     recent;    /* or had not long ago */
        bool     claims;    /* or is yet to be taken for an owner that only claims it */
    };

    /* Every word once: it may change meanwhile. */
    Look look(int64_t now) const
    {
        constexpr auto relaxed = std::memory_order_relaxed;
        const auto at = static_cast<int64_t>(stamp.load(relaxed));
        if (at <= 0 || at > now + Board::kHold) {
            return {}; /* never used, or of the future: nonsense */
        }
        const int64_t  age   = now - at;
        const uint64_t bytes = in_flight.load(relaxed);
        Look look;
        look.flying    = age < Board::kStale ?
                             std::min(bytes, Board::kMostBytes) : 0;
        look.completed = std::min(completed.load(relaxed), Board::kMostBytes);
        look.active    = look.flying != 0 || age < Board::kHold;
        look.recent    = age < Board::kRecent;
        look.claims    = age < Board::kClaimHolds;
        return look;
    }
};

/* What has failed on one NIC, as a seat has met it. Written by that seat only, when
 * something changes. For people who look: see NicHealth. */
struct alignas(64) Health {
    Word known; /* 0: nothing was ever written here */
    Word state;
    Word until;
    Word since;
    Word paths;
    Word paths_out;
    Word messages;
    Word breaks;
    Word moves;
    Word resent;
    Word out;
    Word longest;

    void      write(const NicHealth &health);
    /** Bounded, whatever is here. */
    NicHealth read(int64_t now) const;
};

/* A wire, or several whose hashes are the same; see BoardWires. Written by all. */
struct Wire {
    Word heard;  /* the other end was, last: CLOCK_MONOTONIC ns; 0: never */
    Word silent; /* it was proved to be */
    Word drops;  /* it was found to drop packets all the time */
};

struct Segment {
    alignas(64) SharedSegment::Header header;
    Word seats_used; /* no seat beyond so many was ever taken */
    Nic  nics[kNics];
    Seat seats[kSeats];
    Cell cells[kSeats][kNics][2];
    Health health[kSeats][kNics];
    Wire wires[kWires];
};

static_assert(sizeof(Nic) == 64 && sizeof(Seat) == 256 && sizeof(Cell) == 64 &&
              sizeof(Health) == 128);

} // namespace fuselink::board

#endif

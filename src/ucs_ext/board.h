/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_BOARD_H
#define FUSELINK_UCS_EXT_BOARD_H

#include "cpus.h"
#include "nic_health.h"
#include "processes.h"
#include "shared_segment.h"

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fuselink {

namespace board {
struct Segment;
struct Cell;
}

enum class Direction : uint8_t { Out = 0, In = 1 };

/** Priority of a job; a NIC in use by a higher one is left to it. */
enum class Priority : uint8_t { Low = 0, Normal = 1, High = 2 };

/**
 * What the processes of a user tell each other about the NICs of their node:
 * who has how much in flight where. One for all jobs of the user; those of
 * other users have their own and see nothing of each other.
 *
 * There is no lock and no server. Each engine has a seat (BoardSeat) and writes
 * nothing but its own cells; whoever reads adds up the cells of all seats. A
 * process that is killed leaves a seat behind: its bytes count no more half a
 * second later, and the others clear it. (FuseLink, OSDI'25, has a monitoring
 * daemon, and a semaphore around its table.)
 *
 * All that is read is hostile input and comes out bounded; a liar can make
 * others choose badly, no more.
 *
 * Instants are CLOCK_MONOTONIC nanoseconds, which the processes of a node
 * share. Thread-safe.
 */
class Board {
public:
    /** No count of bytes that is read is larger. */
    static constexpr uint64_t kMostBytes = uint64_t{1} << 44;

    /** What did not change for so long counts as nothing in flight, ns. */
    static constexpr int64_t kStale = 500'000'000;

    /** Whoever had something in flight so short a time ago is about to have
     *  more: between two messages nobody takes his NIC. In ns. */
    static constexpr int64_t kHold = 2'000'000;

    /** Whoever had something in flight so short a time ago is one of those
     *  who share the NIC: the calls of a program come again after a pause in
     *  which it computes. In ns. */
    static constexpr int64_t kRecent = 200'000'000;

    /** Who only claims a NIC, and has not used it for so long, is no owner to others until
     *  he does: a program that is there and sends nothing costs them nothing. In ns. */
    static constexpr int64_t kClaimHolds = 2'000'000'000;

    /** Connections that broke rest no longer, ns; see NicHealth. */
    static constexpr int64_t kLongestRest = 3'600'000'000'000;

    /** No count of events, and no time in ns, that is read is larger. */
    static constexpr uint64_t kMostEvents = uint64_t{1} << 32;
    static constexpr uint64_t kMostTime   = uint64_t{1} << 60;

    /** A process of another PID namespace, whose end we cannot see, is not
     *  listed, and loses its seat, after so long without a sign of life, ns.
     *  If it is only silent it takes another when it has something to say. */
    static constexpr int64_t kForgotten = 60'000'000'000;

    /** The board of this user on this node, made if there is none: one for
     *  the process, as long as somebody holds it. nullptr if shared memory
     *  cannot be had; `error` says why. */
    static std::shared_ptr<Board> open(std::string &error);

    /** The boards that this process may read, of its own user and of others,
     *  for people who look. Takes no seat and can write nothing; boards of as
     *  many users as a person would read of. */
    static std::vector<std::shared_ptr<const Board>> watch();

    /** The same in memory of its own, for tests. `processes`, here and below,
     *  outlive it. */
    static std::shared_ptr<Board>
    make_private(Processes &processes = Processes::real());

    /** The same board, as another process of this program sees it. */
    std::shared_ptr<Board> seen_by(Processes &processes) const;

    /** The board's clock. Not UCS's: that counts processor cycles, whose length
     *  each process measures for itself. */
    static int64_t now();

    ~Board();
    Board(const Board &)            = delete;
    Board &operator=(const Board &) = delete;

    /** The CPUs to which somebody with a seat is bound, and how many of them are. */
    struct Bound {
        CpuSet   cpus;
        unsigned seats = 0;
    };
    Bound bound() const;

    /* --- for people who look; these allocate --- */

    /** The user whose board it is. */
    uid_t owner() const { return owner_; }

    struct Nic {
        unsigned    index;
        std::string name;
        uint64_t    speed; /* bytes per second, as reported */
    };
    struct Use {
        unsigned  nic;
        Direction direction;
        uint64_t  in_flight;
        uint64_t  completed; /* since the seat was taken */
        uint64_t  borrowed;  /* of these, while the NIC was another's */
        bool      active;
        bool      own;
    };
    struct Health {
        unsigned  nic;
        NicHealth health;
    };
    struct Occupant {
        unsigned         seat;
        ProcessId        process;
        int32_t          pid; /* of `process` */
        std::string      name; /* of the program */
        uint64_t         job;
        Priority         priority;
        std::vector<Use> uses;
        std::vector<Health> health; /* of each NIC */
    };

    /** NICs of this network namespace that somebody uses. */
    std::vector<Nic> nics() const;
    /** Who has a seat; not those of processes that are gone. */
    std::vector<Occupant> occupants(int64_t now) const;

    /** Raw, for the fuzzer: `size` bytes of nonsense from whoever. */
    void overwrite(const void *bytes, size_t size);

private:
    friend class BoardSeat;
    friend class BoardWires;

    explicit Board(Processes &processes) : processes_(processes) {}

    void     use(std::unique_ptr<SharedSegment> shared);
    bool     present(unsigned seat) const;
    unsigned seats_used() const;
    void     clear(unsigned seat);
    bool     clear_if_gone(unsigned seat, bool thorough, int64_t now);
    int      enter_nic(const std::string &name, uint64_t speed);
    uint64_t nics_in_use() const;
    bool     is_gone(unsigned seat, int64_t now) const;
    int64_t  last_sign(unsigned seat) const;

    Processes                      &processes_;
    std::shared_ptr<SharedSegment>  shared_; /* or */
    std::shared_ptr<board::Segment> own_;
    board::Segment                 *segment_ = nullptr;
    uid_t                           owner_   = 0;
};

} // namespace fuselink

#endif

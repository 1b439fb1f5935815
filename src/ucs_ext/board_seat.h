/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_BOARD_SEAT_H
#define FUSELINK_UCS_EXT_BOARD_SEAT_H

#include "board.h"
#include "cpus.h"

#include <vector>

namespace fuselink {

/**
 * The part of the load board that one engine writes, and its view of the rest.
 * For one thread at a time.
 */
class BoardSeat {
public:
    struct Settings {
        uint64_t job      = 0; /* the same in all processes of a job */
        Priority priority = Priority::Normal;
        bool     siblings = false; /* claims count within the job, too */
    };

    /** What all others have on a NIC in one direction. */
    struct Load {
        uint64_t in_flight = 0; /* bytes; at most Board::kMostBytes */
        uint64_t completed = 0; /* bytes in all; goes back when one leaves */
        uint32_t users     = 0; /* that have, or just had, bytes in flight */
        uint32_t sharers   = 0; /* or had not long ago (Board::kRecent) */
        bool     owned     = false; /* somebody's own NIC as to us, active or not */
        bool     owner     = false; /* its owner is among the users */
        Priority highest   = Priority::Low; /* of the users */
    };

    /** A free seat of the board; nullptr if there is none. */
    static std::unique_ptr<BoardSeat> take(std::shared_ptr<Board> board,
                                           const Settings &settings,
                                           int64_t now);
    ~BoardSeat();
    BoardSeat(const BoardSeat &)            = delete;
    BoardSeat &operator=(const BoardSeat &) = delete;

    /** Adds a NIC to those of the seat.
     *  @param speed as reported, bytes per second
     *  @return its number for the calls below, from 0 up; -1 if the board is
     *          full */
    int add_nic(const std::string &device, uint64_t speed);

    /** As to whom a NIC is this engine's own. */
    enum class Claim : uint8_t {
        None,
        OtherJobs, /* if it was used not long ago (Board::kClaimHolds), and not as to those
                      that have a claim like it in their job, too; see also siblings */
        Everybody
    };

    /** Says that the NIC is this engine's own, or is so no more: others leave it when we
     *  use it. */
    void own(int nic, Claim claim = Claim::Everybody);

    /** How many others each NIC belongs to, in the order of add_nic(). */
    void owners(std::vector<uint32_t> &counts) const;

    /** The process is bound to these CPUs; none: it is not. */
    void bind(const CpuSet &cpus);

    /** How many seats before ours are of the same job: a process's place among
     *  its siblings, to spread by. */
    unsigned place() const;

    /* The fast path: a few plain stores. */

    void posted(int nic, Direction direction, uint64_t bytes, int64_t now);
    /** @param borrowed the NIC is another's */
    void ended(int nic, Direction direction, uint64_t bytes, bool arrived,
               bool borrowed, int64_t now);
    /** Sets what is in flight, for who learns it from others. */
    void set_in_flight(int nic, Direction direction, uint64_t bytes,
                       int64_t now);

    /** What has failed there, for people who look. */
    void set_health(int nic, const NicHealth &health);

    /** Adds up what the others have in one direction; one entry per NIC, in
     *  the order of add_nic(). A few nanoseconds per seat and NIC. */
    void read(Direction direction, int64_t now, std::vector<Load> &loads) const;

    /** Once in a while: shows that we live, and looks after one other seat.
     *  A system call. */
    void tick(int64_t now);

    /** Found by tick(): somebody took us for dead, which can happen to a
     *  process of another PID namespace that had nothing to say for long
     *  (Board::kForgotten). Nothing is written any more; take() another. */
    bool lost() const { return lost_; }

private:
    BoardSeat() = default;

    bool         ours(int nic) const;
    board::Cell *cell(int nic, Direction direction) const;
    void         enter(int64_t now);
    uint64_t     claims_of_job(unsigned used) const;

    std::shared_ptr<Board> board_;
    Settings               settings_;
    uint64_t               self_  = 0; /* the word of who took the seat */
    unsigned               index_ = 0;
    std::vector<uint8_t>   nics_; /* of the board, by our number */
    uint64_t               own_  = 0; /* bits of the board's, as to everybody; */
    uint64_t               claims_ = 0; /* as to other jobs */
    unsigned               next_ = 0; /* whom to look after */
    bool                   lost_ = false; /* somebody else may sit here now */
};

} // namespace fuselink

#endif

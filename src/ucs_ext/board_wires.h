/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_BOARD_WIRES_H
#define FUSELINK_UCS_EXT_BOARD_WIRES_H

#include "board.h"

#include <memory>
#include <string>
#include <vector>

namespace fuselink {

/**
 * What the processes of a node tell each other of wires, on the load board: when one has
 * last heard the other end, when one has proved that it carries nothing, and when one has
 * found that it drops packets all the time. A wire is a NIC of this node and a NIC
 * elsewhere; its place on the board is a hash of the two, and two wires may share one.
 *
 * What is read is hostile input: an instant of the past or 0. A liar can keep others from
 * leaving a wire that is silent until the kernel has tried twice, or have them leave one
 * on which they hear nothing just then. Thread-safe.
 */
class BoardWires {
public:
    using Place = unsigned;

    /** @param network tells the network namespace from others, where the same device is
     *                 another NIC */
    BoardWires(std::shared_ptr<Board> board, uint64_t network)
        : board_(std::move(board)), network_(network)
    {
    }

    /** @param device the NIC here, as on the board's list of NICs
     *  @param remote what tells the other one from all others */
    Place place(const std::string &device, const std::vector<uint8_t> &remote) const;

    /* CLOCK_MONOTONIC ns; 0: never. */
    /** Unless another one has heard something later. */
    void    heard(Place place, int64_t at, int64_t now) const;
    int64_t heard_at(Place place, int64_t now) const;
    void    proved_silent(Place place, int64_t at) const;
    int64_t silent_at(Place place, int64_t now) const;
    void    drops(Place place, int64_t at) const;
    int64_t dropped_at(Place place, int64_t now) const;

private:
    std::shared_ptr<Board> board_;
    const uint64_t         network_;
};

} // namespace fuselink

#endif

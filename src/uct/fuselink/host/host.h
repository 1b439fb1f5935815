/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_HOST_H
#define FUSELINK_HOST_HOST_H

#include "../../../ucs_ext/board.h"
#include "../../../ucs_ext/cpus.h"
#include "../../../ucs_ext/processes.h"
#include "../../../ucs_ext/shared_segment.h"
#include "../sched/units.h"
#include "alarm.h"
#include "background.h"
#include "carrier.h"
#include "network.h"
#include "stream_control.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace fuselink {

class RelayRegistry;

/**
 * What a process has from the machine and not from UCX: the clock, chance, who
 * it is, what it shares with the other processes of its node, its network and
 * its connections. Nothing of the transport asks the kernel for these by another
 * way, so that one program can be many processes on many nodes, with a clock that
 * it sets itself (host_of_new_md()).
 *
 * One for each process. Thread-safe.
 */
class Host {
public:
    /** Monotonic, the same for all processes of a node, and well after 0, which
     *  stands for "never" in shared memory. A process that is one has
     *  CLOCK_MONOTONIC and not UCX's clock: that counts processor cycles, whose
     *  length each process measures for itself, and times on the board and in
     *  traces are compared between processes. */
    virtual sched::Nanos now() const = 0;

    /** Bytes that nobody can guess, whatever he has seen of others. A system
     *  call: who needs many takes them from RandomNumbers. */
    virtual void random(void *bytes, size_t size) = 0;
    uint64_t     random64()
    {
        uint64_t number;
        random(&number, sizeof(number));
        return number;
    }

    /** Equal in two processes exactly when they can reach each other by shared
     *  memory and have the same `lanes` for it. */
    virtual uint64_t node_signature(std::string_view lanes) = 0;
    /** Equal exactly when they see the same interfaces and addresses. */
    virtual uint64_t network_signature() = 0;
    /** Equal in the processes of a job, on all nodes where a launcher has named it. Never 0. */
    virtual uint64_t job() = 0;

    /** The processes of the node, this one among them. */
    virtual Processes &processes() = 0;
    /** Its CPUs. */
    virtual Cpus      &cpus() = 0;
    virtual Network   &network() = 0;
    /** The connections below endpoints of streams. */
    virtual StreamControl &streams() = 0;
    /** Hears of links from now on. nullptr if nobody tells; `error` says why, for a
     *  log line. */
    virtual std::unique_ptr<Carrier> watch_carrier(std::string &error) = 0;

    /* Shared memory. nullptr if there can be none; `error` says why, for a log
     * line. */

    /** The load board of the node. */
    virtual std::shared_ptr<Board> open_board(std::string &error) = 0;
    /** Where relays of this `kind` meet. */
    virtual std::shared_ptr<RelayRegistry> open_relay_registry(uint8_t      kind,
                                                       std::string &error) = 0;
    /** As SharedSegment::open() and join(). */
    virtual std::unique_ptr<SharedSegment>
    open_segment(uint64_t magic, size_t size, std::string &error) = 0;
    virtual std::unique_ptr<SharedSegment> join_segment(uint64_t magic,
                                                        size_t   size) = 0;

    /** The most memory that the process may lock (ulimit -l), bytes; kUnlimited
     *  if there is no such limit. */
    virtual uint64_t locked_memory_limit() = 0;
    static constexpr uint64_t kUnlimited = UINT64_MAX;

    /** Null if there can be none. */
    virtual std::unique_ptr<Alarm> make_alarm() const = 0;

    /** Has `work`, which outlives the result, done beside the program's
     *  threads. */
    virtual std::unique_ptr<AtWork> begin_work(Background  &work,
                                               std::string &error) = 0;

protected:
    ~Host() = default;
};

/**
 * The process that a memory domain which is being opened belongs to; it
 * outlives the domain. The only process that there is, this one, as
 * host_of_md.cc has it: a program of several defines this function itself,
 * which takes the place of that file when it is linked with the transport's
 * archive.
 */
Host &host_of_new_md();

} // namespace fuselink

#endif

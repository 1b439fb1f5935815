/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_PROCESS_H
#define FUSELINK_UCS_EXT_PROCESS_H

#include <cstdint>
#include <ctime>

namespace fuselink {

/**
 * A process as other processes of the node know it: its pid, when it started
 * (a pid is used again) and the PID namespace in which the pid means something,
 * in one word that can be written and compared at once. The namespace is a hash
 * of 16 bits, the start is in clock ticks modulo 2^26 (a week), so two that are
 * equal are almost certainly the same process. Never 0.
 */
class ProcessId {
public:
    /** This process; three system calls at the first call. After fork() the
     *  child's is another. */
    static ProcessId self();

    constexpr explicit ProcessId(uint64_t word) : word_(word) {}
    constexpr uint64_t word() const { return word_; }
    constexpr int32_t  pid() const { return word_ & ((1u << kPidBits) - 1); }

    enum class Life {
        Running,
        Gone,
        Unknown /* it is of another PID namespace, or /proc does not say */
    };

    /** Is it still there, and more than a zombie? For one that is, a read of
     *  /proc (10 us). */
    Life life() const;

    /** False if there certainly is no process of that pid; one system call.
     *  True says less than life(): a zombie, or another of the same pid. */
    bool may_run() const;

    /** The pid is one of our own PID namespace, so it means something here. */
    bool in_own_space() const;

    /** Whether process `pid` of our own PID namespace may be the one that had
     *  that pid at `when`, by time(): it is there, is more than a zombie, and
     *  did not start later. */
    static bool runs_since(int32_t pid, time_t when);

    constexpr bool operator==(const ProcessId &) const = default;

private:
    static constexpr unsigned kPidBits = 22; /* the kernel's own limit */
    static constexpr unsigned kStartBits = 26;

    static uint64_t make(int32_t pid, uint64_t start, uint64_t space);
    static bool     read_stat(int32_t pid, uint64_t &start, bool &ended);
    static uint64_t own_space();

    uint64_t word_;
};

} // namespace fuselink

#endif

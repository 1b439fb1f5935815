/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_PUMP_H
#define FUSELINK_TRANSFER_PUMP_H

namespace fuselink {

/**
 * What gives chunks to paths: the parts of a BulkSender tell it what has changed.
 * Each call may begin chunks, and end transfers, whose users may begin others; from
 * inside such a call it returns at once and is heeded by the outer one.
 *
 * One thread at a time (the worker's).
 */
class Pump {
public:
    /** Something that waits may go on. */
    virtual void pump() = 0;
    /** The same, from the next progress on: nothing happens in here. */
    virtual void pump_later() = 0;
    /** The same, if no other connection waits for room on our NICs: those come
     *  first. */
    virtual void room_again() = 0;
    /** A transfer has ended, whatever ended it: what is to be said if it was the last
     *  is said from the next progress on. Nothing happens in here. */
    virtual void transfer_ended() = 0;
    /** What is next waits for room that other connections have now. */
    virtual void await_room() = 0;
    /** What is next waits for a path that is whole. */
    virtual void starve() = 0;
    /** No chunk and no copy is under way. */
    virtual bool idle() const = 0;

protected:
    ~Pump() = default;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_ACTOR_H
#define FUSELINK_TEST_SIM_HARNESS_ACTOR_H

namespace fuselink {
class RailsIface;
}

namespace fuselink::sim {

class Process;

/** A program of any kind, as faults see it. */
class Actor {
public:
    virtual Process    &process() = 0;
    /** Its interface `rails`; only while it is not gone. */
    virtual RailsIface *rails() const = 0;
    virtual bool        gone() const  = 0;
    virtual void        kill()        = 0;

protected:
    ~Actor() = default;
};

} // namespace fuselink::sim

#endif

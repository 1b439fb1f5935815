/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_STREAMS_BARE_H
#define FUSELINK_TEST_SIM_STREAMS_BARE_H

#include "../fabric/world.h"
#include "../harness/sim_worker.h"
#include "../uct/stream_control.h"
#include "ucx.h"

#include <deque>

namespace fuselink::sim {

/** A process with a bare interface of sim_tcp on its first NIC, and at most one
 *  endpoint: what fuselink has below its rails. */
class Bare {
public:
    explicit Bare(Process &process) : process_(process) {}
    ~Bare();
    Bare(const Bare &)            = delete;
    Bare &operator=(const Bare &) = delete;

    bool open();
    bool connect(const Bare &peer);
    void disconnect();
    void progress() { uct_iface_progress(iface_); }

    /** Begins a put of what is in front of its arena to the same place of the
     *  peer's. False if there is no room. */
    bool put(const Bare &peer, size_t length);

    Process     &process() const { return process_; }
    uct_iface_h  iface() const { return iface_; }
    uct_ep_h     ep() const { return ep_; }
    unsigned     errors() const { return errors_; }
    /** Puts that have ended well, that have not, and all that were taken. */
    unsigned     well() const { return well_; }
    unsigned     badly() const { return badly_; }
    size_t       puts() const { return puts_.size(); }
    bool         is_calm() const { return well_ + badly_ == puts_.size(); }
    /** None has ended more than once. */
    bool         is_exact() const;

    SimStreamControl streams;

private:
    struct Put {
        uct_completion_t comp; /* first: the callback gets a pointer to it */
        Bare            *owner;
        unsigned         ends;
    };

    Process             &process_;
    SimWorker            worker_;
    uct_md_h             md_     = nullptr;
    uct_iface_h          iface_  = nullptr;
    uct_ep_h             ep_     = nullptr;
    unsigned             errors_ = 0, well_ = 0, badly_ = 0;
    std::deque<Put>      puts_;
};

} // namespace fuselink::sim

#endif

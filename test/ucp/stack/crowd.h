/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_CROWD_H
#define FUSELINK_TEST_CROWD_H

#include "endpoint.h"
#include "harness/case.h"

#include <deque>

namespace fltest {

/** Any number of processes, each with a worker, memory, and endpoints to all,
 *  itself among them; with `watched`, failures of the others are reported. Number 0 is the active process, which the others reach
 *  over the management network. */
class Crowd {
public:
    Crowd(const Session &session, size_t memory, bool watched = false);

    size_t size() const { return addresses_.size(); }
    size_t me() const { return me_; }

    Context      &context() { return context_; }
    Worker       &worker() { return worker_; }
    Memory       &memory() { return memory_; }
    Endpoint     &ep(size_t number) { return eps_.at(number); }
    const Remote &remote(size_t number) { return remotes_.at(number); }

    /** All progress until all are here. */
    void meet();

    /** What each of them gives, by their numbers; on number 0 only. */
    std::vector<Bytes> gather(const Bytes &mine);

    void finish();
    /** As finish(), for number 0 and those of the others that are left. */
    void finish_without(size_t dead);
    /** As meet(), for the same. */
    void meet_without(size_t dead);

private:
    /* Number 0 gets one from each and gives all to each. */
    std::vector<Bytes> share(const Bytes &mine);

    std::vector<Channel> channels_; /* to all others, or to number 0 */
    Context              context_{{}};
    Worker               worker_{context_};
    Memory               memory_;
    size_t               me_ = 0;
    std::vector<Bytes>   addresses_;
    std::deque<Endpoint> eps_;
    std::deque<Remote>   remotes_;
    uint64_t             mark_ = 0;
};

} // namespace fltest

#endif

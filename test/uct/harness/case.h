/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_CASE_H
#define FUSELINK_TEST_CASE_H

#include "channel.h"

#include <functional>
#include <string>
#include <vector>

namespace fltest {

/** The process of a case that asks, and the one that it asks. */
enum class Side { Both, Active, Passive };

/** An environment variable that one side has in a case. */
struct Setting {
    Side        side;
    std::string name;
    std::string value;
};

/** A line that a side may print. Whatever else is printed fails the case. */
struct LogLine {
    Side        side;
    std::string pattern; /* extended regular expression */
    unsigned    least = 1;
    unsigned    most  = 1;
};

/** What a case's function finds around it. */
class Session {
public:
    Session(std::string peer, const Listener *listener)
        : peer_(std::move(peer)), listener_(listener)
    {
    }

    bool active() const { return listener_ == nullptr; }

    /** The connection between the two sides: the active one calls, the passive
     *  one answers. A case that has several passive processes, one after the
     *  other, has a connection to each. */
    Channel connection() const;

private:
    std::string     peer_; /* its management address */
    const Listener *listener_;
};

/** A test. Each case has its own process on either side, so that it starts
 *  with nothing and can take down nobody but itself. */
struct Case {
    std::string                    name;
    std::function<void(Session &)> active;
    std::function<void(Session &)> passive; /* none: one process only */
    std::vector<Setting>           settings{};
    std::vector<LogLine>           log{};
    unsigned                       seconds = 60; /* before it is killed */
};

/** Runs the cases that the command line names:
 *
 *      PROGRAM serve ADDRESS            be the passive side, there
 *      PROGRAM run ADDRESS PATTERN...   be the active side
 *      PROGRAM list                     names of all cases
 *
 *  ADDRESS is a management address of the passive side. Prints a line for each
 *  case; returns the exit status. */
int drive(int argc, char **argv, const std::vector<Case> &cases);

} // namespace fltest

#endif

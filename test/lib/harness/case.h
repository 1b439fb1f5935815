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
    /** The active process, with the places where the passive ones listen. */
    explicit Session(std::vector<Place> peers) : peers_(std::move(peers)) {}
    /** A passive process. */
    explicit Session(const Listener &listener) : listener_(&listener) {}

    bool active() const { return listener_ == nullptr; }

    /** Number of passive processes, which only the active one knows. */
    size_t peers() const { return peers_.size(); }

    /** The connection between the active process and a passive one: the active
     *  one calls, the passive one answers. A case that has several passive
     *  processes in one place, one after the other, has a connection to each. */
    Channel connection(size_t peer = 0) const;

private:
    std::vector<Place> peers_;
    const Listener    *listener_ = nullptr;
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
 *      PROGRAM serve PLACE              be the passive side, there
 *      PROGRAM run PLACES PATTERN...    be the active side
 *      PROGRAM list                     names of all cases
 *
 *  A place is ADDRESS:PORT, a management address of a passive side and the
 *  first of two ports; PLACES are several of them with commas in between, for
 *  cases of more than two processes. Prints a line for each case; returns the
 *  exit status. */
int drive(int argc, char **argv, const std::vector<Case> &cases);

} // namespace fltest

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Connecting: both sides at once, one after the other, again and again. */

#include "../stack/link.h"
#include "cases.h"

#include <unistd.h>

namespace fltest {
namespace {

/* Both sides connect at the same moment, give or take what the round says. */
void at_once(Session &session, const char *device)
{
    Channel channel = session.connection();
    for (unsigned round = 0; round < 12; ++round) {
        Link link(channel, {.device = device, .connect = false});
        if (session.active() == (round % 2 == 0)) {
            usleep(50 * (round % 10));
        }
        link.connect();
        link.settle();
    }
}

Case make(const std::string &name, std::function<void(Session &)> both)
{
    return {name, both, both};
}

} // namespace

std::vector<Case> connect_cases()
{
    std::vector<Case> cases;
    for (const char *device : {"rails", "node"}) {
        std::string prefix = std::string(device) + ".connect.";
        cases.push_back(
            make(prefix + "at_once", [=](Session &s) { at_once(s, device); }));
    }
    return cases;
}

} // namespace fltest

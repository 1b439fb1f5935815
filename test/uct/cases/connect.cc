/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Connecting: both sides at once, one after the other, again and again. */

#include "../stack/link.h"
#include "cases.h"

#include <deque>
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

/* What a new peer asks for at once comes together with its greeting. */
void first_request(Session &session, const char *device)
{
    constexpr size_t kSize = 1 << 20;

    Channel channel = session.connection();
    Link link(channel,
              {.device = device, .memory = 2 * kSize, .connect = false});
    fill(link.memory().data(), kSize, 8);
    link.meet();
    if (!session.active()) {
        /* Looks at the network so rarely that much is found each time. */
        for (int i = 0; i < 100; ++i) {
            usleep(3000);
            link.worker().progress();
        }
        link.meet();
        return;
    }
    link.connect();
    std::deque<Op> ops;
    size_t sizes[] = {100, 8192, 100000, 1, 7000};
    size_t at      = 0;
    for (size_t size : sizes) {
        link.ep().get_zcopy(link.memory().iov(kSize + at, size), link.remote(),
                            at, ops.emplace_back());
        at += size;
    }
    for (Op &op : ops) {
        link.ep().finish(op, "get");
    }
    require_pattern(link.memory().at(kSize), at, 8, "get");
    link.meet();
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
        cases.push_back(make(prefix + "first_request", [=](Session &s) {
            first_request(s, device);
        }));
    }
    return cases;
}

} // namespace fltest

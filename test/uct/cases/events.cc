/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Sleeping until something happens, instead of polling. */

#include "../stack/link.h"
#include "cases.h"

#include <deque>
#include <poll.h>
#include <unistd.h>

namespace fltest {
namespace {

constexpr uint8_t kId   = 7;
constexpr size_t  kArea = 2 << 20;

/* Progresses only when the interface's event descriptor says that there is
 * something to do, and fails when it does not say so in time. */
class Sleeper {
public:
    explicit Sleeper(Link &link) : link_(link)
    {
        REQUIRE_OK(uct_iface_event_fd_get(link.iface().handle(), &fd_));
    }

    template <typename Done>
    void until(Done &&done, const char *what, double seconds = 10)
    {
        constexpr unsigned events = UCT_EVENT_SEND_COMP | UCT_EVENT_RECV;
        while (!done()) {
            if (uct_worker_progress(link_.worker().handle()) != 0) {
                continue;
            }
            ucs_status_t status = uct_iface_event_arm(link_.iface().handle(),
                                                      events);
            if (status == UCS_ERR_BUSY) {
                continue;
            }
            REQUIRE(status == UCS_OK, "arming: %s", ucs_status_string(status));
            ++sleeps_;
            pollfd entry{fd_, POLLIN, 0};
            REQUIRE(poll(&entry, 1, static_cast<int>(seconds * 1000)) == 1,
                    "slept %g s while waiting for %s", seconds, what);
        }
    }

    unsigned sleeps() const { return sleeps_; }

private:
    Link    &link_;
    int      fd_;
    unsigned sleeps_ = 0;
};

/* A message that comes while the receiver sleeps, some time after it lay down,
 * so that even what polls a while before it sleeps does sleep. */
void message(Session &session, const char *device)
{
    constexpr unsigned kRounds = 8;

    Channel channel = session.connection();
    Link link(channel, {.device = device});
    unsigned received = 0;
    link.iface().on_message(kId, [&](void *, size_t, unsigned) {
        ++received;
        return UCS_OK;
    });
    link.settle();
    for (unsigned round = 0; round < kRounds; ++round) {
        if (session.active()) {
            link.await_told();
            usleep(round < 4 ? 50000 : 100 * round);
            link.ep().am_short(kId, round);
            link.ep().flush_now();
            continue;
        }
        Sleeper sleeper(link);
        link.tell();
        sleeper.until([&] { return received == round + 1; }, "a message");
        REQUIRE(round >= 4 || sleeper.sleeps() != 0, "did not sleep at all");
    }
    link.meet();
}

/* A process that nobody has talked to yet and that sleeps, as a server does: a
 * peer connects and sends. Repeated, with new interfaces: it must wake from
 * whatever came between its last look and its lying down. */
void first_message(Session &session)
{
    constexpr unsigned kRounds = 12;

    Channel channel = session.connection();
    for (unsigned round = 0; round < kRounds; ++round) {
        Link link(channel, {.connect = false});
        unsigned received = 0;
        link.iface().on_message(kId, [&](void *, size_t, unsigned) {
            ++received;
            return UCS_OK;
        });
        if (session.active()) {
            link.await_told();
            usleep(round % 2 == 0 ? 20000 : 200 * round);
            link.connect();
            link.ep().am_short(kId, round);
            link.ep().flush_now();
        } else {
            Sleeper sleeper(link);
            link.tell();
            sleeper.until([&] { return received == 1; }, "a first message");
        }
        link.meet();
    }
}

/* Both sides do everything by events: neither has the other's polling to live
 * by. */
void transfers(Session &session, const char *device)
{
    constexpr unsigned kRounds = 6;

    Channel channel = session.connection();
    Link link(channel, {.device = device, .memory = 3 * kArea});
    unsigned come = 0;
    link.iface().on_message(kId, [&](void *, size_t, unsigned) {
        ++come;
        return UCS_OK;
    });
    uint64_t me = session.active();
    fill(link.memory().at(kArea), kArea, 30 + me);
    link.settle();
    Sleeper sleeper(link);
    for (unsigned round = 0; round < kRounds; ++round) {
        std::deque<Op> ops;
        Op &put = ops.emplace_back(), &get = ops.emplace_back(),
           &small = ops.emplace_back();
        Memory &memory = link.memory();
        link.ep().put_zcopy(memory.iov(kArea, kArea), link.remote(), 0, &put);
        link.ep().get_zcopy(memory.iov(2 * kArea, kArea), link.remote(), kArea,
                            get);
        link.ep().get_zcopy(memory.iov(0, 100), link.remote(), kArea, small);
        link.ep().flush(ops.emplace_back());
        sleeper.until(
            [&] {
                for (Op &op : ops) {
                    if (!op.done()) {
                        return false;
                    }
                }
                return true;
            },
            "put, get and flush");
        for (Op &op : ops) {
            link.ep().finish(op, "operation");
        }
        link.ep().am_short(kId, round);
        sleeper.until([&] { return come > round; }, "the other side");
    }
    require_pattern(link.memory().at(2 * kArea), kArea, 31 - me, "get");
    link.meet();
}

/* Requests behind a full lane go on by events alone. */
void pending(Session &session)
{
    struct Request {
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        Link             *link;
        unsigned         *dispatched;
    };
    constexpr unsigned kRequests = 100;

    Channel channel = session.connection();
    Link link(channel, {});
    uint64_t received = 0;
    link.iface().on_message(kId, [&](void *, size_t, unsigned) {
        ++received;
        return UCS_OK;
    });
    link.settle();
    if (!session.active()) {
        channel.expect_mark(1);
        Sleeper sleeper(link);
        sleeper.until([&] { return received > kRequests; }, "messages", 3);
        link.meet();
        return;
    }
    char data[4000] = {};
    while (link.ep().try_am_bcopy(kId, data, sizeof(data)) >= 0) {
    }
    std::deque<Request> requests;
    unsigned dispatched = 0;
    for (unsigned i = 0; i < kRequests; ++i) {
        Request &request   = requests.emplace_back();
        request.link       = &link;
        request.dispatched = &dispatched;
        request.req.func   = [](uct_pending_req_t *req) {
            auto *self      = reinterpret_cast<Request *>(req);
            char body[4000] = {};
            ssize_t sent = self->link->ep().try_am_bcopy(kId, body,
                                                         sizeof(body));
            if (sent < 0) {
                return static_cast<ucs_status_t>(sent);
            }
            ++*self->dispatched;
            return UCS_OK;
        };
        REQUIRE_OK(uct_ep_pending_add(link.ep().handle(), &request.req, 0));
    }
    channel.send_mark(1);
    Sleeper sleeper(link);
    sleeper.until([&] { return dispatched == kRequests; },
                  "the pending requests");
    link.meet();
}

/* A peer's end wakes, too. */
void failure(Session &session)
{
    Channel channel = session.connection();
    if (!session.active()) {
        {
            Link link(channel, {});
            link.settle();
            channel.expect_mark(1);
            usleep(50000);
        }
        channel.expect_mark(2);
        return;
    }
    Link link(channel, {});
    link.settle();
    Sleeper sleeper(link);
    channel.send_mark(1);
    sleeper.until([&] { return !link.iface().errors().empty(); },
                  "the error handler");
    channel.send_mark(2);
}

Case make(const std::string &name, std::function<void(Session &)> both)
{
    return {name, both, both};
}

} // namespace

std::vector<Case> event_cases()
{
    std::vector<Case> cases;
    for (const char *device : {"rails", "node"}) {
        std::string prefix = std::string(device) + ".events.";
        cases.push_back(
            make(prefix + "message", [=](Session &s) { message(s, device); }));
    }
    cases.push_back(make("rails.events.first_message", first_message));
    cases.push_back(make("rails.events.transfers", [](Session &s) {
        transfers(s, "rails");
    }));
    cases.push_back(make("rails.events.pending", pending));
    cases.push_back(make("rails.events.failure", failure));
    return cases;
}

} // namespace fltest

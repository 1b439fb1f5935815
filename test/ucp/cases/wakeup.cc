/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Programs that sleep until something happens, instead of polling. */

#include "../stack/link.h"
#include "cases.h"

#include <ctime>
#include <deque>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace fltest {
namespace {

constexpr uint64_t kFeatures = UCP_FEATURE_TAG | UCP_FEATURE_RMA |
                               UCP_FEATURE_WAKEUP;

/* Seconds of CPU that this process has used. */
double cpu_time()
{
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec;
}

/* Progresses only when the worker's event descriptor says that there is
 * something to do, and fails when it does not say so in time. */
class Sleeper {
public:
    explicit Sleeper(Worker &worker) : worker_(worker)
    {
        REQUIRE_OK(ucp_worker_get_efd(worker.handle(), &fd_));
    }

    template <typename Done>
    void until(Done &&done, const char *what, double seconds = 10)
    {
        while (!done()) {
            if (ucp_worker_progress(worker_.handle()) != 0) {
                continue;
            }
            ucs_status_t status = ucp_worker_arm(worker_.handle());
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

    void finish(const Request &request, const char *what)
    {
        until([&] { return request.done(); }, what);
        request.require_exact(what);
        REQUIRE(request.ok(), "%s: %s", what,
                ucs_status_string(request.status()));
    }

    unsigned sleeps() const { return sleeps_; }

private:
    Worker  &worker_;
    int      fd_;
    unsigned sleeps_ = 0;
};

/* A connection that has carried something in both directions. */
void settle(Link &link)
{
    Buffer out(8), in(8);
    out.write(1);
    Request receive = link.worker().receive(in, 999);
    Request send    = link.ep().send(out, 999);
    link.worker().finish(receive, "first receive");
    link.worker().finish(send, "first send");
    link.meet();
}

/* A message to somebody who sleeps, soon or long after he lay down. While he
 * sleeps he uses next to no CPU. */
void message(Session &session)
{
    constexpr unsigned kRounds = 8;

    Link link(session, {.features = kFeatures});
    settle(link);
    for (unsigned round = 0; round < kRounds; ++round) {
        bool is_long = round < 3;
        size_t size  = round % 2 ? 8 : 500000;
        Buffer buffer(size);
        if (session.active()) {
            link.await_told();
            usleep(is_long ? 300000 : 200 * round);
            buffer.write(round);
            link.worker().finish(link.ep().send(buffer, round), "send");
            continue;
        }
        Request receive = link.worker().receive(buffer, round);
        Sleeper sleeper(link.worker());
        double before = cpu_time();
        link.tell();
        sleeper.finish(receive, "a message");
        double used = cpu_time() - before;
        buffer.require(round, "message");
        REQUIRE(!is_long || sleeper.sleeps() != 0, "did not sleep at all");
        REQUIRE(!is_long || used < 0.1, "used %.0f ms of CPU while asleep for "
                "300 ms", 1000 * used);
        /* The sender waits for what we owe it. */
        link.worker().for_seconds(0.01);
    }
    link.finish();
}

/* Both sides live on events alone: neither has the other's polling. */
void transfers(Session &session)
{
    constexpr size_t kSize = 3000000;

    Link link(session, {.memory = kSize, .features = kFeatures});
    settle(link);
    Sleeper sleeper(link.worker());
    for (unsigned round = 0; round < 8; ++round) {
        Buffer in(kSize), out(kSize), got(kSize), put(kSize);
        out.write(round + 100 * session.active());
        put.write(round + 1000);
        std::deque<Request> requests;
        requests.push_back(link.worker().receive(in, round));
        requests.push_back(link.ep().send(out, round));
        requests.push_back(link.ep().put(put.data(), kSize, link.remote(), 0));
        requests.push_back(link.ep().flush());
        for (Request &request : requests) {
            sleeper.finish(request, "a transfer");
        }
        in.require(round + 100 * !session.active(), "message");
        Request get = link.ep().get(got.data(), kSize, link.remote(), 0);
        sleeper.finish(get, "a get");
        got.require(round + 1000, "get");
        /* The other side may be a round ahead, and then puts the next. */
        Buffer ping(8), pong(8);
        ping.write(round);
        Request receive = link.worker().receive(pong, 500 + round);
        Request send    = link.ep().send(ping, 500 + round);
        sleeper.finish(receive, "the other side");
        sleeper.finish(send, "a small message");
    }
    link.finish();
}

/* ucp_worker_wait() returns for messages, and ucp_worker_signal() of another
 * thread ends a sleep. */
void wait_and_signal(Session &session)
{
    Link link(session, {.features = kFeatures});
    settle(link);
    Worker &worker = link.worker();
    if (session.active()) {
        for (unsigned round = 0; round < 3; ++round) {
            link.await_told();
            usleep(50000);
            Buffer out(100000);
            out.write(round);
            worker.finish(link.ep().send(out, round), "send");
        }
        link.finish();
        return;
    }
    for (unsigned round = 0; round < 3; ++round) {
        Buffer in(100000);
        Request receive = worker.receive(in, round);
        link.tell();
        while (!receive.done()) {
            if (ucp_worker_progress(worker.handle()) == 0) {
                REQUIRE_OK(ucp_worker_wait(worker.handle()));
            }
        }
        in.require(round, "message");
    }
    worker.for_seconds(0.1);
    std::atomic<bool> signalled{false};
    std::thread other([&] {
        usleep(100000);
        signalled = true;
        REQUIRE_OK(ucp_worker_signal(worker.handle()));
    });
    Sleeper sleeper(worker);
    try {
        sleeper.until([&] { return signalled.load(); }, "the signal");
    } catch (const Failed &) {
        other.join();
        throw;
    }
    other.join();
    link.finish();
}

} // namespace

std::vector<Case> wakeup_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "wakeup.message", message);
    for_engines(cases, "wakeup.transfers", transfers);
    for_engines(cases, "wakeup.signal", wait_and_signal);
    return cases;
}

} // namespace fltest

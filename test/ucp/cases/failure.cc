/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* A peer that is killed: what is under way with it ends with an error, soon,
 * and life goes on with the others. */

#include "../stack/crowd.h"
#include "harness/killed.h"
#include "harness/nics.h"
#include "cases.h"

#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fltest {
namespace {

constexpr size_t kSize    = 16 << 20;
constexpr size_t kCount   = 4;
constexpr size_t kVictim  = 1;
constexpr size_t kThird   = 2;
constexpr double kSoon    = 10; /* seconds */

/* What the survivor and the victim are at when it dies. */
enum class When { Idle, Receiving, Sending, Puts, Gets };

/* The survivor and the third process use each other. */
void use(Crowd &crowd, uint64_t round)
{
    size_t other = crowd.me() == 0 ? kThird : 0;
    Buffer out(1000000), in(1000000), got(1000000);
    out.write(mix(round) + crowd.me());
    Worker &worker  = crowd.worker();
    Endpoint &ep    = crowd.ep(other);
    Request receive = worker.receive(in, round);
    Request send    = ep.send(out, round);
    worker.finish(receive, "receive from the third process");
    worker.finish(send, "send to the third process");
    in.require(mix(round) + other, "message of the third process");
    Request put = ep.put(out.data(), out.size(), crowd.remote(other), 0);
    worker.finish(ep.flush(), "flush");
    worker.finish(put, "put to the third process");
    worker.finish(ep.get(got.data(), got.size(), crowd.remote(other), 0),
                  "get from the third process");
    got.require(mix(round) + crowd.me(), "get from the third process");
    crowd.meet_without(kVictim);
}

/* The victim works with number 0 until it is gone. */
[[noreturn]] void be_victim(Crowd &crowd, When when)
{
    std::deque<Buffer> buffers;
    std::deque<Request> requests;
    for (size_t i = 0; i < kCount; ++i) {
        Buffer &buffer = buffers.emplace_back(kSize);
        if (when == When::Receiving) {
            requests.push_back(crowd.worker().receive(buffer, 100 + i));
        } else if (when == When::Sending) {
            requests.push_back(crowd.ep(0).send(buffer, 100 + i));
        }
    }
    /* The transfers take several times as long. */
    crowd.worker().for_seconds(0.06);
    be_killed();
}

void survive(Session &session, When when)
{
    Crowd crowd(session, kSize, true);
    Worker &worker = crowd.worker();
    use(crowd, 1);
    {
        /* There is a connection to the victim, too. */
        Buffer in(8), out(8), put(4 << 20);
        worker.finish(worker.receive(in, 50), "message of the victim");
        Request request = crowd.ep(kVictim).put(put.data(), put.size(),
                                                crowd.remote(kVictim), 0);
        worker.finish(crowd.ep(kVictim).flush(), "flush");
        worker.finish(request, "put to the victim");
        worker.finish(crowd.ep(kVictim).send(out, 51), "send to the victim");
    }
    std::deque<Buffer> buffers;
    Endpoint &ep         = crowd.ep(kVictim);
    const Remote &remote = crowd.remote(kVictim);
    auto begin           = [&](size_t number) {
        Buffer &buffer = buffers.at(number);
        switch (when) {
        case When::Idle:
        case When::Receiving:
            return ep.send(buffer, 100 + number);
        case When::Sending:
            return worker.receive(buffer, 100 + number);
        case When::Puts:
            return ep.put(buffer.data(), kSize, remote, 0);
        case When::Gets:
            return ep.get(buffer.data(), kSize, remote, 0);
        }
        return Request();
    };
    std::deque<Request> requests;
    for (size_t i = 0; when != When::Idle && i < kCount; ++i) {
        buffers.emplace_back(kSize);
        requests.push_back(begin(i));
    }
    /* Something is under way when the victim dies, however late that is. */
    auto failed_meanwhile = [&] {
        for (size_t i = 0; ep.errors() == 0 && i < requests.size(); ++i) {
            if (requests[i].ok()) {
                requests[i] = begin(i);
            }
        }
        return ep.errors() != 0;
    };
    worker.until(failed_meanwhile, "the error handler", kSoon);
    /* Of receives only those end that have begun: a receive is not from
     * anybody until a message fits it. */
    unsigned failed = 0;
    for (Request &request : requests) {
        if (when == When::Sending && !request.done()) {
            worker.for_seconds(0.5);
            if (!request.done()) {
                ucp_request_cancel(worker.handle(), request.handle());
            }
        }
        worker.until([&] { return request.done(); },
                     "the end of an operation", kSoon);
        request.require_exact("operation with a peer that died");
        failed += request.status() != UCS_OK;
    }
    REQUIRE(failed != 0 || requests.empty(), "all operations with a peer that "
            "died went well");
    REQUIRE(ep.errors() == 1, "the error handler ran %u times", ep.errors());
    REQUIRE(UCS_STATUS_IS_ERR(ep.error()), "the error handler got '%s'",
            ucs_status_string(ep.error()));
    /* More does no harm. */
    Buffer more(kSize / 4);
    Request late = ep.send(more, 7);
    worker.until([&] { return late.done(); }, "a late send", kSoon);
    REQUIRE(late.status() != UCS_OK, "a send to a dead peer went well");
    use(crowd, 2);
    crowd.finish_without(kVictim);
}

/* Passive processes are processes of their own once more: one of them may be
 * killed. */
void passive(Session &session, When when)
{
    pid_t pid = fork();
    REQUIRE(pid >= 0, "fork() failed");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        try {
            Crowd crowd(session, kSize, true);
            if (crowd.me() == kVictim) {
                Buffer out(8), in(8);
                crowd.worker().finish(crowd.ep(0).send(out, 50), "send");
                crowd.worker().finish(crowd.worker().receive(in, 51), "go");
                be_victim(crowd, when);
            }
            use(crowd, 1);
            use(crowd, 2);
            crowd.finish_without(kVictim);
        } catch (const Failed &failed) {
            fprintf(stderr, "%s\n", failed.reason.c_str());
            _exit(1);
        }
        exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL),
            "a passive process failed, status %x", status);
}

} // namespace

std::vector<Case> failure_cases()
{
    std::vector<Case> cases;
    /* The new engine of UCX 1.13 handles no failures: it dies of an assertion,
     * with its own tcp as well. */
    auto add = [&](const char *name, When when) {
        cases.push_back({name, [=](Session &s) { survive(s, when); },
                         [=](Session &s) { passive(s, when); },
                         {{Side::Both, "UCX_PROTO_ENABLE", "n"}},
                         {{Side::Both, "no rail takes messages to peer", 0, 4},
                          refused_by_dead_peer(Side::Both)}});
    };
    add("killed.idle", When::Idle);
    add("killed.receiving", When::Receiving);
    add("killed.sending", When::Sending);
    add("killed.puts", When::Puts);
    add("killed.gets", When::Gets);
    return cases;
}

} // namespace fltest

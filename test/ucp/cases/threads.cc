/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Several threads. */

#include "../stack/link.h"
#include "cases.h"

#include <deque>
#include <mutex>
#include <thread>

namespace fltest {
namespace {

constexpr unsigned kThreads = 4;
constexpr size_t kSizes[] = {0, 8, 700, 8193, 20000, 150000, 900000};

/* Runs fn(0), fn(1), ... in threads, and fails if one of them did. */
template <typename Fn> void in_threads(Fn &&fn)
{
    std::mutex mutex;
    std::string wrong;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            try {
                fn(i);
            } catch (const Failed &failed) {
                std::lock_guard lock(mutex);
                wrong = format("thread %u: ", i) + failed.reason;
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    REQUIRE(wrong.empty(), "%s", wrong.c_str());
}

/* What one thread does: messages in both directions, a put and a get, each of
 * its own. */
void work(Worker &worker, Endpoint &ep, const Remote &remote, unsigned thread,
          bool active)
{
    constexpr unsigned kRounds = 12;
    constexpr size_t kArea     = 200000;

    for (unsigned round = 0; round < kRounds; ++round) {
        std::deque<Buffer> buffers;
        std::deque<Request> requests;
        std::deque<std::pair<Buffer *, uint64_t>> checks;
        auto seed = [&](size_t i, bool side) {
            return mix(i + 100 * round + 10000 * thread) + side;
        };
        for (size_t i = 0; i < std::size(kSizes); ++i) {
            ucp_tag_t tag = i + 100 * thread;
            Buffer &in    = buffers.emplace_back(kSizes[i]);
            requests.push_back(worker.receive(in, tag));
            checks.emplace_back(&in, seed(i, !active));
            Buffer &out = buffers.emplace_back(kSizes[i], 1 + i % 3);
            out.write(seed(i, active));
            requests.push_back(ep.send(out, tag));
        }
        worker.finish_all(requests, "message");
        for (auto [buffer, want] : checks) {
            buffer->require(want, "message");
        }
        Buffer put(kArea), got(kArea);
        put.write(seed(99, active));
        Request request = ep.put(put.data(), kArea, remote, thread * kArea);
        worker.finish(ep.flush(), "flush");
        worker.finish(request, "put");
        worker.finish(ep.get(got.data(), kArea, remote, thread * kArea), "get");
        got.require(seed(99, active), "get");
    }
}

/* All use one worker and one endpoint. */
void one_worker(Session &session)
{
    Link link(session, {.threads = UCS_THREAD_MODE_MULTI});
    in_threads([&](unsigned thread) {
        work(link.worker(), link.ep(), link.remote(), thread,
             session.active());
    });
    link.finish();
}

/* Each has a worker of its own, of one context. */
void own_worker(Session &session)
{
    Channel channel = session.connection();
    Context context({.many_threads = true});
    Memory memory(context, 1 << 20);
    std::deque<Worker> workers;
    std::vector<Bytes> addresses;
    for (unsigned i = 0; i < kThreads; ++i) {
        channel.send(workers.emplace_back(context).address());
    }
    channel.send(memory.describe());
    for (unsigned i = 0; i < kThreads; ++i) {
        addresses.push_back(channel.receive());
    }
    Bytes remote_memory = channel.receive();
    std::deque<Endpoint> eps;
    for (unsigned i = 0; i < kThreads; ++i) {
        eps.emplace_back(workers[i], addresses[i]);
    }
    /* A flush is answered by the other side's worker, so all go on until the
     * last is done. */
    std::atomic<unsigned> done{0};
    std::atomic<bool> both_done{false};
    in_threads([&](unsigned thread) {
        {
            Remote remote(eps[thread].handle(), remote_memory);
            work(workers[thread], eps[thread], remote, thread,
                 session.active());
        }
        if (++done == kThreads) {
            channel.send_mark(1);
        }
        workers[thread].until(
            [&] {
                if (thread == 0 && done == kThreads && channel.readable()) {
                    both_done = true;
                }
                return both_done.load();
            },
            "the other side");
    });
    channel.expect_mark(1);
    std::deque<Request> closes;
    for (Endpoint &ep : eps) {
        closes.push_back(ep.begin_close(false));
    }
    auto meet = [&](uint64_t mark) {
        channel.send_mark(mark);
        workers[0].until(
            [&] {
                for (Worker &worker : workers) {
                    ucp_worker_progress(worker.handle());
                }
                return channel.readable();
            },
            "the other side");
        channel.expect_mark(mark);
    };
    workers[0].until(
        [&] {
            bool all = true;
            for (unsigned i = 0; i < kThreads; ++i) {
                ucp_worker_progress(workers[i].handle());
                all = all && closes[i].done();
            }
            return all;
        },
        "closing");
    meet(2);
}

} // namespace

std::vector<Case> thread_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "threads.one_worker", one_worker);
    for_engines(cases, "threads.own_worker", own_worker);
    return cases;
}

} // namespace fltest

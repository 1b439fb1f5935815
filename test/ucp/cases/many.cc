/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Many processes, many workers, many endpoints. */

#include "../stack/crowd.h"
#include "cases.h"

namespace fltest {
namespace {

uint64_t seed_of(size_t from, size_t to, size_t number)
{
    return mix((from << 20) + (to << 10) + number);
}

/* Each process sends to each, itself among them, all sizes at once; and puts
 * into everybody's memory and gets from it. */
void all_to_all(Session &session)
{
    constexpr size_t kSizes[] = {0, 8, 3000, 9000, 70000, 400000, 1500000};
    constexpr size_t kArea    = 600000;
    constexpr size_t kTags    = 100;

    size_t most = 16; /* processes */
    Crowd crowd(session, most * kArea);
    Worker &worker = crowd.worker();
    size_t me = crowd.me();
    for (unsigned round = 0; round < 2; ++round) {
        std::deque<Buffer> buffers;
        std::deque<Request> requests;
        std::vector<std::pair<Buffer *, uint64_t>> checks;
        for (size_t other = 0; other < crowd.size(); ++other) {
            for (size_t i = 0; i < std::size(kSizes); ++i) {
                Buffer &in = buffers.emplace_back(kSizes[i], 1 + i % 3);
                requests.push_back(worker.receive(in, other * kTags + i));
                checks.emplace_back(&in, seed_of(other, me, i));
            }
        }
        for (size_t step = 0; step < crowd.size(); ++step) {
            size_t other = (me + step) % crowd.size();
            for (size_t i = 0; i < std::size(kSizes); ++i) {
                Buffer &out = buffers.emplace_back(kSizes[i]);
                out.write(seed_of(me, other, i));
                requests.push_back(crowd.ep(other).send(out, me * kTags + i));
            }
            Buffer &put = buffers.emplace_back(kArea - 8);
            put.write(seed_of(me, other, kTags + round));
            requests.push_back(crowd.ep(other).put(put.data(), put.size(),
                                                   crowd.remote(other),
                                                   me * kArea));
        }
        worker.finish_all(requests, "message or put");
        for (auto [in, seed] : checks) {
            in->require(seed, "message");
        }
        worker.finish(worker.flush(), "flush");
        crowd.meet();
        for (size_t other = 0; other < crowd.size(); ++other) {
            require_pattern(crowd.memory().at(other * kArea), kArea - 8,
                            seed_of(other, me, kTags + round), "put");
        }
        for (size_t other = 0; other < crowd.size(); ++other) {
            /* What the next one put there. */
            size_t from = (me + 1) % crowd.size();
            Buffer in(kArea - 8);
            Request get = crowd.ep(other).get(in.data(), in.size(),
                                              crowd.remote(other),
                                              from * kArea);
            worker.finish(get, "get");
            in.require(seed_of(from, other, kTags + round), "get");
        }
        crowd.meet();
    }
    crowd.finish();
}

/* Several workers in each process, of one context or of one each, with an
 * endpoint from each to each on both sides: other nodes, the own process, and
 * the worker itself. */
void workers(Session &session, bool shared)
{
    constexpr size_t kWorkers = 4;
    constexpr size_t kSizes[] = {0, 100, 9000, 200000};

    Channel channel = session.connection();
    std::deque<Context> contexts;
    std::deque<Worker> workers;
    std::vector<Bytes> addresses[2]; /* of the active side, of the passive */
    size_t side = !session.active();
    for (size_t i = 0; i < kWorkers; ++i) {
        if (contexts.empty() || !shared) {
            contexts.emplace_back(Context::Options{});
        }
        Worker &worker = workers.emplace_back(contexts.back());
        channel.send(worker.address());
        addresses[side].push_back(worker.address());
    }
    while (addresses[!side].size() < kWorkers) {
        addresses[!side].push_back(channel.receive());
    }

    std::deque<Endpoint> eps;
    std::deque<Buffer> in, out;
    std::deque<Request> receives, sends;
    std::vector<uint64_t> seeds;
    /* A number for each worker of the two sides. */
    for (size_t w = 0; w < kWorkers; ++w) {
        size_t me = side * kWorkers + w;
        for (size_t other = 0; other < 2 * kWorkers; ++other) {
            Endpoint &ep = eps.emplace_back(
                workers[w], addresses[other / kWorkers][other % kWorkers]);
            for (size_t i = 0; i < std::size(kSizes); ++i) {
                receives.push_back(workers[w].receive(
                    in.emplace_back(kSizes[i]), other * 100 + i));
                seeds.push_back(seed_of(other, me, i));
                Buffer &buffer = out.emplace_back(kSizes[i], 2);
                buffer.write(seed_of(me, other, i));
                sends.push_back(ep.send(buffer, me * 100 + i));
            }
        }
    }
    auto progress_until = [&](auto &&done, const char *what) {
        workers[0].until(
            [&] {
                for (Worker &worker : workers) {
                    ucp_worker_progress(worker.handle());
                }
                return done();
            },
            what);
    };
    for (auto *requests : {&receives, &sends}) {
        for (Request &request : *requests) {
            progress_until([&] { return request.done(); }, "a message");
            REQUIRE(request.ok(), "message: %s",
                    ucs_status_string(request.status()));
        }
    }
    for (size_t i = 0; i < in.size(); ++i) {
        in[i].require(seeds[i], "message");
    }
    auto meet = [&](uint64_t mark) {
        channel.send_mark(mark);
        progress_until([&] { return channel.readable(); }, "the other side");
        channel.expect_mark(mark);
    };
    meet(1);
    std::deque<Request> closes;
    for (Endpoint &ep : eps) {
        closes.push_back(ep.begin_close(false));
    }
    for (Request &close : closes) {
        progress_until([&] { return close.done(); }, "closing");
        REQUIRE(close.ok(), "closing: %s", ucs_status_string(close.status()));
    }
    meet(2);
}

/* Workers come and go, with connections to one that stays. */
void again(Session &session)
{
    constexpr size_t kRounds = 15;
    constexpr size_t kSize   = 60000;

    Channel channel = session.connection();
    Context context({});
    auto exchange = [&](Worker &worker, size_t round) {
        channel.send(worker.address());
        Endpoint ep(worker, channel.receive());
        Buffer out(kSize), in(kSize);
        out.write(mix(round) + session.active());
        Request receive = worker.receive(in, round);
        Request send    = ep.send(out, round);
        worker.finish(receive, "receive");
        worker.finish(send, "send");
        in.require(mix(round) + !session.active(), "message");
        worker.meet(channel, 2 * round + 1);
        ep.close();
        worker.meet(channel, 2 * round + 2);
    };
    if (session.active()) {
        for (size_t round = 0; round < kRounds; ++round) {
            Worker worker(context);
            exchange(worker, round);
        }
    } else {
        Worker worker(context);
        for (size_t round = 0; round < kRounds; ++round) {
            exchange(worker, round);
        }
    }
}

} // namespace

std::vector<Case> many_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "many.all_to_all", all_to_all);
    for_engines(cases, "many.workers", [](Session &s) { workers(s, true); });
    for_engines(cases, "many.contexts", [](Session &s) { workers(s, false); });
    for_engines(cases, "many.again", again);
    /* A worker may go while paths to it that carried nothing yet connect;
     * UCX's TCP says so for each. */
    for (size_t i = cases.size() - 2; i < cases.size(); ++i) {
        cases[i].log = {{Side::Passive,
                         "connection establishment for socket fd .* was "
                         "unsuccessful", 0, 200}};
    }
    return cases;
}

} // namespace fltest

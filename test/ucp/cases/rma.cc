/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Puts and gets, when they are complete, and what a fence promises. */

#include "../stack/link.h"
#include "cases.h"

#include <cstring>
#include <deque>

namespace fltest {
namespace {

constexpr size_t kArea    = 8 << 20;
constexpr size_t kSizes[] = {0,     1,     7,      8,      100,     1000,
                             4096,  8000,  8176,   8192,   8193,    16000,
                             32767, 65536, 100001, 262144, 1 << 20, 3000001};

/* Each side puts to the other's memory at odd places, and gets it back. A flush
 * of the endpoint or of the worker ends the puts. */
void sizes(Session &session)
{
    Link link(session, {.memory = kArea});
    Worker &worker = link.worker();
    uint64_t mine = session.active(), theirs = 1 - mine;
    for (unsigned round = 0; round < 3; ++round) {
        auto place = [&](size_t i) {
            size_t at = 1 + round;
            for (size_t k = 0; k < i; ++k) {
                at += kSizes[k] + 3;
            }
            return at;
        };
        auto seed = [&](uint64_t who, size_t i) {
            return mix(who + 2 * i + 100 * round);
        };
        memset(link.memory().data(), 0x55, kArea);
        link.meet();
        std::deque<Buffer> out, in;
        std::deque<Request> requests;
        for (size_t i = 0; i < std::size(kSizes); ++i) {
            out.emplace_back(kSizes[i]).write(seed(mine, i));
            requests.push_back(link.ep().put(out[i].data(), kSizes[i],
                                             link.remote(), place(i)));
        }
        requests.push_back(round == 0 ? link.ep().flush() : worker.flush());
        /* The flush alone must do: what was put before is there. */
        worker.finish(requests.back(), "flush");
        requests.pop_back();
        link.meet();
        size_t at = 0;
        for (size_t i = 0; i < std::size(kSizes); ++i) {
            for (; at < place(i); ++at) {
                REQUIRE(link.memory().data()[at] == 0x55,
                        "a put wrote beside its place, at %zu", at);
            }
            require_pattern(link.memory().at(at), kSizes[i], seed(theirs, i),
                            format("put of %zu bytes", kSizes[i]).c_str());
            at += kSizes[i];
        }
        REQUIRE(link.memory().data()[at] == 0x55,
                "the last put is too long");
        worker.finish_all(requests, "put");
        requests.clear();

        for (size_t i = 0; i < std::size(kSizes); ++i) {
            in.emplace_back(kSizes[i]);
            requests.push_back(link.ep().get(in[i].data(), kSizes[i],
                                             link.remote(), place(i)));
        }
        worker.finish(round == 0 ? worker.flush() : link.ep().flush(), "flush");
        for (size_t i = 0; i < std::size(kSizes); ++i) {
            in[i].require(seed(mine, i),
                          format("get of %zu bytes", kSizes[i]).c_str());
        }
        worker.finish_all(requests, "get");
        link.meet();
    }
    link.finish();
}

/* Many operations at once on the same memory, ended by their own requests. */
void many(Session &session)
{
    constexpr size_t kOps  = 600;
    constexpr size_t kSlot = 12000;

    Link link(session, {.memory = kOps * kSlot});
    auto size_of = [](size_t i) { return Random(i).below(kSlot); };
    /* Each side's memory is written by the other in its even slots, and read in
     * the odd ones. */
    for (size_t i = 1; i < kOps; i += 2) {
        fill(link.memory().at(i * kSlot), kSlot, mix(i) + session.active());
    }
    link.meet();
    std::deque<Buffer> buffers;
    std::deque<Request> requests;
    for (size_t i = 0; i < kOps; ++i) {
        Buffer &buffer = buffers.emplace_back(size_of(i));
        if (i % 2 == 0) {
            buffer.write(mix(i) + session.active());
            requests.push_back(link.ep().put(buffer.data(), size_of(i),
                                             link.remote(), i * kSlot));
        } else {
            requests.push_back(link.ep().get(buffer.data(), size_of(i),
                                             link.remote(), i * kSlot));
        }
    }
    for (size_t i = 0; i < kOps; ++i) {
        link.worker().finish(requests[i], "operation");
        if (i % 2 != 0) {
            buffers[i].require(mix(i) + !session.active(), "get");
        }
    }
    link.worker().finish(link.ep().flush(), "flush");
    link.meet();
    for (size_t i = 0; i < kOps; i += 2) {
        require_pattern(link.memory().at(i * kSlot), size_of(i),
                        mix(i) + !session.active(), "put");
    }
    link.finish();
}

/* How the flag of fence() is raised. */
enum class Flag { Put, Add };

/* Data, fence, flag: who sees the flag finds the data, whatever rails it took.
 * The flag's reader looks at the memory alone. If `cold`, the first data is
 * given to UCP before there is a connection. */
void fence(Session &session, Flag kind, bool cold)
{
    constexpr uint64_t kRounds = 60;
    constexpr size_t kFlag     = kArea - 64;

    Link link(session, {.memory = kArea});
    auto *flag = reinterpret_cast<volatile uint64_t *>(link.memory().at(kFlag));
    auto size_of = [](uint64_t round) {
        return Random(round).below(round % 3 == 0 ? 3000000 : 100000) + 1;
    };
    auto place_of = [](uint64_t round) { return Random(round + 9).below(999); };
    Buffer out(3000001);
    if (!cold) {
        Request put = link.ep().put(out.data(), out.size(), link.remote(), 0);
        link.worker().finish(link.ep().flush(), "flush");
        link.worker().finish(put, "put");
        link.meet();
    }
    for (uint64_t round = 1; round <= kRounds; ++round) {
        /* Each side in its turn, so that the reader is idle or busy. */
        if (session.active() == (round % 2 == 0)) {
            link.worker().until([&] { return *flag >= round; }, "the flag");
            REQUIRE(*flag == round, "the flag is %lu instead of %lu",
                    static_cast<unsigned long>(*flag), round);
            require_pattern(link.memory().at(place_of(round)), size_of(round),
                            round, "data before the flag");
            *flag = round + 1; /* the next is ours to raise */
            continue;
        }
        fill(out.data(), size_of(round), round);
        std::deque<Request> requests;
        requests.push_back(link.ep().put(out.data(), size_of(round),
                                         link.remote(), place_of(round)));
        link.worker().fence();
        uint64_t value = round;
        if (kind == Flag::Put) {
            requests.push_back(link.ep().put(&value, sizeof(value),
                                             link.remote(), kFlag));
        } else {
            /* There it is what its last reader left, or nothing yet. */
            value = round < 3 ? round : 1;
            requests.push_back(link.ep().atomic<uint64_t>(
                UCP_ATOMIC_OP_ADD, value, link.remote(), kFlag, nullptr));
        }
        requests.push_back(link.ep().flush());
        link.worker().finish_all(requests, "data, fence and flag");
    }
    link.finish();
}

/* An atomic, a fence, a put of much data over the same place: the put wins,
 * although it has all rails and the atomic is a message on one, behind others.
 */
void fence_after_atomic(Session &session)
{
    constexpr size_t kLong   = 100000;
    constexpr size_t kRounds = 40;

    Link link(session, {.memory = kArea});
    Buffer data(kLong);
    for (uint64_t round = 1; round <= kRounds; ++round) {
        link.meet();
        if (session.active()) {
            data.write(round);
            std::deque<Request> requests;
            for (size_t i = 0; i < 200; ++i) {
                requests.push_back(link.ep().atomic<uint64_t>(
                    UCP_ATOMIC_OP_ADD, 1, link.remote(), 8 * i, nullptr));
            }
            link.worker().fence();
            requests.push_back(
                link.ep().put(data.data(), kLong, link.remote(), 0));
            requests.push_back(link.ep().flush());
            link.worker().finish_all(requests, "atomics, fence and put");
        }
        link.meet();
        if (!session.active()) {
            require_pattern(link.memory().data(), kLong, round,
                            "put after atomics and a fence");
        }
    }
    link.finish();
}

/* A flush also waits for what a fence still holds back. */
void fence_and_flush(Session &session)
{
    constexpr size_t kPlace = kArea - 64;

    Link link(session, {.memory = kArea});
    auto *place = reinterpret_cast<volatile uint64_t *>(
        link.memory().at(kPlace));
    Buffer data(4 << 20);
    data.write(1);
    for (uint64_t round = 1; round <= 10; ++round) {
        if (session.active()) {
            std::deque<Request> requests;
            requests.push_back(
                link.ep().put(data.data(), data.size(), link.remote(), 0));
            link.worker().fence();
            requests.push_back(
                link.ep().put(&round, sizeof(round), link.remote(), kPlace));
            link.worker().finish(round % 2 ? link.ep().flush() :
                                             link.worker().flush(), "flush");
            link.channel().send_mark(round);
            link.worker().finish_all(requests, "put");
        } else {
            link.worker().await(link.channel(), round);
            REQUIRE(*place == round, "after a flush there is %lu instead of "
                    "%lu", static_cast<unsigned long>(*place), round);
        }
        link.meet();
    }
    link.finish();
}

/* Keys are small enough to be sent around, and each works on every endpoint. */
void keys(Session &session)
{
    constexpr size_t kRegions = 40;
    constexpr size_t kSize    = 5000;
    constexpr size_t kKeyMost = 64;

    Link link(session, {});
    std::deque<Memory> memories;
    std::deque<Remote> remotes;
    Endpoint second(link.worker(), link.peer_address());
    for (size_t i = 0; i < kRegions; ++i) {
        Memory &memory = memories.emplace_back(link.context(), kSize);
        fill(memory.data(), kSize, mix(i) + session.active());
        Bytes key = memory.packed_key();
        REQUIRE(!key.empty() && key.size() <= kKeyMost,
                "a packed key has %zu bytes", key.size());
        REQUIRE(key == memory.packed_key(), "another key the second time");
        link.channel().send(memory.describe());
    }
    std::deque<Request> requests;
    std::deque<Buffer> buffers;
    for (size_t i = 0; i < kRegions; ++i) {
        Endpoint &ep   = i % 2 ? second : link.ep();
        Remote &remote = remotes.emplace_back(ep.handle(),
                                              link.channel().receive());
        Buffer &buffer = buffers.emplace_back(kSize);
        requests.push_back(ep.get(buffer.data(), kSize, remote, 0));
    }
    for (size_t i = 0; i < kRegions; ++i) {
        link.worker().finish(requests[i], "get");
        buffers[i].require(mix(i) + !session.active(), "get by a key");
    }
    link.meet();
    remotes.clear();
    second.close();
    link.finish();
}

/* A process's own memory, through an endpoint to itself. */
void self(Session &)
{
    Context context({});
    Worker worker(context);
    Endpoint ep(worker, worker.address());
    Memory memory(context, kArea);
    {
        Remote remote(ep.handle(), memory.describe());
        for (size_t size : kSizes) {
            Buffer out(size), in(size);
            out.write(size);
            Request put = ep.put(out.data(), size, remote, 5);
            worker.finish(ep.flush(), "flush");
            require_pattern(memory.at(5), size, size, "put to oneself");
            Request get = ep.get(in.data(), size, remote, 5);
            worker.finish(worker.flush(), "flush");
            in.require(size, "get from oneself");
            worker.finish(put, "put");
            worker.finish(get, "get");
        }
    }
    ep.close();
}

} // namespace

std::vector<Case> rma_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "rma.sizes", sizes);
    for_engines(cases, "rma.many", many);
    for_engines(cases, "rma.fence.put",
                [](Session &s) { fence(s, Flag::Put, false); });
    for_engines(cases, "rma.fence.add",
                [](Session &s) { fence(s, Flag::Add, false); });
    for_engines(cases, "rma.fence.first",
                [](Session &s) { fence(s, Flag::Put, true); });
    for_engines(cases, "rma.fence.first_add",
                [](Session &s) { fence(s, Flag::Add, true); });
    for_engines(cases, "rma.fence.after_atomic", fence_after_atomic);
    for_engines(cases, "rma.fence.flush", fence_and_flush);
    for_engines(cases, "rma.keys", keys);
    for_engines(cases, "rma.self", self);
    for (Case &test : cases) {
        if (test.name.starts_with("rma.self.")) {
            test.passive = nullptr;
        }
    }
    return cases;
}

} // namespace fltest

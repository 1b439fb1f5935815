/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Puts and gets that the NICs do: the other process takes no part. For hosts
 * with RDMA NICs, see test/verbs. */

#include "../stack/link.h"
#include "../stack/queue_pairs.h"
#include "cases.h"

#include <cstdio>
#include <deque>

namespace fltest {
namespace {

constexpr size_t kArea = 2 << 20;

/* Sizes that take the control lane and sizes that take all rails. */
constexpr size_t kSizes[] = {8, 300, 4000, 100001, 1000003};

/* Everything lands and ends while the passive side waits for a word on the
 * management connection, without progress. */
void alone(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 2 * kArea});
    Memory &memory = link.memory();
    uint64_t me    = session.active();
    fill(memory.data(), kArea, 60 + me);
    link.settle();
    if (!session.active()) {
        /* Queue pairs are connected and keys are fetched with this side's
         * help. */
        link.meet();
        fill(memory.at(kArea), kArea, 63);
        link.meet();
        channel.expect_mark(100, 50);
        require_pattern(memory.at(kArea), 8, 61, "short put");
        for (size_t at = 8; size_t size : kSizes) {
            require_pattern(memory.at(kArea + at), size, 61, "put", at);
            at += size;
        }
        link.meet();
        return;
    }
    for (int i = 0; i < 3; ++i) {
        Op put, get;
        link.ep().put_zcopy(memory.iov(0, kArea), link.remote(), kArea, &put);
        link.ep().get_zcopy(memory.iov(kArea, kArea), link.remote(), 0, get);
        link.ep().finish(put, "put to begin with");
        link.ep().finish(get, "get to begin with");
    }
    fill(memory.at(kArea), kArea, 62);
    link.meet();
    link.meet();

    link.ep().put_short(memory.data(), 8, link.remote(), kArea);
    std::deque<Op> ops;
    size_t at = 8;
    for (size_t size : kSizes) {
        link.ep().put_zcopy(memory.iov(at, size), link.remote(), kArea + at,
                            &ops.emplace_back());
        link.ep().get_zcopy(memory.iov(kArea + at, size), link.remote(), at,
                            ops.emplace_back());
        at += size;
    }
    Op flush;
    link.ep().flush(flush);
    link.ep().finish(flush, "flush");
    for (Op &op : ops) {
        link.ep().finish(op, "put or get");
    }
    channel.send_mark(100);
    at = 8;
    for (size_t size : kSizes) {
        require_pattern(memory.at(kArea + at), size, 60, "get", at);
        at += size;
    }
    link.meet();
}

/* Bytes that NICs hold in memory, of this process. */
size_t pinned()
{
    size_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    REQUIRE(file != nullptr, "no /proc/self/status");
    for (char line[256]; fgets(line, sizeof(line), file) != nullptr;) {
        sscanf(line, "VmPin: %zu kB", &kib);
    }
    fclose(file);
    return kib << 10;
}

/* What UCX's queues of four NICs pin is divided: alone, each would pin 60 MB.
 * That the limit of locked memory is asked for before is in limits. */
void memory(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = kArea});
    Op put;
    link.ep().put_zcopy(link.memory().iov(0, kArea), link.remote(), 0, &put);
    link.ep().finish(put, "put");
    link.meet();
    constexpr size_t kPerNic = 20 << 20, kNics = 4;
    size_t bytes             = pinned();
    REQUIRE(bytes > kNics << 20, "%zu bytes are pinned: are there RDMA NICs?",
            bytes);
    REQUIRE(bytes < kNics * kPerNic + kArea, "%zu bytes are pinned", bytes);
    link.meet();
}

constexpr unsigned kRounds = 3;

/* All queue pairs fail, that of the messages too, with data on its way: both sides
 * are told, and another endpoint connects to the same peer. */
void reconnects(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 3 * kArea});
    link.settle();
    for (unsigned round = 0; round < kRounds; ++round) {
        /* To where nobody looks: it may be written late. */
        Op put, late;
        link.ep().put_zcopy(link.memory().iov(0, kArea), link.remote(),
                            2 * kArea, &put);
        link.worker().for_seconds(0.3); /* so that there are some */
        link.meet();
        link.ep().put_zcopy(link.memory().iov(0, kArea), link.remote(),
                            2 * kArea, &late);
        if (session.active()) {
            const size_t broken = break_queue_pairs();
            REQUIRE(broken > 1, "%zu queue pairs, with that of messages",
                    broken);
        }
        link.worker().until([&] { return !link.iface().errors().empty(); },
                            "the error handler");
        link.worker().until([&] { return put.done() && late.done(); },
                            "the puts");
        link.disconnect();
        link.iface().forget_errors();
        link.meet();
        link.connect();

        const uint64_t seed = 70 + 2 * round;
        fill(link.memory().data(), kArea, seed + session.active());
        link.meet();
        Op good;
        link.ep().put_zcopy(link.memory().iov(0, kArea), link.remote(), kArea,
                            &good);
        link.ep().finish(good, "a put over the new connection");
        link.meet();
        require_pattern(link.memory().at(kArea), kArea,
                        seed + !session.active(), "put");
        REQUIRE(put.calls() == 1 && late.calls() == 1,
                "completions were called %u and %u times", put.calls(),
                late.calls());
        link.meet();
    }
}

/* Those for bulk data fail, on all NICs at once, with puts and gets on their way in
 * both directions, and at last with a single get and nothing else to do: nobody is
 * told, and all of it arrives. */
void mends(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 3 * kArea});
    Memory &memory = link.memory();
    link.settle(); /* over the oldest queue pair, that of messages */
    for (unsigned round = 0; round < kRounds; ++round) {
        const uint64_t seed  = 80 + 2 * round;
        const bool     alone = round + 1 == kRounds;
        fill(memory.data(), kArea, seed + session.active());
        Op first, put, get;
        link.worker().for_seconds(0.7); /* for those that broke have rested */
        link.ep().put_zcopy(memory.iov(0, kArea), link.remote(), kArea, &first);
        link.ep().finish(first, "a put with all connections");
        fill(memory.at(2 * kArea), kArea, 1);
        link.meet();
        fill(memory.at(kArea), kArea, 2);
        link.meet();
        const bool gets = session.active() || !alone;
        if (!alone) {
            link.ep().put_zcopy(memory.iov(0, kArea), link.remote(), kArea,
                                &put);
        }
        if (gets) {
            link.ep().get_zcopy(memory.iov(2 * kArea, kArea), link.remote(), 0,
                                get);
        }
        link.worker().for_seconds(0.05);
        if (session.active()) {
            const size_t broken = break_queue_pairs(1);
            REQUIRE(broken > 1, "%zu queue pairs for data", broken);
            REQUIRE((alone || !put.done()) && !get.done(),
                    "too late: they have ended");
        }
        if (gets) {
            link.ep().finish(get, "a get whose connections broke");
            require_pattern(memory.at(2 * kArea), kArea,
                            seed + !session.active(), "get");
        }
        if (!alone) {
            link.ep().finish(put, "a put whose connections broke");
        }
        link.meet();
        if (!alone) {
            require_pattern(memory.at(kArea), kArea, seed + !session.active(),
                            "put");
        }
        link.meet();
    }
    REQUIRE(link.iface().errors().empty(), "an endpoint was reported");
}

/* UCX's own words of a queue pair that fails. */
const LogLine kFailedWork{
    Side::Both, "UCX +ERROR .*(completion with error|rqpn)", 0, 1000};

} // namespace

std::vector<Case> native_cases()
{
    return {{"native.alone", alone, alone},
            {"native.memory", memory, memory},
            {"native.mends", mends, mends, {},
             {kFailedWork,
              {Side::Active, "its data goes over the other rails", 1, 100},
              {Side::Passive, "its data goes over the other rails", 0, 100}}},
            {"native.reconnects", reconnects, reconnects, {},
             {kFailedWork,
              {Side::Active, "over which messages go to peer .* has failed",
               kRounds, kRounds}}}};
}

} // namespace fltest

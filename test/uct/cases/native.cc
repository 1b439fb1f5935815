/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Puts and gets that the NICs do: the other process takes no part. For hosts
 * with RDMA NICs, see test/verbs. */

#include "../stack/link.h"
#include "../stack/registrations.h"
#include "harness/nics.h"
#include "harness/queue_pairs.h"
#include "cases.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
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

/* All queue pairs fail, that of the messages too, with data and messages on their way:
 * others take their place, and nobody is told. */
void reconnects(Session &session)
{
    constexpr uint8_t  kId       = 6;
    constexpr unsigned kMessages = 20;
    Channel channel = session.connection();
    Link link(channel, {.memory = 2 * kArea});
    Memory &memory   = link.memory();
    unsigned in_turn = 0, came = 0;
    link.iface().on_message(kId, [&](void *data, size_t length, unsigned) {
        uint64_t number = UINT64_MAX;
        memcpy(&number, data, std::min(length, sizeof(number)));
        in_turn += length == sizeof(number) && number == came;
        ++came;
        return UCS_OK;
    });
    link.settle();
    for (unsigned round = 0; round < kRounds; ++round) {
        const uint64_t seed = 70 + 2 * round;
        fill(memory.data(), kArea, seed + session.active());
        Op first, put;
        link.worker().for_seconds(0.7); /* for those that broke have rested */
        link.ep().put_zcopy(memory.iov(0, kArea), link.remote(), kArea, &first);
        link.ep().finish(first, "a put with all connections");
        link.meet();
        fill(memory.at(kArea), kArea, 2);
        link.meet();
        link.ep().put_zcopy(memory.iov(0, kArea), link.remote(), kArea, &put);
        for (unsigned i = 0; i < kMessages; ++i) {
            if (i == kMessages / 2 && session.active()) {
                const size_t broken = break_queue_pairs();
                REQUIRE(broken > 1, "%zu queue pairs, with that of messages",
                        broken);
                REQUIRE(!put.done(), "too late: the put has ended");
            }
            link.ep().am_short(kId, round * kMessages + i);
        }
        link.ep().finish(put, "a put whose connections broke");
        link.worker().until([&] { return came >= (round + 1) * kMessages; },
                            "the messages");
        link.meet();
        require_pattern(memory.at(kArea), kArea, seed + !session.active(),
                        "put");
        REQUIRE(came == (round + 1) * kMessages && in_turn == came,
                "%u messages came by round %u, %u in their turn", came, round,
                in_turn);
        REQUIRE(link.iface().errors().empty(), "an endpoint was reported");
        link.meet();
    }
}

/* Queue pairs there are before there is bulk data. */
size_t those_for_messages()
{
    size_t count = 0;
    for (const auto &[nic, pairs] : queue_pairs()) {
        count += pairs;
    }
    REQUIRE(count == 1, "%zu queue pairs for messages", count);
    return count;
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
    const size_t spared = those_for_messages();
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
            const size_t broken = break_queue_pairs(spared);
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

/* A get has begun, and those that can read are gone: a put behind it goes over the
 * TCP NICs meanwhile. */
void passes(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 3 * kArea});
    Memory &memory = link.memory();
    fill(memory.data(), kArea, 85 + session.active());
    link.settle();
    const size_t spared = those_for_messages();
    if (session.active()) {
        Op first, get, put;
        link.ep().put_zcopy(memory.iov(0, kArea), link.remote(), kArea, &first);
        link.ep().finish(first, "a put with all connections");
        link.ep().get_zcopy(memory.iov(2 * kArea, kArea), link.remote(), 0,
                            get);
        link.worker().for_seconds(0.05);
        REQUIRE(break_queue_pairs(spared) != 0,
                "no queue pairs for data");
        link.worker().for_seconds(0.05); /* so that this is known */
        link.ep().put_zcopy(memory.iov(0, kArea / 8), link.remote(), kArea,
                            &put);
        link.ep().finish(put, "a put behind the get");
        REQUIRE(!get.done(), "the put had to wait for the get");
        link.ep().finish(get, "a get whose connections broke");
        require_pattern(memory.at(2 * kArea), kArea, 85, "get");
    }
    link.meet();
}

/* Bulk data and messages with a limit on the queue pairs of a NIC: no more of them,
 * and what has none goes by datagrams. */
void limited(Session &session, size_t limit)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 2 * kArea});
    const uint64_t me = session.active();
    fill(link.memory().data(), kArea, 90 + me);
    link.settle();
    for (int i = 0; i < 2; ++i) { /* the first may not wait for connections */
        Op put;
        link.ep().put_zcopy(link.memory().iov(0, kArea), link.remote(), kArea,
                            &put);
        link.ep().finish(put, "put");
        link.meet();
    }
    require_pattern(link.memory().at(kArea), kArea, 91 - me, "put");
    const auto   pairs = queue_pairs();
    const auto   rates = nic_shares();
    const size_t nics  = rates.size() - std::count(rates.begin(), rates.end(), 0);
    size_t       sum   = 0;
    for (const auto &[nic, count] : pairs) {
        REQUIRE(count <= limit, "%s has %zu queue pairs", nic.c_str(), count);
        sum += count;
    }
    /* One for the messages, and one on each NIC. */
    const size_t want = std::min(nics + 1, limit * nics);
    REQUIRE(sum == want, "%zu queue pairs, want %zu", sum, want);
    link.meet();
}

/* A NIC of each side does not register what data is to be moved from and to. That is
 * said once and not tried again; it sends messages, and the others write. */
void registration(Session &session)
{
    constexpr size_t kRegions = 2, kSize = 4 << 20;
    Channel channel = session.connection();
    Link link(channel, {.memory = 4096});
    const uint64_t me = session.active();
    link.settle();
    for (size_t region = 0; region < kRegions; ++region) {
        Memory memory(link.domain(), 2 * kSize);
        refuse_registrations(1 + me, memory.data(), memory.size());
        channel.send(memory.describe());
        Remote remote(link.domain(), channel.receive());
        fill(memory.data(), kSize, 95 + me);
        link.meet();
        NicBytes bytes;
        Op       put;
        link.ep().put_zcopy(memory.iov(0, kSize), remote, kSize, &put);
        link.ep().finish(put, "put");
        link.meet();
        require_pattern(memory.at(kSize), kSize, 96 - me, "put");
        REQUIRE(refused_registrations() == region + 1,
                "a NIC was asked %zu times to register memory",
                refused_registrations());
        refuse_registrations(1 + me, nullptr, 0);
        const auto sent = bytes.sent();
        for (size_t nic : {0, 3}) {
            REQUIRE(nic < sent.size(), "%zu NICs", sent.size());
            REQUIRE(sent[nic] > kSize / 8, "NIC %zu sent %lu bytes", nic,
                    sent[nic]);
        }
        link.meet();
    }
}

/* The key of short memory has that of one NIC inside; a transfer that is long enough
 * for others asks for theirs. */
void keys(Session &session)
{
    constexpr size_t   kSize = 48 << 10;
    constexpr unsigned kPuts = 40;
    Channel channel = session.connection();
    Link link(channel, {.memory = 2 * kSize});
    Memory memory(link.domain(), kSize);
    channel.send(memory.describe());
    Remote remote(link.domain(), channel.receive());
    REQUIRE(remote.packed_key().size() <= 200, "a key of %zu bytes",
            remote.packed_key().size());
    link.settle();
    if (session.active()) { /* which connects queue pairs and asks */
        for (int i = 0; i < 3; ++i) {
            Op put;
            link.ep().put_zcopy(link.memory().iov(0, kSize), remote, 0, &put);
            link.ep().finish(put, "put to begin with");
        }
    }
    link.meet();
    /* Messages would not get there: the other side makes no progress. */
    if (!session.active()) {
        channel.expect_mark(100, 50);
    } else {
        NicBytes bytes;
        for (unsigned i = 0; i < kPuts; ++i) {
            fill(link.memory().data(), kSize, 97 + i);
            Op put;
            link.ep().put_zcopy(link.memory().iov(0, kSize), remote, 0, &put);
            link.ep().finish(put, "put");
        }
        const auto   sent = bytes.sent();
        const auto   many = std::count_if(sent.begin(), sent.end(), [](uint64_t n) {
            return n > kPuts * kSize / 10;
        });
        REQUIRE(many > 1, "%td NICs carried data", many);
        channel.send_mark(100);
    }
    link.meet();
    if (!session.active()) {
        require_pattern(memory.data(), kSize, 97 + kPuts - 1, "put");
    }
    link.meet();
}

/* UCX's own words of a queue pair that fails. */
const LogLine kFailedWork{
    Side::Both, "UCX +ERROR .*(completion with error|rqpn)", 0, 1000};

/* The end of what a line said of a NIC. */
const LogLine kAgain{Side::Both, "rail .* carries data again", 0, 100};

Case limit(const std::string &name, size_t count)
{
    auto run = [count](Session &session) { limited(session, count); };
    return {"native.queue_pairs." + name, run, run,
            {{Side::Both, "UCX_FUSELINK_MAX_QPS", std::to_string(count)}}};
}

} // namespace

std::vector<Case> native_cases()
{
    /* NICs do without any help. */
    const std::vector<Setting> nobody{{Side::Both, "UCX_FUSELINK_PROGRESS", "caller"}};
    return {{"native.alone", alone, alone, nobody},
            {"native.memory", memory, memory},
            {"native.keys", keys, keys, nobody},
            limit("none", 0),
            limit("one", 1),
            limit("two", 2),
            {"native.registration", registration, registration, {},
             {{Side::Both, "cannot register [0-9]+ bytes"}}},
            {"native.mends", mends, mends, {},
             {kFailedWork, kAgain,
              {Side::Active, "its data goes over the other rails", 1, 100},
              {Side::Passive, "its data goes over the other rails", 0, 100}}},
            {"mixed.passes", passes, passes, {},
             {kFailedWork, kAgain,
              {Side::Active, "its data goes over the other rails", 1, 100},
              {Side::Passive, "its data goes over the other rails", 0, 100}}},
            {"native.reconnects", reconnects, reconnects, {},
             {kFailedWork, kAgain,
              {Side::Both, "its data goes over the other rails", 0, 100},
              /* If none of the NIC's paths was named before. */
              {Side::Both, "messages to peer .* go over rail .* now", 0,
               100}}}};
}

} // namespace fltest

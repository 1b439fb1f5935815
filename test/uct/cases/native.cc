/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Puts and gets that the NICs do: the other process takes no part. For hosts
 * with RDMA NICs, see test/verbs. */

#include "../stack/link.h"
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

} // namespace

std::vector<Case> native_cases()
{
    return {{"native.alone", alone, alone}, {"native.memory", memory, memory}};
}

} // namespace fltest

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Tagged messages from and to every kind of memory. */

#include "../gpu_buffer.h"
#include "cases.h"
#include "stack/link.h"

#include <deque>

namespace fltest {
namespace {

/* Around the limits of what UCP sends in one piece, in several, and lets the
 * receiver fetch; and of its own copies in pieces of 512 kB. */
constexpr size_t kSizes[] = {0,       1,       8,      100,      2000,
                             8183,    8192,    9000,   65536,    100001,
                             262144,  524288,  524289, 1 << 20,  (4 << 20) + 3};
constexpr size_t kCount = std::size(kSizes);

uint64_t seed_of(const Session &session, bool mine, uint64_t number)
{
    return mix(2 * number + (session.active() == mine));
}

/* Every size in both directions at once, from one kind of memory to another. The
 * messages find a receive that waits for them or, if not `expected`, wait for
 * it. */
void sizes(Session &session, Kind from, Kind to, bool expected)
{
    use_gpu(session.active() ? 0 : 1);
    Link    link(session, {});
    Worker &worker = link.worker();
    std::deque<GpuBuffer> out, in;
    std::deque<Request>   sends, receives;
    auto receive_all = [&] {
        for (size_t i = 0; i < kCount; ++i) {
            receives.push_back(in[i].receive(worker.handle(), i));
        }
    };
    for (size_t i = 0; i < kCount; ++i) {
        in.emplace_back(to, kSizes[i]);
        out.emplace_back(from, kSizes[i]).write(seed_of(session, true, i));
    }
    if (expected) {
        receive_all();
    }
    link.meet();
    for (size_t i = 0; i < kCount; ++i) {
        sends.push_back(out[i].send(link.ep().handle(), i));
    }
    if (!expected) {
        ucp_tag_recv_info_t info;
        worker.until([&] { return worker.probe(kCount - 1, ~0ul, info); },
                     "the last message");
        receive_all();
    }
    for (size_t i = 0; i < kCount; ++i) {
        std::string what = format("%zu bytes from %s to %s", kSizes[i],
                                  name(from), name(to));
        worker.finish(receives[i], what.c_str());
        REQUIRE(receives[i].length() == kSizes[i], "%s: UCX says %zu",
                what.c_str(), receives[i].length());
        in[i].require(seed_of(session, false, i), what.c_str());
    }
    worker.finish_all(sends, "send");
    link.finish();
}

/* Hundreds of messages of all kinds of memory on their way at once. */
void many(Session &session)
{
    constexpr size_t kMessages = 300;

    use_gpu(session.active() ? 0 : 1);
    Link    link(session, {});
    Worker &worker = link.worker();
    std::deque<GpuBuffer> out, in;
    std::deque<Request>   sends, receives;
    for (size_t i = 0; i < kMessages; ++i) {
        Random random(i);
        size_t size = i % 20 == 0 ? random.below(1000000) :
                      i % 3 == 0  ? random.below(30000) : random.below(300);
        Kind  from = kKinds[random.below(std::size(kKinds))];
        Kind  to   = kKinds[random.below(std::size(kKinds))];
        out.emplace_back(from, size).write(seed_of(session, true, i));
        in.emplace_back(to, size);
        if (i % 2 == 0) {
            receives.push_back(in[i].receive(worker.handle(), i));
        }
    }
    link.meet();
    for (size_t i = 0; i < kMessages; ++i) {
        sends.push_back(out[i].send(link.ep().handle(), i));
    }
    worker.for_seconds(0.1);
    for (size_t i = 1; i < kMessages; i += 2) {
        receives.push_back(in[i].receive(worker.handle(), i));
    }
    worker.finish_all(receives, "receive");
    worker.finish_all(sends, "send");
    for (size_t i = 0; i < kMessages; ++i) {
        in[i].require(seed_of(session, false, i), "message");
    }
    link.finish();
}

} // namespace

std::vector<Case> gpu_tag_cases()
{
    std::vector<Case> cases;
    /* Each kind of memory on either side, and what programs mix. */
    constexpr std::pair<Kind, Kind> kPairs[] = {
        {Kind::Gpu, Kind::Gpu},     {Kind::Gpu, Kind::Host},
        {Kind::Host, Kind::Gpu},    {Kind::Managed, Kind::Managed},
        {Kind::Managed, Kind::Gpu}, {Kind::Gpu, Kind::Pinned},
        {Kind::Pinned, Kind::Managed}};
    for (auto [from, to] : kPairs) {
        for (bool expected : {true, false}) {
            for_engines(cases,
                        format("gpu_tag.%s.%s_%s",
                               expected ? "expected" : "unexpected",
                               name(from), name(to)),
                        [from = from, to = to, expected](Session &session) {
                            sizes(session, from, to, expected);
                        });
        }
    }
    auto gpus = [](Session &session) {
        sizes(session, Kind::Gpu, Kind::Gpu, false);
    };
    for_engines(cases, "gpu_tag.put_rndv", gpus,
                {{Side::Both, "UCX_RNDV_SCHEME", "put_zcopy"}});
    for_engines(cases, "gpu_tag.get_rndv", gpus,
                {{Side::Both, "UCX_RNDV_SCHEME", "get_zcopy"}});
    for_engines(cases, "gpu_tag.am_rndv", gpus,
                {{Side::Both, "UCX_RNDV_SCHEME", "am"}});
    for_engines(cases, "gpu_tag.all_rndv", gpus,
                {{Side::Both, "UCX_RNDV_THRESH", "0"}});
    for_engines(cases, "gpu_tag.all_eager", gpus,
                {{Side::Both, "UCX_RNDV_THRESH", "inf"}});
    for_engines(cases, "gpu_tag.late_copies", gpus,
                {{Side::Both, "CUDASIM_JITTER", "2ms"}});
    for_engines(cases, "gpu_tag.many", many);
    return cases;
}

} // namespace fltest

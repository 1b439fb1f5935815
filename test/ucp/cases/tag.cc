/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Tagged messages: what arrives is what was sent. */

#include "../stack/link.h"
#include "cases.h"

#include <deque>

namespace fltest {
namespace {

/* Around the limits of what UCP sends in one piece, in several, and lets the
 * receiver fetch. */
constexpr size_t kSizes[] = {
    0,     1,     7,     8,      63,     64,     65,     200,
    1000,  2000,  4096,  8000,   8183,   8184,   8191,   8192,
    8193,  9000,  16384, 30000,  65535,  65536,  65537,  100000,
    200000, 262144, 262145, 500001, 1 << 20, (1 << 20) + 1, (3 << 20) + 7};
constexpr size_t kCount = std::size(kSizes);

/* How the data lies in memory on either side. */
struct Layout {
    unsigned sent;     /* number of pieces */
    unsigned received;
};
constexpr Layout kLayouts[] = {{1, 1}, {5, 1}, {1, 5}, {7, 3}};

uint64_t seed_of(const Session &session, bool mine, uint64_t number)
{
    return mix(2 * number + (session.active() == mine));
}

/* Every size in both directions at once. The messages find a receive that waits
 * for them or, if not `expected`, wait for it. */
void sizes(Session &session, bool expected)
{
    Link link(session, {});
    Worker &worker = link.worker();
    for (size_t l = 0; l < std::size(kLayouts); ++l) {
        std::deque<Buffer> out, in;
        std::deque<Request> sends, receives;
        auto tag = [&](size_t i) { return l * kCount + i; };
        auto receive_all = [&] {
            for (size_t i = 0; i < kCount; ++i) {
                in.emplace_back(kSizes[i], kLayouts[l].received);
                receives.push_back(worker.receive(in[i], tag(i)));
            }
        };
        if (expected) {
            receive_all();
        }
        link.meet();
        for (size_t i = 0; i < kCount; ++i) {
            out.emplace_back(kSizes[i], kLayouts[l].sent);
            out[i].write(seed_of(session, true, tag(i)));
            sends.push_back(link.ep().send(out[i], tag(i)));
        }
        if (!expected) {
            ucp_tag_recv_info_t info;
            worker.until(
                [&] {
                    return worker.probe(tag(kCount - 1), ~0ul, info);
                },
                "the last message");
            receive_all();
        }
        for (size_t i = 0; i < kCount; ++i) {
            std::string what = format("%zu bytes in %u pieces to %u",
                                      kSizes[i], kLayouts[l].sent,
                                      kLayouts[l].received);
            worker.finish(receives[i], what.c_str());
            REQUIRE(receives[i].length() == kSizes[i] &&
                        receives[i].tag() == tag(i),
                    "%s: UCX says %zu bytes with tag %lu, not %lu",
                    what.c_str(), receives[i].length(), receives[i].tag(),
                    tag(i));
            in[i].require(seed_of(session, false, tag(i)), what.c_str());
        }
        worker.finish_all(sends, "send");
        link.meet();
    }
    link.finish();
}

/* Thousands of messages on their way, of all sizes, received in an order that
 * has nothing to do with that of sending, half of them before they come. */
void many(Session &session)
{
    constexpr size_t kMessages = 1500;

    Link link(session, {});
    Worker &worker = link.worker();
    Random random(session.active());
    std::vector<size_t> order(kMessages);
    for (size_t i = 0; i < kMessages; ++i) {
        order[i] = i;
        std::swap(order[i], order[random.below(i + 1)]);
    }
    auto size_of = [](size_t i) {
        Random by_number(i);
        return i % 50 == 0 ? by_number.below(300000) :
               i % 3 == 0  ? by_number.below(30000) :
                             by_number.below(300);
    };
    std::deque<Buffer> out;
    std::vector<std::unique_ptr<Buffer>> in(kMessages);
    std::vector<Request> sends, receives(kMessages);
    auto receive = [&](size_t from, size_t to) {
        for (size_t i = from; i < to; ++i) {
            size_t n    = order[i];
            in[n]       = std::make_unique<Buffer>(size_of(n));
            receives[n] = worker.receive(*in[n], n);
        }
    };
    receive(0, kMessages / 2);
    link.meet();
    for (size_t i = 0; i < kMessages; ++i) {
        out.emplace_back(size_of(i)).write(seed_of(session, true, i));
        sends.push_back(link.ep().send(out[i], i));
    }
    worker.for_seconds(0.1);
    receive(kMessages / 2, kMessages);
    for (size_t i = 0; i < kMessages; ++i) {
        worker.finish(receives[i], "receive");
        REQUIRE(receives[i].length() == size_of(i), "message %zu: %zu bytes "
                "instead of %zu", i, receives[i].length(), size_of(i));
        in[i]->require(seed_of(session, false, i), "message");
    }
    worker.finish_all(sends, "send");
    link.finish();
}

/* Messages of one tag are received in the order they were sent in, whichever
 * way each of them takes. */
void order(Session &session)
{
    constexpr size_t kMessages = 400;

    Link link(session, {});
    Worker &worker = link.worker();
    Random random(5);
    std::deque<Buffer> out, in;
    std::vector<Request> sends, receives;
    for (size_t i = 0; i < kMessages; ++i) {
        size_t size = kSizes[random.below(kCount - 3)];
        out.emplace_back(size).write(seed_of(session, true, i));
        in.emplace_back(size);
    }
    auto receive = [&](size_t from, size_t to) {
        for (size_t i = from; i < to; ++i) {
            receives.push_back(worker.receive(in[i], 1));
        }
    };
    receive(0, kMessages / 3);
    link.meet();
    for (size_t i = 0; i < kMessages; ++i) {
        sends.push_back(link.ep().send(out[i], 1));
    }
    receive(kMessages / 3, kMessages / 2);
    worker.for_seconds(0.05);
    receive(kMessages / 2, kMessages);
    for (size_t i = 0; i < kMessages; ++i) {
        worker.finish(receives[i], "receive");
        REQUIRE(receives[i].length() == in[i].size(), "message %zu of a tag: "
                "%zu bytes instead of %zu", i, receives[i].length(),
                in[i].size());
        in[i].require(seed_of(session, false, i), "message of a tag");
    }
    worker.finish_all(sends, "send");
    link.finish();
}

/* A synchronous send is done when its receive has begun, not earlier. */
void synchronous(Session &session)
{
    Link link(session, {});
    Worker &worker = link.worker();
    for (size_t size : {0ul, 8ul, 5000ul, 50000ul, 2000000ul}) {
        Buffer out(size), in(size);
        out.write(seed_of(session, true, size));
        Request send = link.ep().send_sync(out, size);
        worker.for_seconds(0.05);
        REQUIRE(!send.done(), "a synchronous send of %zu bytes was done "
                "before its receive", size);
        link.meet();
        Request receive = worker.receive(in, size);
        worker.finish(receive, "receive");
        worker.finish(send, "synchronous send");
        in.require(seed_of(session, false, size), "synchronous message");
        link.meet();
    }
    link.finish();
}

/* A receive that is too short says so and writes nothing beside its buffer. */
void truncated(Session &session)
{
    constexpr size_t kShort = 100;

    Link link(session, {});
    Worker &worker = link.worker();
    for (size_t size : {101ul, 5000ul, 50000ul, 2000000ul}) {
        for (bool expected : {true, false}) {
            Buffer out(size), in(kShort), last_out(8), last_in(8);
            out.write(1);
            last_out.write(2);
            Request receive;
            if (expected) {
                receive = worker.receive(in, 7);
            }
            link.meet();
            Request send = link.ep().send(out, 7);
            Request last = link.ep().send(last_out, 8);
            worker.finish(worker.receive(last_in, 8), "next message");
            last_in.require(2, "message after a long one");
            if (!expected) {
                receive = worker.receive(in, 7);
            }
            worker.until([&] { return receive.done(); }, "a short receive");
            REQUIRE(receive.status() == UCS_ERR_MESSAGE_TRUNCATED,
                    "%zu bytes into %zu: %s", size, kShort,
                    ucs_status_string(receive.status()));
            worker.until([&] { return send.done(); }, "a long send");
            worker.finish(last, "next send");
            /* What is in the buffer is undefined; beside it is not. */
            in.require_bounds("short receive");
            link.meet();
        }
    }
    link.finish();
}

/* A receive that is cancelled takes no message. */
void cancel(Session &session)
{
    Link link(session, {});
    Worker &worker = link.worker();
    for (size_t size : {8ul, 1000000ul}) {
        Buffer never(size), out(size), in(size);
        Request given_up = worker.receive(never, 9);
        ucp_request_cancel(worker.handle(), given_up.handle());
        worker.until([&] { return given_up.done(); }, "a cancelled receive");
        REQUIRE(given_up.status() == UCS_ERR_CANCELED,
                "a cancelled receive: %s",
                ucs_status_string(given_up.status()));
        link.meet();
        out.write(seed_of(session, true, size));
        Request send = link.ep().send(out, 9);
        worker.finish(worker.receive(in, 9), "receive");
        worker.finish(send, "send");
        in.require(seed_of(session, false, size), "message");
        never.require_untouched("cancelled receive");
        link.meet();
    }
    link.finish();
}

/* A worker's messages to itself. */
void self(Session &)
{
    Context context({});
    Worker worker(context);
    Endpoint ep(worker, worker.address());
    for (size_t size : kSizes) {
        for (bool expected : {true, false}) {
            Buffer out(size, 3), in(size, 2);
            out.write(size);
            Request receive, send;
            if (expected) {
                receive = worker.receive(in, 1);
                send    = ep.send(out, 1);
            } else {
                send    = ep.send(out, 1);
                receive = worker.receive(in, 1);
            }
            worker.finish(receive, "receive from oneself");
            worker.finish(send, "send to oneself");
            in.require(size, "message to oneself");
        }
    }
    ep.close();
}

} // namespace

std::vector<Case> tag_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "tag.expected", [](Session &s) { sizes(s, true); });
    for_engines(cases, "tag.unexpected", [](Session &s) { sizes(s, false); });
    /* Puts instead of gets, and the rendezvous from the first byte. */
    for_engines(cases, "tag.put_rndv", [](Session &s) { sizes(s, true); },
                {{Side::Both, "UCX_RNDV_SCHEME", "put_zcopy"}});
    for_engines(cases, "tag.am_rndv", [](Session &s) { sizes(s, false); },
                {{Side::Both, "UCX_RNDV_SCHEME", "am"}});
    for_engines(cases, "tag.all_rndv", [](Session &s) { sizes(s, false); },
                {{Side::Both, "UCX_RNDV_THRESH", "0"}});
    for_engines(cases, "tag.all_eager", [](Session &s) { sizes(s, false); },
                {{Side::Both, "UCX_RNDV_THRESH", "inf"}});
    for_engines(cases, "tag.many", many);
    for_engines(cases, "tag.order", order);
    for_engines(cases, "tag.sync", synchronous);
    for_engines(cases, "tag.truncated", truncated);
    for_engines(cases, "tag.cancel", cancel);
    for_engines(cases, "tag.self", self);
    for (Case &test : cases) {
        if (test.name.starts_with("tag.self.")) {
            test.passive = nullptr;
        }
    }
    return cases;
}

} // namespace fltest

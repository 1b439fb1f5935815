/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Endpoints that are closed while transfers are under way. */

#include "../stack/link.h"
#include "cases.h"

#include <deque>

namespace fltest {
namespace {

constexpr size_t kSizes[] = {8, 5000, 60000, 3000000, 100, 700000};
constexpr size_t kCount   = 24;

size_t size_of(size_t number)
{
    return kSizes[number % std::size(kSizes)];
}

/* Both sides exchange something on new endpoints. */
void exchange(Link &link, bool active, ucp_tag_t tag)
{
    Buffer out(100000), in(100000);
    out.write(tag + active);
    Request receive = link.worker().receive(in, tag);
    Request send    = link.ep().send(out, tag);
    link.worker().finish(receive, "receive");
    link.worker().finish(send, "send");
    in.require(tag + !active, "message");
}

/* Closed with flush, an endpoint brings everything there first. */
void flushed(Session &session, bool watched)
{
    Link link(session, {.memory = 4 << 20, .watched = watched});
    Worker &worker = link.worker();
    for (unsigned round = 0; round < 3; ++round) {
        std::deque<Buffer> buffers;
        std::deque<Request> requests;
        exchange(link, session.active(), 1000);
        link.meet();
        if (session.active()) {
            for (size_t i = 0; i < kCount; ++i) {
                buffers.emplace_back(size_of(i)).write(mix(i));
                requests.push_back(link.ep().send(buffers[i], i));
            }
            Buffer &put = buffers.emplace_back(4 << 20);
            put.write(round);
            requests.push_back(
                link.ep().put(put.data(), put.size(), link.remote(), 0));
            link.disconnect();
            worker.finish_all(requests, "operation before a close");
            link.meet();
        } else {
            for (size_t i = 0; i < kCount; ++i) {
                requests.push_back(
                    worker.receive(buffers.emplace_back(size_of(i)), i));
            }
            link.meet();
            worker.finish_all(requests, "receive");
            for (size_t i = 0; i < kCount; ++i) {
                buffers[i].require(mix(i), "message before a close");
            }
            require_pattern(link.memory().data(), 4 << 20, round,
                            "put before a close");
            link.disconnect();
        }
        link.meet();
        link.connect();
        exchange(link, session.active(), 2000);
        link.meet();
    }
    link.finish();
}

/* Closed with force, it ends everything at once, well or not, and harms nobody:
 * a new endpoint works. */
void forced(Session &session)
{
    Link link(session, {.memory = 4 << 20, .watched = true});
    Worker &worker = link.worker();
    for (unsigned round = 0; round < 3; ++round) {
        std::deque<Buffer> buffers;
        std::deque<Request> requests;
        ucp_tag_t base = 10000 * (round + 1);
        exchange(link, session.active(), base + 1000);
        link.meet();
        for (size_t i = 0; i < kCount; ++i) {
            Buffer &in = buffers.emplace_back(size_of(i));
            Request receive = worker.receive(in, base + i);
            if (session.active()) {
                /* Nobody sends these. */
                ucp_request_cancel(worker.handle(), receive.handle());
            }
            requests.push_back(std::move(receive));
        }
        link.meet();
        if (session.active()) {
            for (size_t i = 0; i < kCount; ++i) {
                Buffer &out = buffers.emplace_back(size_of(i));
                out.write(mix(i));
                requests.push_back(link.ep().send(out, base + i));
            }
            Buffer &put = buffers.emplace_back(4 << 20);
            requests.push_back(
                link.ep().put(put.data(), put.size(), link.remote(), 0));
            worker.for_seconds(0.005 * round);
            link.disconnect(true);
            for (Request &request : requests) {
                worker.until([&] { return request.done(); },
                             "the end of an operation", 10);
                request.require_exact("operation and a forced close");
            }
            link.tell();
        } else {
            link.await_told();
            /* What has come is whole; the rest never comes. */
            worker.for_seconds(0.1);
            for (size_t i = 0; i < kCount; ++i) {
                if (!requests[i].done()) {
                    ucp_request_cancel(worker.handle(), requests[i].handle());
                } else if (requests[i].ok()) {
                    buffers[i].require(mix(i), "message before a close");
                }
            }
            link.disconnect(true);
            for (Request &request : requests) {
                worker.until([&] { return request.done(); },
                             "the end of a receive", 10);
            }
        }
        link.meet();
        link.connect();
        exchange(link, session.active(), base + 2000);
        link.meet();
    }
    link.finish();
}

} // namespace

std::vector<Case> close_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "close.flush",
                [](Session &s) { flushed(s, false); });
    for_engines(cases, "close.flush_watched",
                [](Session &s) { flushed(s, true); });
    for_engines(cases, "close.force", forced);
    /* UCX 1.13's new engine dies of an assertion, on its own tcp as well, when
     * an endpoint is closed with force while requests wait for it. */
    std::erase_if(cases, [](const Case &test) {
        return test.name == "close.force.new";
    });
    return cases;
}

} // namespace fltest

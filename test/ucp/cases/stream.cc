/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* UCP's stream: bytes without borders. */

#include "../stack/link.h"
#include "cases.h"

#include <algorithm>
#include <deque>

namespace fltest {
namespace {

constexpr size_t kTotal = 12 << 20;

/* Pieces of the sender and of the receiver have nothing to do with each
 * other. */
size_t piece_size(Random &random, size_t left)
{
    size_t most = random.below(4) == 0 ? 500000 :
                  random.below(2) == 0 ? 10000 :
                                         100;
    return std::min<size_t>(random.between(1, most), left);
}

/* Bytes that have come, in any of three ways. Returns how many. */
size_t receive_some(Link &link, Random &random, size_t at, uint64_t seed)
{
    size_t left = kTotal - at;
    unsigned way = random.below(3);
    if (way == 0) {
        void *data = nullptr;
        size_t length = 0;
        link.worker().until(
            [&] {
                data = ucp_stream_recv_data_nb(link.ep().handle(), &length);
                return data != nullptr;
            },
            "stream data");
        REQUIRE(!UCS_PTR_IS_ERR(data), "stream data: %s",
                ucs_status_string(UCS_PTR_STATUS(data)));
        require_pattern(data, length, seed, "stream", at);
        ucp_stream_data_release(link.ep().handle(), data);
        return length;
    }
    bool whole = way == 1;
    Buffer buffer(piece_size(random, left), 1 + random.below(3));
    Request receive = link.ep().receive_stream(buffer, whole);
    link.worker().finish(receive, "stream receive");
    size_t length = receive.length();
    REQUIRE(length == buffer.size() || (!whole && length != 0 &&
                                        length < buffer.size()),
            "a stream receive of %zu bytes got %zu", buffer.size(), length);
    std::vector<char> data = buffer.flat();
    require_pattern(data.data(), length, seed, "stream", at);
    buffer.require_bounds("stream");
    return length;
}

void bytes(Session &session)
{
    Link link(session, {});
    Random sizes(session.active()), ways(7 + session.active());
    std::deque<Buffer> buffers;
    std::deque<Request> sends;
    size_t sent = 0, received = 0;
    uint64_t mine = 40 + session.active(), theirs = 41 - session.active();
    while (sent < kTotal || received < kTotal) {
        while (sent < kTotal && sends.size() < 50) {
            size_t size = piece_size(sizes, kTotal - sent);
            buffers.emplace_back(size, 1 + sizes.below(3));
            buffers.back().write(mine, sent);
            sends.push_back(link.ep().send_stream(buffers.back()));
            sent += size;
        }
        if (received < kTotal) {
            received += receive_some(link, ways, received, theirs);
        }
        while (!sends.empty() && (sends.front().done() || received == kTotal)) {
            link.worker().finish(sends.front(), "stream send");
            sends.pop_front();
            buffers.pop_front();
        }
    }
    REQUIRE(received == kTotal, "%zu bytes too many", received - kTotal);
    link.worker().finish_all(sends, "stream send");
    link.finish();
}

/* A worker says which of its endpoints have data. */
void poll(Session &session)
{
    constexpr size_t kSize = 5000;

    Link link(session, {});
    Worker &worker = link.worker();
    Buffer out(kSize);
    out.write(session.active());
    ucp_stream_poll_ep_t ready;
    REQUIRE(ucp_stream_worker_poll(worker.handle(), &ready, 1, 0) == 0,
            "data before any was sent");
    link.meet();
    Request send = link.ep().send_stream(out);
    for (size_t at = 0; at < kSize;) {
        ssize_t count = 0;
        worker.until(
            [&] {
                count = ucp_stream_worker_poll(worker.handle(), &ready, 1, 0);
                return count != 0;
            },
            "an endpoint with data");
        REQUIRE(count == 1 && ready.ep == link.ep().handle(),
                "%zd endpoints, another one", count);
        size_t length;
        void *data = ucp_stream_recv_data_nb(link.ep().handle(), &length);
        if (data == nullptr) {
            continue;
        }
        REQUIRE(!UCS_PTR_IS_ERR(data), "stream data: %s",
                ucs_status_string(UCS_PTR_STATUS(data)));
        require_pattern(data, length, !session.active(), "stream", at);
        ucp_stream_data_release(link.ep().handle(), data);
        at += length;
    }
    worker.finish(send, "stream send");
    link.finish();
}

} // namespace

std::vector<Case> stream_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "stream.bytes", bytes);
    for_engines(cases, "stream.poll", poll);
    return cases;
}

} // namespace fltest

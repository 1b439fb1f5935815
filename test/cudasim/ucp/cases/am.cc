/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Active messages with data in GPU memory. */

#include "../gpu_buffer.h"
#include "cases.h"
#include "stack/link.h"

#include <cstring>
#include <deque>

namespace fltest {
namespace {

constexpr size_t   kSizes[] = {0, 1, 100, 8192, 50000, 600001, 3000000};
constexpr unsigned kId      = 3;

/* The receiver gets the description of long ones and fetches the data. */
void shapes(Session &session, Kind from, Kind to)
{
    use_gpu(session.active() ? 0 : 1);
    Link    link(session, {});
    Worker &worker = link.worker();
    std::deque<GpuBuffer> out, in;
    std::deque<Request>   requests;
    std::vector<uint64_t> seen; /* in the handler itself */
    uint64_t numbers[std::size(kSizes)]; /* headers, until all is sent */
    size_t arrived = 0, wrong = 0;
    uint64_t mine = session.active();
    for (size_t i = 0; i < std::size(kSizes); ++i) {
        in.emplace_back(to, kSizes[i]);
        out.emplace_back(from, kSizes[i]).write(mix(2 * i + mine));
    }
    worker.on_am(kId, [&](const void *header, size_t header_length, void *data,
                          size_t length, const ucp_am_recv_param_t &param) {
        uint64_t i = UINT64_MAX;
        memcpy(&i, header, std::min(header_length, sizeof(i)));
        if (i >= in.size() || length != kSizes[i]) {
            ++wrong;
            return UCS_OK;
        }
        static const Buffer bytes(1);
        ++arrived;
        if (!(param.recv_attr & (UCP_AM_RECV_ATTR_FLAG_RNDV |
                                 UCP_AM_RECV_ATTR_FLAG_DATA))) {
            /* It goes away with this call: it is in this process's memory. */
            wrong += mismatch(data, length, mix(2 * i + 1 - mine)) >= 0;
            seen.push_back(i);
            return UCS_OK;
        }
        requests.push_back(
            Request::am_receive(bytes, [&](ucp_request_param_t &request) {
                return ucp_am_recv_data_nbx(worker.handle(), data,
                                            in[i].data(), length, &request);
            }));
        return UCS_INPROGRESS;
    });
    link.meet();
    for (uint64_t i = 0; i < std::size(kSizes); ++i) {
        requests.push_back(Request::plain([&](ucp_request_param_t &param) {
            numbers[i] = i;
            return ucp_am_send_nbx(link.ep().handle(), kId, &numbers[i],
                                   sizeof(i), out[i].data(), kSizes[i],
                                   &param);
        }));
    }
    worker.until([&] { return arrived == std::size(kSizes) || wrong != 0; },
                 "all messages");
    REQUIRE(wrong == 0, "a message was not what was sent");
    worker.finish_all(requests, "send or receive");
    for (uint64_t i : seen) {
        in[i].write(mix(2 * i + 1 - mine));
    }
    for (size_t i = 0; i < std::size(kSizes); ++i) {
        in[i].require(mix(2 * i + 1 - mine),
                      format("%zu bytes", kSizes[i]).c_str());
    }
    link.finish();
}

} // namespace

std::vector<Case> gpu_am_cases()
{
    std::vector<Case> cases;
    for (auto [from, to] : {std::pair{Kind::Gpu, Kind::Gpu},
                            std::pair{Kind::Gpu, Kind::Host},
                            std::pair{Kind::Host, Kind::Gpu},
                            std::pair{Kind::Managed, Kind::Managed}}) {
        for_engines(cases, format("gpu_am.%s_%s", name(from), name(to)),
                    [from = from, to = to](Session &session) {
                        shapes(session, from, to);
                    });
    }
    return cases;
}

} // namespace fltest

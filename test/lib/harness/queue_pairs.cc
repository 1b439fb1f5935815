/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* What UCX's modules connect is known by the functions below, see verbs.h. */

#include "queue_pairs.h"

#if __has_include(<infiniband/verbs.h>)

#include "failure.h"
#include "verbs.h"

#include <algorithm>
#include <infiniband/verbs.h>
#include <mutex>
#include <vector>

namespace {

std::mutex            mutex; /* UCX connects datagrams on a thread of its own */
std::vector<ibv_qp *> connected;

} // namespace

extern "C" int ibv_modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int mask)
{
    static auto *modify =
        fltest::verbs_function<int(ibv_qp *, ibv_qp_attr *, int)>(
            "ibv_modify_qp");
    const int status = modify(qp, attr, mask);
    if (status == 0 && qp->qp_type == IBV_QPT_RC &&
        (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RTS) {
        std::lock_guard lock(mutex);
        connected.push_back(qp);
    }
    return status;
}

extern "C" int ibv_destroy_qp(ibv_qp *qp)
{
    static auto *destroy = fltest::verbs_function<int(ibv_qp *)>("ibv_destroy_qp");
    {
        std::lock_guard lock(mutex);
        std::erase(connected, qp);
    }
    return destroy(qp);
}

std::map<std::string, size_t> fltest::queue_pairs()
{
    std::map<std::string, size_t> count;
    std::lock_guard lock(mutex);
    for (const ibv_qp *qp : connected) {
        ++count[qp->context->device->name];
    }
    return count;
}

size_t fltest::break_queue_pairs(size_t spared)
{
    std::vector<ibv_qp *> chosen;
    {
        std::lock_guard lock(mutex);
        chosen.assign(connected.begin() + std::min(spared, connected.size()),
                      connected.end());
    }
    for (ibv_qp *qp : chosen) {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_ERR;
        const int status = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
        REQUIRE(status == 0, "a queue pair does not break: %d", status);
        qp->state = IBV_QPS_RTS; /* as when nobody has told the library */
    }
    return chosen.size();
}

#else

std::map<std::string, size_t> fltest::queue_pairs()
{
    return {};
}

size_t fltest::break_queue_pairs(size_t)
{
    return 0;
}

#endif

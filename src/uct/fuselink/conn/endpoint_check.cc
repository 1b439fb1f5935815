/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "endpoint_check.h"

namespace fuselink {

ucs_status_t await_other_end(uct_ep_h ep, uct_completion_t &comp)
{
    const ucs_status_t status = uct_ep_check(ep, 0, nullptr);
    return status == UCS_OK || status == UCS_INPROGRESS ?
               uct_ep_flush(ep, 0, &comp) : status;
}

bool EndpointCheck::begin(uct_ep_h ep, Poller &poller, unsigned poll_index,
                          bool *answered)
{
    if (under_way()) {
        return false;
    }
    answered_ = answered;
    arm(comp_, on_end);
    const ucs_status_t status = await_other_end(ep, comp_);
    if (status == UCS_INPROGRESS) {
        poller_ = &poller;
        index_  = poll_index;
        poller.hold(poll_index);
    } else if (status == UCS_OK) {
        ++answers_;
    }
    return status == UCS_INPROGRESS || status == UCS_OK;
}

void EndpointCheck::on_end(uct_completion_t *comp)
{
    auto *check = reinterpret_cast<EndpointCheck *>(comp);
    check->poller_->release(check->index_);
    check->poller_   = nullptr;
    if (comp->status == UCS_OK) {
        ++check->answers_;
        if (check->answered_ != nullptr) {
            *check->answered_ = true;
        }
    }
}

} // namespace fuselink

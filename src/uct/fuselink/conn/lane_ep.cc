/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "lane_ep.h"

namespace fuselink {

LaneEp::LaneEp(Waiter &waiter)
{
    hook_.req.func = on_hook;
    hook_.waiter   = &waiter;
}

void LaneEp::use(uct_ep_h ep, Rail &rail, uint8_t remote, const Limits &limits)
{
    count_on(&rail);
    ep_     = ep;
    rail_   = &rail;
    remote_ = remote;
    limits_ = limits;
}

void LaneEp::stop_waiting()
{
    if (ep_ != nullptr) {
        uct_ep_pending_purge(ep_, [](uct_pending_req_t *, void *) {}, nullptr);
    }
    hook_.queued = false;
}

void LaneEp::close()
{
    count_on(nullptr);
    ep_          = nullptr;
    hook_.queued = false;
}

/* People are told of each rail to how many peers messages go there. */
void LaneEp::count_on(Rail *rail)
{
    if (counted_ == rail) {
        return;
    }
    if (counted_ != nullptr) {
        counted_->health.remove_lane();
    }
    if (rail != nullptr) {
        rail->health.add_lane();
    }
    counted_ = rail;
}

bool LaneEp::wait()
{
    hook_.queued = true;
    if (hook_.running) {
        return true; /* stays where it is: a rail's queue must not get it twice */
    }
    hook_.queued = uct_ep_pending_add(ep_, &hook_.req, 0) == UCS_OK;
    return hook_.queued;
}

/* A stream takes nobody onto its queue who need not wait. */
bool LaneEp::is_through()
{
    if (hook_.queued || hook_.running) {
        return false;
    }
    hook_.queued = uct_ep_pending_add(ep_, &hook_.req, 0) == UCS_OK;
    return !hook_.queued;
}

ucs_status_t LaneEp::on_hook(uct_pending_req_t *req)
{
    Hook *hook    = reinterpret_cast<Hook *>(req);
    hook->queued  = false;
    hook->running = true;
    hook->waiter->on_lane_room();
    hook->running = false;
    return hook->queued ? UCS_ERR_NO_RESOURCE : UCS_OK;
}

} // namespace fuselink

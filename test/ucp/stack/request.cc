/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "request.h"

namespace fltest {

Request::~Request()
{
    if (!done()) {
        state_->given_up = true;
        state_.release(); /* complete() has it now */
    }
}

void Request::State::began(ucs_status_ptr_t result)
{
    if (UCS_PTR_IS_PTR(result)) {
        handle = result; /* complete() may have run: it does not look at it */
        return;
    }
    immediate = true;
    status    = UCS_PTR_STATUS(result);
    done      = true;
}

void Request::require_exact(const char *what) const
{
    REQUIRE(state_ && state_->done, "%s: not done", what);
    unsigned want = !state_->immediate;
    REQUIRE(state_->calls == want, "%s: callback ran %u times instead of %u",
            what, state_->calls, want);
}

void Request::set_send(ucp_request_param_t &param, State &)
{
    param.cb.send = on_send;
}

void Request::set_tag_receive(ucp_request_param_t &param, State &)
{
    /* UCX 1.13 says what came in the callback only. */
    param.cb.recv       = on_tag;
    param.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
}

void Request::set_stream_receive(ucp_request_param_t &param, State &state)
{
    param.cb.recv_stream    = on_length;
    param.op_attr_mask     |= UCP_OP_ATTR_FIELD_RECV_INFO;
    param.recv_info.length  = &state.info.length;
}

void Request::set_am_receive(ucp_request_param_t &param, State &state)
{
    param.cb.recv_am        = on_length;
    param.op_attr_mask     |= UCP_OP_ATTR_FIELD_RECV_INFO;
    param.recv_info.length  = &state.info.length;
}

void Request::on_send(void *request, ucs_status_t status, void *arg)
{
    complete(request, status, static_cast<State *>(arg));
}

void Request::on_tag(void *request, ucs_status_t status,
                     const ucp_tag_recv_info_t *info, void *arg)
{
    static_cast<State *>(arg)->info = *info;
    complete(request, status, static_cast<State *>(arg));
}

void Request::on_length(void *request, ucs_status_t status, size_t length,
                        void *arg)
{
    static_cast<State *>(arg)->info.length = length;
    complete(request, status, static_cast<State *>(arg));
}

void Request::complete(void *request, ucs_status_t status, State *state)
{
    ++state->calls;
    state->status = status;
    ucp_request_free(request);
    if (state->given_up) {
        delete state;
    } else {
        state->done = true;
    }
}

} // namespace fltest

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_REQUEST_H
#define FUSELINK_TEST_REQUEST_H

#include "buffer.h"

#include <atomic>
#include <memory>

namespace fltest {

/** One operation of UCP that may complete later, with what UCP said about it.
 *  May be given up before it completes. */
class Request {
public:
    Request() = default;
    Request(Request &&)            = default;
    Request &operator=(Request &&) = default;
    ~Request();

    /** Begins an operation: `call` gets the parameters to hand to UCP and
     *  returns what UCP returned. The name says which callback it has. */
    template <typename Call>
    static Request send(const Buffer &buffer, Call &&call)
    {
        return begin(&buffer, set_send, call);
    }
    template <typename Call> static Request plain(Call &&call)
    {
        return begin(nullptr, set_send, call);
    }
    template <typename Call>
    static Request tag_receive(const Buffer &buffer, Call &&call)
    {
        return begin(&buffer, set_tag_receive, call);
    }
    template <typename Call>
    static Request stream_receive(const Buffer &buffer, Call &&call)
    {
        return begin(&buffer, set_stream_receive, call);
    }
    template <typename Call>
    static Request am_receive(const Buffer &buffer, Call &&call)
    {
        return begin(&buffer, set_am_receive, call);
    }

    /** It has ended, or there is none. */
    bool done() const { return !state_ || state_->done.load(); }
    bool ok() const { return done() && status() == UCS_OK; }
    ucs_status_t status() const { return state_ ? state_->status : UCS_OK; }
    /** Of a receive that has ended: what came. */
    size_t    length() const { return state_->info.length; }
    ucp_tag_t tag() const { return state_->info.sender_tag; }

    /** UCP's handle, while the operation is under way. */
    void *handle() const { return done() ? nullptr : state_->handle; }

    /** Fails unless its callback ran just as often as UCP promises: once if it
     *  completed later, else never. */
    void require_exact(const char *what) const;

private:
    struct State {
        std::atomic<bool>   done{false};
        std::atomic<bool>   given_up{false};
        bool                immediate = false;
        unsigned            calls     = 0;
        ucs_status_t        status    = UCS_INPROGRESS;
        ucp_tag_recv_info_t info{};
        void               *handle = nullptr;

        void began(ucs_status_ptr_t result);
    };

    template <typename Set, typename Call>
    static Request begin(const Buffer *buffer, Set &&set, Call &&call)
    {
        Request request;
        request.state_ = std::make_unique<State>();
        State &state   = *request.state_;
        ucp_request_param_t param{};
        param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                             UCP_OP_ATTR_FIELD_USER_DATA;
        param.user_data    = &state;
        if (buffer != nullptr) {
            param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
            param.datatype      = buffer->datatype();
        }
        set(param, state);
        state.began(call(param));
        return request;
    }

    static void set_send(ucp_request_param_t &param, State &state);
    static void set_tag_receive(ucp_request_param_t &param, State &state);
    static void set_stream_receive(ucp_request_param_t &param, State &state);
    static void set_am_receive(ucp_request_param_t &param, State &state);

    static void on_send(void *request, ucs_status_t status, void *arg);
    static void on_tag(void *request, ucs_status_t status,
                       const ucp_tag_recv_info_t *info, void *arg);
    static void on_length(void *request, ucs_status_t status, size_t length,
                          void *arg);
    static void complete(void *request, ucs_status_t status, State *state);

    std::unique_ptr<State> state_;
};

} // namespace fltest

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_ENDPOINT_H
#define FUSELINK_TEST_ENDPOINT_H

#include "memory.h"

#include <netinet/in.h>

namespace fltest {

/** A UCP endpoint. */
class Endpoint {
public:
    /** With `watched`, the peer's failure is reported. */
    Endpoint(Worker &worker, const Bytes &address, bool watched = false);
    /** Takes over one that a message gave. */
    Endpoint(Worker &worker, ucp_ep_h ep) : worker_(worker), ep_(ep) {}
    /** To a client that a listener heard of. */
    Endpoint(Worker &worker, ucp_conn_request_h client, bool watched = true);
    /** To a listener, from the client. */
    Endpoint(Worker &worker, const sockaddr_in &listener, bool watched = true);
    /** Closes it if that was not done. */
    ~Endpoint();
    Endpoint(const Endpoint &)            = delete;
    Endpoint &operator=(const Endpoint &) = delete;

    ucp_ep_h handle() const { return ep_; }
    Worker  &worker() const { return worker_; }

    Request send(const Buffer &buffer, ucp_tag_t tag);
    Request send_sync(const Buffer &buffer, ucp_tag_t tag);
    Request send_am(unsigned id, const void *header, size_t header_length,
                    const Buffer &buffer, unsigned flags = 0);
    Request send_stream(const Buffer &buffer);
    /** With `whole` it waits until the buffer is full. */
    Request receive_stream(Buffer &buffer, bool whole);

    Request put(const void *data, size_t length, const Remote &remote,
                size_t offset);
    Request get(void *data, size_t length, const Remote &remote,
                size_t offset);
    /** What was there goes to `reply`, if there is one. CSWAP compares with the
     *  operand, and puts there what is in `reply`. Both must stay where they
     *  are until it is done. */
    template <typename Word>
    Request atomic(ucp_atomic_op_t op, const Word &operand,
                   const Remote &remote, size_t offset, Word *reply);
    Request flush();

    /** Begins to close it. */
    Request begin_close(bool force);
    /** Waits until it is closed. */
    void close(bool force = false);

    /** How often UCX reported an error, and which. */
    unsigned     errors() const { return errors_; }
    ucs_status_t error() const { return error_; }

private:
    void create(ucp_ep_params_t &params, bool watched);
    static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status);

    Worker      &worker_;
    ucp_ep_h     ep_      = nullptr;
    bool         watched_ = false;
    unsigned     errors_  = 0;
    ucs_status_t error_   = UCS_OK;
};

template <typename Word>
Request Endpoint::atomic(ucp_atomic_op_t op, const Word &operand,
                         const Remote &remote, size_t offset, Word *reply)
{
    return Request::plain([&](ucp_request_param_t &param) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        param.datatype      = ucp_dt_make_contig(sizeof(Word));
        if (reply != nullptr) {
            param.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
            param.reply_buffer  = reply;
        }
        return ucp_atomic_op_nbx(ep_, op, &operand, 1, remote.at(offset),
                                 remote.key(), &param);
    });
}

} // namespace fltest

#endif

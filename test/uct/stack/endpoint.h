/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_ENDPOINT_H
#define FUSELINK_TEST_ENDPOINT_H

#include "iface.h"

namespace fltest {

/** One operation that may complete later, with what its completion saw. Must
 *  stay where it is until then. */
class Op {
public:
    Op()
    {
        comp_.func   = on_done;
        comp_.count  = 1;
        comp_.status = UCS_OK;
    }
    Op(const Op &)            = delete;
    Op &operator=(const Op &) = delete;

    uct_completion_t *comp() { return &comp_; }

    /** Takes note of what posting it returned. */
    void posted(ucs_status_t status) { posted_ = status; }

    /** It has ended, or never began. */
    bool done() const { return posted_ != UCS_INPROGRESS || calls_ != 0; }
    bool ok() const { return done() && status() == UCS_OK; }
    ucs_status_t status() const
    {
        return posted_ == UCS_INPROGRESS ? comp_.status : posted_;
    }
    unsigned calls() const { return calls_; }

    /** Fails unless the completion was called just as often as UCT says: once
     *  after UCS_INPROGRESS, else never. */
    void require_exact(const char *what) const
    {
        unsigned want = posted_ == UCS_INPROGRESS;
        REQUIRE(calls_ == want, "%s: completion called %u times after '%s'",
                what, calls_, ucs_status_string(posted_));
    }

private:
    static void on_done(uct_completion_t *comp)
    {
        ++reinterpret_cast<Op *>(comp)->calls_;
    }

    uct_completion_t comp_{}; /* first: the callback gets a pointer to it */
    unsigned         calls_  = 0;
    ucs_status_t     posted_ = UCS_OK;
};

/** A UCT endpoint. Calls that UCT may refuse for lack of room are repeated
 *  here, progressing in between, unless their name begins with try. */
class Endpoint {
public:
    Endpoint(Iface &iface, const Address &address);
    ~Endpoint();
    Endpoint(const Endpoint &)            = delete;
    Endpoint &operator=(const Endpoint &) = delete;

    uct_ep_h handle() const { return ep_; }
    Iface   &iface() const { return iface_; }

    static ucs_status_t try_create(Iface &iface, const Address &address);

    ssize_t try_am_bcopy(uint8_t id, const void *data, size_t length);
    void am_short(uint8_t id, uint64_t header, const void *data = nullptr,
                  size_t length = 0);
    void am_short_iov(uint8_t id, const std::vector<uct_iov_t> &iov);
    void am_bcopy(uint8_t id, const void *data, size_t length);
    void am_zcopy(uint8_t id, const void *header, size_t header_length,
                  const std::vector<uct_iov_t> &iov, Op &op);
    void put_short(const void *data, size_t length, const Remote &remote,
                   size_t offset);
    void put_bcopy(const void *data, size_t length, const Remote &remote,
                   size_t offset);
    void put_zcopy(uct_iov_t iov, const Remote &remote, size_t offset,
                   Op *op = nullptr);
    /** The data goes to `data` when it comes. */
    void get_bcopy(void *data, size_t length, const Remote &remote,
                   size_t offset, Op &op);
    void get_zcopy(uct_iov_t iov, const Remote &remote, size_t offset, Op &op);
    void fence() { REQUIRE_OK(uct_ep_fence(ep_, 0)); }
    /** Begins a flush. */
    void flush(Op &op);
    /** Flushes by calling again and again, without a completion. */
    void flush_now(double seconds = 30);

    /** Gives all operations up: begins, or does it by calling again. */
    void cancel(Op &op);
    void cancel_now(double seconds = 30);

    /** Waits for an operation and checks that it went well, once. */
    void finish(Op &op, const char *what);

private:
    template <typename Call> auto insist(const char *what, Call &&call);

    Iface   &iface_;
    uct_ep_h ep_;
};

} // namespace fltest

#endif

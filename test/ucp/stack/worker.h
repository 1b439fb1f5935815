/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_WORKER_H
#define FUSELINK_TEST_WORKER_H

#include "harness/waits.h"
#include "request.h"

#include <exception>
#include <functional>

namespace fltest {

/** True while a case fails. What it has of UCP is then left as it is: UCX
 *  crashes when it closes with operations under way, and hides the failure. */
inline bool failing()
{
    return std::uncaught_exceptions() != 0;
}

/** A UCP context. */
class Context {
public:
    struct Options {
        uint64_t features = UCP_FEATURE_TAG | UCP_FEATURE_AM |
                            UCP_FEATURE_RMA | UCP_FEATURE_AMO32 |
                            UCP_FEATURE_AMO64 | UCP_FEATURE_STREAM;
        bool many_threads = false; /* each with a worker of its own */
    };

    explicit Context(const Options &options);
    ~Context();
    Context(const Context &)            = delete;
    Context &operator=(const Context &) = delete;

    ucp_context_h handle() const { return context_; }

private:
    ucp_context_h context_;
};

/** A UCP worker. */
class Worker : public Waits<Worker> {
public:
    using AmHandler = std::function<ucs_status_t(
        const void *header, size_t header_length, void *data, size_t length,
        const ucp_am_recv_param_t &param)>;

    explicit Worker(const Context &context,
                    ucs_thread_mode_t mode = UCS_THREAD_MODE_SINGLE);
    ~Worker();
    Worker(const Worker &)            = delete;
    Worker &operator=(const Worker &) = delete;

    ucp_worker_h handle() const { return worker_; }
    Bytes        address() const;

    /** Runs for each message with this id; not by exceptions, see Failed. */
    void on_am(unsigned id, AmHandler handler, unsigned flags = 0);

    Request receive(Buffer &buffer, ucp_tag_t tag,
                    ucp_tag_t mask = ~ucp_tag_t{0});
    /** The message that a receive would take; with `take` it is for
     *  receive_probed() alone. */
    ucp_tag_message_h probe(ucp_tag_t tag, ucp_tag_t mask,
                            ucp_tag_recv_info_t &info, bool take = false);
    Request receive_probed(Buffer &buffer, ucp_tag_message_h message);
    Request receive_am(Buffer &buffer, void *description);
    Request flush();
    void    fence() { REQUIRE_OK(ucp_worker_fence(worker_)); }

    unsigned poll() { return ucp_worker_progress(worker_); }

    /** Waits for a request and checks that it went well. */
    void finish(const Request &request, const char *what, double seconds = 30);
    template <typename Requests>
    void finish_all(const Requests &requests, const char *what)
    {
        for (const Request &request : requests) {
            finish(request, what);
        }
    }

private:
    static ucs_status_t on_message(void *arg, const void *header,
                                   size_t header_length, void *data,
                                   size_t length,
                                   const ucp_am_recv_param_t *param);

    ucp_worker_h                                            worker_;
    std::vector<std::pair<unsigned, std::unique_ptr<AmHandler>>> handlers_;
};

} // namespace fltest

#endif

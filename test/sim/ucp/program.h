/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCP_PROGRAM_H
#define FUSELINK_TEST_SIM_UCP_PROGRAM_H

#include "../harness/actor.h"
#include "../harness/ledger.h"
#include "../harness/sim_host.h"
#include "book.h"
#include "plan.h"
#include "ucx.h"

#include <deque>
#include <memory>
#include <string>
#include <ucp/api/ucp.h>
#include <vector>

namespace fuselink::sim {

class UcpProgram;
struct UcpEndpoint;

/** UCP's number for the programs' active messages. */
inline constexpr unsigned kMessageId = 7;

/** An operation of UCP, and what became of it. Kept to the end of the run, so that
 *  whatever comes late is seen. */
struct UcpOperation {
    UcpProgram  *program = nullptr;
    UcpEndpoint *endpoint = nullptr; /* null: of none */
    UcpAction    action;
    bool         open    = false;
    void        *request = nullptr;
    Instant      begun   = 0;
    size_t       place   = 0;  /* of a receive among those of its class */
    uint32_t     header[2] = {}; /* of an active message: sender, number */
    uint64_t     operand = 0, amount = 0; /* of an atomic operation */
    ucp_tag_recv_info_t      info{};
    std::shared_ptr<Landing> landing; /* of a put */
    std::vector<std::shared_ptr<Landing>> covers; /* a flush or close: what is there
                                                     at its end */
};

/** One of a program's endpoints to a peer, in one of its lives. */
struct UcpEndpoint {
    UcpProgram *program = nullptr;
    unsigned    peer = 0, slot = 0;
    ucp_ep_h    ep   = nullptr;
    ucp_rkey_h  rkey = nullptr;
    unsigned    open = 0;        /* operations */
    bool        failed  = false; /* its user was told */
    bool        closing = false; /* when nothing is open any more */
    std::vector<std::shared_ptr<Landing>> unflushed; /* puts, not seen to end */
};

/**
 * A simulated process's program that knows nothing but UCP: a context and a worker with
 * fuselink alone, endpoints, and the script that it works off.
 */
class UcpProgram final : public Actor {
public:
    UcpProgram(Ledger &ledger, Book &book, const UcpPlan &plan, Process &process,
               NodeMemory &node);
    ~UcpProgram();

    bool open();
    /** Takes the addresses and keys of all, and makes endpoints unless it is to be
     *  late with them; after open() of all. */
    bool meet(const std::vector<std::unique_ptr<UcpProgram>> &all);

    /** Goes on for a moment. True if something was done. */
    bool step();

    /** The script is through and everything has ended. */
    bool is_done() const;
    /** Some operation is older than any may get. */
    bool is_overdue() const;
    /** What it waits for, for people. */
    std::string state() const;

    /** Sends what tells that all of its puts are there. */
    void flush_all();
    /** Begins to close its endpoints; is_done() when they are. */
    void close_all();
    /** Nobody asks it for anything any more: the worker and the context end. */
    void leave();

    /** Tagged or active messages are under way by rendezvous. */
    bool has_rendezvous() const;

    /* Actor */
    Process    &process() override { return process_; }
    RailsIface *rails() const override;
    bool        gone() const override { return left_ || !process_.alive; }
    void        kill() override;

private:
    struct Kept { /* a message of which UCP has given the bytes away */
        void    *data;
        unsigned number;
    };

    UcpEndpoint *endpoint(unsigned peer, unsigned slot);
    void         perform(const UcpAction &action);
    void         close(UcpEndpoint &endpoint);
    void         sleep();
    bool         awake();
    void         ask_whether_alive();
    void         release_kept(size_t index);

    /* operations.cc */
    UcpOperation &begin(const UcpAction &action, UcpEndpoint *endpoint);
    void          start(const UcpAction &action);
    void          send(UcpOperation &op);
    void          receive(UcpOperation &op);
    void          reach(UcpOperation &op);
    void          count(UcpOperation &op);
    void          flush(UcpOperation &op);
    void          settle(UcpOperation &op, ucs_status_ptr_t result);
    void          end(UcpOperation &op, ucs_status_t status);
    void          end_well(UcpOperation &op);
    void          give_back(const UcpOperation &op);
    ucs_status_t  take(uint32_t number, void *data, size_t length, bool by_rendezvous,
                       bool may_keep);
    ucp_request_param_t params_of(UcpOperation &op) const;
    uint8_t      *memory(size_t at) const { return process_.arena() + at; }
    uint64_t      remote(const UcpOperation &op) const;

    static void         on_sent(void *request, ucs_status_t status, void *user);
    static void         on_received(void *request, ucs_status_t status,
                                    const ucp_tag_recv_info_t *info, void *user);
    static void         on_fetched(void *request, ucs_status_t status, size_t length,
                                   void *user);
    static ucs_status_t on_message(void *arg, const void *header, size_t header_length,
                                   void *data, size_t length,
                                   const ucp_am_recv_param_t *param);
    static void         on_failure(void *arg, ucp_ep_h ep, ucs_status_t status);

    Ledger        &ledger_;
    Book          &book_;
    const UcpPlan &plan_;
    Process       &process_;
    World         &world_;
    SimHost        host_;
    ucp_context_h  context_ = nullptr;
    ucp_worker_h   worker_  = nullptr;
    ucp_mem_h      memh_    = nullptr; /* of the arena */
    std::vector<uint8_t>      address_, key_;
    std::vector<UcpProgram *> all_;
    std::deque<std::unique_ptr<UcpEndpoint>>  endpoints_;
    std::deque<std::unique_ptr<UcpOperation>> operations_;
    std::vector<Kept>                         kept_;
    size_t   next_action_    = 0;
    unsigned open_           = 0; /* operations, */
    unsigned flushing_ = 0, closing_ = 0; /* of these, flushes of the worker and closes */
    Instant  next_check_     = 0;
    Instant  computes_until_ = 0, sleeps_since_ = 0; /* 0: it does not */
    bool     left_           = false;
};

} // namespace fuselink::sim

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_PROGRAM_H
#define FUSELINK_TEST_SIM_HARNESS_PROGRAM_H

#include "../fabric/world.h"
#include "actor.h"
#include "ledger.h"
#include "scenario.h"
#include "sim_host.h"
#include "sim_worker.h"
#include "ucx.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fuselink::sim {

class Program;
struct Endpoint;

/** An operation of a program, and what became of it. Kept to the end of the run,
 *  so that whatever comes late is seen. */
struct Operation {
    uct_completion_t  comp; /* first: UCT gives back a pointer to it */
    uct_pending_req_t req;  /* of the endpoint's queue */
    Program          *program = nullptr;
    Endpoint         *endpoint = nullptr;
    Action            action;
    enum class State : uint8_t { New, Waiting, Open, Ended, Dropped } state =
        State::New;
    bool is_under_way() const { return state == State::Open || state == State::Waiting; }
    ucs_status_t status = UCS_OK;
    uint8_t     *local  = nullptr; /* what is in its memory */
    void        *buffer = nullptr; /* where its program has that */
    bool         on_gpu = false;
    size_t       length = 0;
    size_t       target = SIZE_MAX; /* offset in the peer's arena */
    uct_mem_h    memh   = nullptr;  /* of its own region */
    Instant      begun  = 0;
    std::shared_ptr<Landing> landing; /* of a put */
    std::shared_ptr<Landing> written; /* by the peer's program, of a message */
    std::vector<std::shared_ptr<Landing>> covers; /* a flush: what is there
                                                     at its end */
    std::vector<const Operation *> open_before; /* a flush: what ends before it */
    std::shared_ptr<Landing> reads;   /* a get of what a put has put, */
    unsigned read_at = 0;             /* behind so many fences */
};

/** A message that its program has kept, and is to release. */
struct Kept {
    uint8_t             *data;
    std::vector<uint8_t> bytes; /* what is to be there until then */
};

/** One of a program's endpoints to a peer, in one of its lives. */
struct Endpoint {
    Program               *program = nullptr;
    unsigned               peer = 0, slot = 0;
    uint32_t               instance = 0; /* of the run's */
    uct_ep_h               ep = nullptr;
    bool                   failed = false; /* the user was told */
    bool                   cancelled = false;
    uint32_t               messages = 0; /* sent */
    unsigned               waiting = 0;  /* operations in its queue */
    unsigned               fences = 0;   /* so far */
    std::vector<std::shared_ptr<Landing>> unflushed; /* puts, not seen to end */
    std::vector<std::shared_ptr<Landing>> fenced;    /* and before a fence */
    std::vector<std::shared_ptr<Landing>> begun;     /* since the last fence */
    std::vector<std::shared_ptr<Landing>> written;   /* since that of the interface */
};

/**
 * A simulated process's program: a worker, an interface of fuselink, endpoints,
 * and the script that it works off.
 */
class Program final : public Actor {
public:
    Program(Ledger &ledger, const Scenario &scenario, Process &process,
            NodeMemory &node);
    ~Program();

    bool open();
    /** Takes the addresses and keys of all; after open() of all. */
    bool meet(const std::vector<std::unique_ptr<Program>> &all);

    /** Goes on for a moment. True if something was done. */
    bool step();

    /** The script is through and everything has ended. */
    bool is_done() const;
    /** Some operation is older than any may get. */
    bool is_overdue() const;
    /** What it waits for, for people. */
    std::string state() const;
    /** From the next step on until it is done: flushes its interface. */
    void begin_flush();
    /** Ends all operations that can be: the end of the run. */
    void close_endpoints();
    void leave();
    void kill() override;
    bool gone() const override { return left_ || !process_.alive; }

    Process    &process() override { return process_; }
    RailsIface *rails() const override;
    /** A range of the arena that nobody has used, on the GPU if it has one.
     *  SIZE_MAX: there is none. */
    size_t take_range(size_t length, bool on_gpu);

    Instant sleeps_since = 0; /* 0: it does not */

private:
    bool has_open() const;
    bool waits();

    struct Remote {
        std::vector<uint8_t> device, iface;
        uct_rkey_bundle_t    key{}, gpu_key{}, revocable{};
        bool                 has_key = false, has_gpu_key = false;
        unsigned             lost = 0; /* connections, after it was gone */
        Instant              reached = 0; /* the first time */
        Instant              ended   = 0; /* the last operation that did, with it */
        Program             *program = nullptr;
    };

    bool         provide_memory();
    uct_mem_h    memory_of(const Operation &op) const;
    static uct_rkey_t key_of(const Operation &op, const Remote &remote);
    Endpoint    *endpoint(unsigned peer, unsigned slot);
    void         excuse_cut_off(const Endpoint &endpoint);
    bool         perform(const Action &action);
    void         start(const Action &action);
    ucs_status_t attempt(Operation &op);
    bool         settle(Operation &op, ucs_status_t status, bool at_once = false);
    ucs_status_t send_message(Operation &op);
    ucs_status_t put(Operation &op);
    ucs_status_t get(Operation &op);
    ucs_status_t flush(Operation &op);
    void         prepare(Operation &op);
    void         end(Operation &op, ucs_status_t status);
    void         check_time(const Operation &op);
    void         check_time_of_return(const Operation &op);
    void         check_put(Operation &op);
    void         check_get(Operation &op);
    void         give_back(Operation &op, bool well);
    void         fence(Endpoint &endpoint, bool of_interface);
    void         purge(Endpoint &endpoint);
    bool         let_go(Endpoint &endpoint);
    void         close(Endpoint &endpoint);
    void         sleep();
    void         ask_whether_alive();
    bool         awake();
    void         send_from_end(Operation &op);
    void         keep(void *data, size_t length);
    void         release_kept(size_t index);
    void         release_all();
    void         violate(const Operation &op, const std::string &what) const;
    void         flush_iface();
    void         revoke();

    static void         on_end(uct_completion_t *comp);
    static ucs_status_t on_room(uct_pending_req_t *req);
    static ucs_status_t on_message(void *arg, void *data, size_t length,
                                   unsigned flags);
    static ucs_status_t on_failure(void *arg, uct_ep_h ep, ucs_status_t status);

    Ledger         &ledger_;
    const Scenario &scenario_;
    Process        &process_;
    World          &world_;
    SimHost         host_;
    SimWorker            worker_;
    uct_md_h             md_     = nullptr;
    uct_iface_h          iface_  = nullptr;
    uct_iface_attr_t     attr_{};
    size_t               headroom_ = 0; /* of messages */
    std::vector<Kept>    kept_;
    uct_mem_h            memh_ = nullptr; /* of the arena */
    uct_mem_h            gpu_memh_ = nullptr; /* and of that on the GPU */
    uct_mem_h            revocable_memh_ = nullptr; /* of the arena, once more */
    bool                 revoked_ = false;
    std::vector<uint8_t> packed_key_, packed_gpu_key_, packed_revocable_;
    std::map<unsigned, Remote>             remotes_;
    std::deque<std::unique_ptr<Endpoint>>  endpoints_;
    std::deque<std::unique_ptr<Operation>> operations_;
    size_t   next_action_ = 0;
    Instant  next_check_  = kSecond;
    size_t   next_range_  = 0, next_gpu_range_ = 0;
    Instant  computes_until_ = 0;
    bool     waits_for_all_  = false; /* that is open, and so long then: */
    Instant  waits_for_ = 0, waits_until_ = 0;
    bool     flushing_ = false; /* the interface, */
    size_t   flushes_ops_ = 0;  /* and so many operations */
    bool     left_     = false;
    Operation *blocked_ = nullptr; /* tries again and again */
};

} // namespace fuselink::sim

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_AGENT_H
#define FUSELINK_RELAY_AGENT_H

#include "../hop/hop.h"
#include "../host/host.h"
#include "../rail/lower.h"
#include "gpu_context.h"
#include "guests.h"
#include "hall.h"
#include "pool.h"
#include "spare_memory.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>

namespace fuselink {

/**
 * Lends the link between this process's GPU and the host to the other processes
 * of the user on the node: a few slots in the GPU's memory, and a thread that
 * copies between them and the others' memory of the host when they ask for it,
 * whatever the program does meanwhile (Host::begin_work()). The thread sleeps when
 * there is nothing to do. The slots are allocated when somebody wants them, and
 * given back when nobody has used them for a while, or the GPU has little memory
 * left.
 */
class RelayAgent final : private Background {
public:
    /** In the thread, and so with the GPU, of the program. `offer` says how many
     *  slots of which size there are to be, and the addresses of this process's
     *  `ipc`. What is copied for others is added to `lent`, which outlives it.
     *  nullptr if it cannot be; `error` says why, for a log line. */
    static std::unique_ptr<RelayAgent>
    start(Host &host, std::shared_ptr<RelayHall> hall, uint32_t seat,
          LowerMd &copies, LowerMd &ipc, const RelayHall::Offer &offer,
          Traffic &lent, std::string &error);
    /** Ends what is being copied, and waits a while for others to end theirs. */
    ~RelayAgent();
    RelayAgent(const RelayAgent &)            = delete;
    RelayAgent &operator=(const RelayAgent &) = delete;

private:
    struct Copy { /* of a slot */
        uct_completion_t comp; /* first: UCX gives back a pointer to it */
        RelayAgent      *agent;
        uint32_t         slot;
        uint32_t         length;
        bool             out;
        bool             busy;
    };

    RelayAgent(Host &host, std::shared_ptr<RelayHall> hall, uint32_t seat,
               LowerMd &copies, LowerMd &ipc, const RelayHall::Offer &offer,
               Traffic &lent)
        : host_(host), hall_(std::move(hall)), seat_(seat), copies_md_(copies),
          ipc_md_(ipc), lent_(lent), offer_(offer)
    {
    }

    const char  *name() const override { return "fuselink-relay"; }
    void         begin() override;
    bool         step() override;
    bool         over() const override { return over_; }
    sched::Nanos next_due() const override;
    void         wait(sched::Nanos most) override;
    void         end() override;
    void         stop() override;

    bool         open();
    void         abandon();
    unsigned     take_jobs();
    void         look_around(sched::Nanos now);
    bool         is_wanted() const;
    void         promise();
    void         lend(sched::Nanos now);
    void         withdraw();
    void         give_back();
    void         begin_copy(uint32_t slot, const RelayHall::Job &job);
    void         copied(const Copy &copy, ucs_status_t status);
    static void  on_copied(uct_completion_t *comp);

    Host                      &host_;
    std::shared_ptr<RelayHall> hall_;
    const uint32_t             seat_;
    LowerMd                   &copies_md_;
    LowerMd                   &ipc_md_;
    Traffic                   &lent_;
    GpuContext                 context_;
    std::atomic<bool>          stop_{false};
    std::unique_ptr<AtWork>    work_;

    /* Of where it works. */
    RelayHall::Offer             offer_;
    ucs_async_context_t         *async_  = nullptr;
    uct_worker_h                 worker_ = nullptr;
    std::unique_ptr<Hop>         hop_;
    std::unique_ptr<RelayGuests> guests_;
    std::unique_ptr<RelayPool>   pool_;
    std::unique_ptr<SpareMemory> spare_;
    bool                         promised_ = false; /* slots, on wish */
    bool                         leaving_ = false; /* withdrawn, still in use */
    bool                         refused_ = false; /* the GPU's memory */
    bool                         over_    = false;
    bool                         seated_  = true; /* nobody took the seat */
    uint32_t                     heard_   = 0; /* of the bell */
    sched::Nanos                 stepped_;     /* last */
    sched::Nanos                 next_look_;
    sched::Nanos                 used_;        /* a slot, last */
    sched::Nanos                 answered_;    /* the wish of then */
    /* To stop: when what others have begun has had time enough. */
    sched::Nanos                 deadline_ = sched::Nanos::max();
    std::array<Copy, RelayHall::kSlots> copying_{};
};

} // namespace fuselink

#endif

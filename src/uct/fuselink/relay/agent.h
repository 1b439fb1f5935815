/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_AGENT_H
#define FUSELINK_RELAY_AGENT_H

#include "../staging/copy_lane.h"
#include "../host/host.h"
#include "../rail/uct_objects.h"
#include "../registry/relay_registry.h"
#include "gpu_context.h"
#include "clients.h"
#include "copy_pace.h"
#include "lent_slots.h"

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
 * there is nothing to do, and while copies take long (CopyPace). LentSlots says when
 * there are slots.
 */
class RelayAgent final : private Background {
public:
    /** In the thread, and so with the GPU, of the program. `offer` says how many
     *  slots of which size there are to be, and the addresses of this process's
     *  `ipc`. What is copied for others is added to `lent`, which outlives it.
     *  nullptr if it cannot be; `error` says why, for a log line. */
    static std::unique_ptr<RelayAgent>
    start(Host &host, std::shared_ptr<RelayRegistry> registry, uint32_t entry,
          UctMd &copies, UctMd &ipc, const RelayRegistry::Offer &offer,
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

    RelayAgent(Host &host, std::shared_ptr<RelayRegistry> registry, uint32_t entry,
               UctMd &copies, UctMd &ipc, const RelayRegistry::Offer &offer,
               Traffic &lent)
        : host_(host), registry_(std::move(registry)), entry_(entry),
          copies_md_(copies), ipc_md_(ipc), lent_(lent), offer_(offer)
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
    bool         looks_on(sched::Nanos now) const;
    void         look_around(sched::Nanos now);
    void         begin_copy(uint32_t slot, const RelayRegistry::Job &job);
    void         copied(const Copy &copy, ucs_status_t status);
    static void  on_copied(uct_completion_t *comp);

    Host                          &host_;
    std::shared_ptr<RelayRegistry> registry_;
    const uint32_t                 entry_;
    UctMd                       &copies_md_;
    UctMd                       &ipc_md_;
    Traffic                       &lent_;
    RelayRegistry::Offer           offer_;
    GpuContext                     context_;
    std::atomic<bool>              stop_{false};
    std::unique_ptr<AtWork>        work_;

    /* Of where it works. */
    ucs_async_context_t          *async_  = nullptr;
    uct_worker_h                  worker_ = nullptr;
    std::unique_ptr<CopyLane>          lane_;
    std::unique_ptr<RelayClients> clients_;
    std::unique_ptr<LentSlots>    slots_;
    bool                          over_   = false;
    bool                          joined_ = true; /* nobody took the entry */
    uint32_t                      heard_  = 0; /* of notices */
    CopyPace                      pace_;
    sched::Nanos                  stepped_;    /* last */
    sched::Nanos                  next_look_;
    /* To stop: when what others have begun has had time enough. */
    sched::Nanos                  deadline_ = sched::Nanos::max();
    std::array<Copy, RelayRegistry::kSlots> copying_{};
};

} // namespace fuselink

#endif

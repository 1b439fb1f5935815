/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_RELAY_H
#define FUSELINK_RELAY_RELAY_H

#include "../host/host.h"
#include "agent.h"
#include "copier.h"
#include "lenders.h"
#include "near_slots.h"

#include <memory>
#include <string>

namespace fuselink {

/**
 * What one engine has of the node's relays: an entry in the registry, memory of the
 * host that agents of others can reach, copies that may go over them, and an
 * agent of its own, which begins when the program uses a GPU.
 *
 * One thread at a time (the worker's), but for the agent's own.
 */
class Relay {
public:
    /** Over which GPUs. */
    enum class Use { Never, OverNvLink, Always };

    /** With `bytes` of memory; `nvlinks` outlives it. nullptr if there can be
     *  none; `error` says why, for a log line. */
    static std::unique_ptr<Relay> open(Host &host, size_t bytes, Use use,
                                       NvLinks &nvlinks, std::string &error);
    ~Relay();
    Relay(const Relay &)            = delete;
    Relay &operator=(const Relay &) = delete;

    /** The memory, on a page. */
    char *memory() const;

    /** Has copies go over others, and lends this GPU's link to them. `nvlinks` and `nics`
     *  outlive this. */
    ucs_status_t start(UctMd &copies, UctMd &ipc, CopyLane &own, NvLinks &nvlinks,
                       NicMemory &nics, uct_worker_h worker,
                       const uct_iface_params_t *params, size_t slot);

    /** After start(): this GPU's link is lent, or why not, in a line. */
    bool               lends() const { return agent_ != nullptr; }
    const std::string &why_not() const { return why_not_; }

    /** Those that begin_out() fills; only after start(). */
    void set_slots(Slots &slots) { copier_->set_slots(slots); }

    ucs_status_t begin_out(void *host, const void *gpu, size_t length,
                           bool hurry, uct_completion_t *comp)
    {
        be_agent();
        return copier_->begin_out(host, gpu, length, hurry, comp);
    }
    ucs_status_t begin_in(void *gpu, const void *host, size_t length,
                          uct_completion_t *comp)
    {
        be_agent();
        return copier_->begin_in(gpu, host, length, comp);
    }
    /** Slots of others for NICs beside them; null where no NIC reads memory of GPUs. */
    NearSlots *near()
    {
        be_agent();
        return near_.get();
    }
    /** The same, and nothing begins by it. */
    const NearSlots *known_near() const { return near_.get(); }
    /** What went over others' links; only after start(). */
    const Traffic &relayed() const { return copier_->relayed(); }
    /** What went to NICs beside others. */
    const Traffic *to_near() const { return near_ ? &near_->traffic() : nullptr; }
    /** What others had this GPU's link copy. */
    const Traffic &lent() const { return lent_; }

    bool     busy() const { return copier_->busy() || (near_ && near_->busy()); }
    unsigned progress()
    {
        return copier_->progress() + (near_ ? near_->progress() : 0);
    }

private:
    explicit Relay(Host &machine) : machine_(machine) {}

    void be_agent()
    {
        if (ucs_unlikely(!asked_)) {
            start_agent();
        }
    }
    void start_agent();

    Host                          &machine_;
    NvLinks                       *nvlinks_ = nullptr; /* null: not asked */
    std::shared_ptr<RelayRegistry>     registry_;
    std::unique_ptr<SharedSegment> segment_;
    RelayRegistry::Host                host_; /* the memory */
    uint32_t                       entry_ = 0;
    RelayRegistry::Offer               offer_;
    bool                           asked_ = false; /* for an agent */
    std::string                    why_not_ = "the thread uses no GPU"; /* there is one */
    UctMd                         *copies_ = nullptr;
    UctMd                       *ipc_    = nullptr;
    Traffic                        lent_; /* the agent's */
    std::unique_ptr<RelayAgent>    agent_;
    std::unique_ptr<Lenders>       lenders_;
    std::unique_ptr<Copier>        copier_;
    std::unique_ptr<NearSlots>     near_;
};

} // namespace fuselink

#endif

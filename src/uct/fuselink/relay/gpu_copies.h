/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_GPU_COPIES_H
#define FUSELINK_RELAY_GPU_COPIES_H

#include "../staging/copy_lane.h"
#include "../staging/slots.h"
#include "../host/host.h"
#include "../ucx.h"
#include "relay.h"

#include <memory>
#include <string>
#include <utility>

namespace fuselink {

/**
 * What one interface has for memory of GPUs: copies between it and memory of
 * the host, by the GPU's own link or over other GPUs, and the slots that they go
 * through on the way to NICs, and from NICs.
 *
 * One thread at a time (the worker's).
 */
class GpuCopies {
public:
    struct Settings {
        size_t     memory = 0; /* bytes of slots, for both directions */
        size_t     slot   = 0; /* bytes of one */
        Relay::Use relay  = Relay::Use::Never; /* over other GPUs */
    };

    GpuCopies() = default;

    /** Memory of GPUs is to be sent, and received. `gpu` copies it, `ipc` (which
     *  may be null) reaches other processes' GPUs; both, and the others, outlive
     *  this. On failure says in one line why not, and there() is false. */
    ucs_status_t open(Host &host, UctMd &gpu, UctMd *ipc, NvLinks &nvlinks,
                      NicMemory &nics, RegionTable &regions,
                      const Settings &settings, uct_worker_h worker,
                      const uct_iface_params_t *params);

    /** Memory of GPUs is taken. Nothing below may be called otherwise. */
    bool there() const { return lane_ != nullptr; }

    /** Begins a copy: as CopyLane's, also over other GPUs; out only if `hurry`. */
    ucs_status_t begin_out(void *host, const void *gpu, size_t length,
                           bool hurry, uct_completion_t *comp)
    {
        return relay_ ? relay_->begin_out(host, gpu, length, hurry, comp) :
                        lane_->begin_out(host, gpu, length, comp);
    }
    ucs_status_t begin_in(void *gpu, const void *host, size_t length,
                          uct_completion_t *comp)
    {
        return relay_ ? relay_->begin_in(gpu, host, length, comp) :
                        lane_->begin_in(gpu, host, length, comp);
    }

    /** Copies, and returns when that is done: short ones only. */
    ucs_status_t out(void *host, const void *gpu, size_t length)
    {
        return lane_->out(host, gpu, length);
    }
    ucs_status_t in(void *gpu, const void *host, size_t length)
    {
        return lane_->in(gpu, host, length);
    }

    /** Copies are under way; also where there() is false: then not. */
    bool busy() const
    {
        return lane_ && (lane_->busy() || (relay_ && relay_->busy()));
    }
    unsigned progress();
    /** Progresses copies until done(). False if that takes longer than any. */
    template <typename Done> bool await(Done &&done)
    {
        return lane_->wait([&] {
            if (relay_) {
                relay_->progress();
            }
            return done();
        });
    }

    /** Of these NICs, by name, those nearest to the GPU in whose context the calling thread
     *  works, a bit for each; 0 if it works in none, or nobody has asked yet what is near
     *  what, which takes long. Not more than 32. */
    uint32_t nearest(const std::vector<std::string> &nics) const;

    /** Others may have the GPU's link copy for them. If not, `why_not` is a line. */
    bool lends(std::string &why_not) const
    {
        why_not = relay_ ? relay_->why_not() : why_no_relay_;
        return relay_ && relay_->lends();
    }

    /** Slots of other GPUs, for NICs beside these; null if there are none. */
    NearSlots *near() { return relay_ ? relay_->near() : nullptr; }
    /** The same, and nothing begins by it. */
    const NearSlots *known_near() const { return relay_ ? relay_->known_near() : nullptr; }

    /** What copies go through on their way out to NICs, and in from NICs. */
    Slots &slots_out() { return *slots_out_; }
    Slots &slots_in() { return *slots_in_; }

    /** What went over the GPU's own link; over others' links, to NICs beside others, and
     *  what others had this GPU's link copy: null without these. */
    const Traffic &own() const { return lane_->traffic(); }
    const Traffic *relayed() const
    {
        return relay_ ? &relay_->relayed() : nullptr;
    }
    const Traffic *to_near() const { return relay_ ? relay_->to_near() : nullptr; }
    const Traffic *lent() const { return relay_ ? &relay_->lent() : nullptr; }

private:
    void open_relay(Host &host, UctMd &gpu, UctMd *ipc, NvLinks &nvlinks,
                    NicMemory &nics, const Settings &settings, uct_worker_h worker,
                    const uct_iface_params_t *params);

    NvLinks                    *nvlinks_ = nullptr;
    std::unique_ptr<CopyLane>   lane_;
    std::unique_ptr<Relay> relay_; /* has the slots' memory */
    std::string            why_no_relay_;
    std::unique_ptr<Slots> slots_out_, slots_in_;
};

} // namespace fuselink

#endif

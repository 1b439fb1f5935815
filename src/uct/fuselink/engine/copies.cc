/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Engine: memory of GPUs. */

#include "engine.h"

namespace fuselink {

ucs_status_t Engine::open_hop(LowerMd &gpu, LowerMd *ipc, NvLinks &nvlinks,
                              uct_worker_h worker,
                              const uct_iface_params_t *params)
{
    ucs_status_t status = Hop::open(host_, gpu, worker, params, hop_);
    if (status != UCS_OK) {
        return status;
    }
    const size_t half = settings_.relay_memory / 2;
    if (settings_.relay != Relay::Use::Never) {
        std::string error = "UCX has no cuda_ipc";
        relay_ = ipc == nullptr ? nullptr :
                                  Relay::open(host_, 2 * half,
                                              settings_.relay, nvlinks,
                                              error);
        if (relay_) {
            status = relay_->start(gpu, *ipc, *hop_, worker, params,
                                   settings_.gpu_chunk);
            if (status != UCS_OK) {
                error = std::string("cuda_ipc: ") + ucs_status_string(status);
                relay_.reset();
            }
        }
        if (!relay_) {
            ucs_log(settings_.relay == Relay::Use::Always ?
                        UCS_LOG_LEVEL_WARN : UCS_LOG_LEVEL_DEBUG,
                    "fuselink: memory of GPUs does not go over other GPUs "
                    "(UCX_FUSELINK_RELAY): %s", error.c_str());
        }
    }
    char *memory = relay_ ? relay_->memory() : nullptr;
    slots_out_   = std::make_unique<Slots>(gpu, nics_, regions_,
                                           settings_.gpu_chunk, half, memory);
    slots_in_    = std::make_unique<Slots>(gpu, nics_, regions_,
                                           settings_.gpu_chunk, half,
                                           memory == nullptr ? nullptr :
                                                               memory + half);
    if (relay_) {
        relay_->set_slots(*slots_out_);
    }
    watch_copies();
    return UCS_OK;
}

unsigned Engine::progress_copies()
{
    unsigned count = hop_->progress();
    return relay_ ? count + relay_->progress() : count;
}

} // namespace fuselink

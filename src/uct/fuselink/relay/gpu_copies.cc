/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "gpu_copies.h"

#include <string>

namespace fuselink {

ucs_status_t GpuCopies::open(Host &host, UctMd &gpu, UctMd *ipc,
                             NvLinks &nvlinks, NicMemory &nics,
                             RegionTable &regions, const Settings &settings,
                             uct_worker_h worker,
                             const uct_iface_params_t *params)
{
    ucs_status_t status = CopyLane::open(host, gpu, worker, params, lane_);
    if (status != UCS_OK) {
        return status;
    }
    nvlinks_ = &nvlinks;
    open_relay(host, gpu, ipc, nvlinks, nics, settings, worker, params);

    const size_t half   = settings.memory / 2;
    char        *memory = relay_ ? relay_->memory() : nullptr;
    slots_out_ = std::make_unique<Slots>(gpu, nics, regions, settings.slot,
                                         half, memory);
    slots_in_  = std::make_unique<Slots>(gpu, nics, regions, settings.slot,
                                         half,
                                         memory == nullptr ? nullptr :
                                                             memory + half);
    if (relay_) {
        relay_->set_slots(*slots_out_);
    }
    return UCS_OK;
}

/* Copies go without relays if there can be none. */
void GpuCopies::open_relay(Host &host, UctMd &gpu, UctMd *ipc,
                           NvLinks &nvlinks, NicMemory &nics,
                           const Settings &settings, uct_worker_h worker,
                           const uct_iface_params_t *params)
{
    if (settings.relay == Relay::Use::Never) {
        why_no_relay_ = "UCX_FUSELINK_RELAY=n";
        return;
    }
    std::string error = "UCX has no cuda_ipc";
    if (ipc != nullptr) {
        relay_ = Relay::open(host, settings.memory / 2 * 2, settings.relay,
                             nvlinks, error);
    }
    if (relay_) {
        ucs_status_t status = relay_->start(gpu, *ipc, *lane_, nvlinks, nics, worker,
                                            params, settings.slot);
        if (status != UCS_OK) {
            error = std::string("cuda_ipc: ") + ucs_status_string(status);
            relay_.reset();
        }
    }
    if (!relay_) {
        why_no_relay_ = error;
        ucs_log(settings.relay == Relay::Use::Always ? UCS_LOG_LEVEL_WARN :
                                                       UCS_LOG_LEVEL_DEBUG,
                "fuselink: memory of GPUs does not go over other GPUs "
                "(UCX_FUSELINK_RELAY): %s", error.c_str());
    }
}

uint32_t GpuCopies::nearest(const std::vector<std::string> &nics) const
{
    GpuContext::Uuid gpu;
    return nvlinks_ != nullptr && nvlinks_->known() && GpuContext::uuid(gpu) ?
               nvlinks_->nearest(gpu, nics) : 0;
}

unsigned GpuCopies::progress()
{
    unsigned count = lane_->progress();
    return relay_ ? count + relay_->progress() : count;
}

} // namespace fuselink

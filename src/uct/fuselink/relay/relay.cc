/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "relay.h"

#include <algorithm>

namespace fuselink {
namespace {

/* In front of the memory: the segment's own first word. */
constexpr size_t kFront = 4096;

/* Slots of an agent: enough for pieces of two to hop while others are copied. */
constexpr size_t kAgentSlots = 8;

/* Puts it where the offer has room for it. */
template <size_t N>
bool put(const std::vector<uint8_t> &address, uint8_t (&to)[N], uint32_t &length)
{
    if (address.size() > N) {
        return false;
    }
    std::copy(address.begin(), address.end(), to);
    length = static_cast<uint32_t>(address.size());
    return true;
}

} // namespace

std::unique_ptr<Relay> Relay::open(Host &host, size_t bytes, Use use,
                                   NvLinks &nvlinks, std::string &error)
{
    std::unique_ptr<Relay> relay(new Relay(host));
    if (use == Use::OverNvLink) {
        relay->nvlinks_ = &nvlinks;
    }
    relay->registry_ = host.open_relay_registry(FUSELINK_UCX_MINOR, error);
    if (!relay->registry_) {
        return nullptr;
    }
    relay->host_.magic = host.random64() | 1;
    relay->host_.size  = kFront + bytes;
    relay->segment_    = host.open_segment(relay->host_.magic,
                                           relay->host_.size, error);
    if (!relay->segment_) {
        relay->registry_.reset();
        return nullptr;
    }
    auto entry = relay->registry_->join(host.processes().self(), relay->host_,
                                  host.now());
    if (!entry) {
        relay->registry_.reset();
        error = "as many processes as can be have relays on this node";
        return nullptr;
    }
    relay->entry_ = *entry;
    return relay;
}

Relay::~Relay()
{
    agent_.reset();
    /* Whose GPU is broken keeps his entry: slots may still be written to. */
    const bool near   = near_ && near_->busy();
    const bool broken = near || (copier_ && copier_->busy());
    if (near) {
        lenders_->abandon();
    }
    near_.reset();
    copier_.reset();
    lenders_.reset(); /* first: NICs do not reach what peers are still lent of others' slots */
    if (registry_ && !broken) {
        registry_->leave(entry_);
    }
}

char *Relay::memory() const
{
    return static_cast<char *>(segment_->memory()) + kFront;
}

ucs_status_t Relay::start(UctMd &copies, UctMd &ipc, CopyLane &own, NvLinks &nvlinks,
                          NicMemory &nics, uct_worker_h worker,
                          const uct_iface_params_t *params, size_t slot)
{
    copies_  = &copies;
    ipc_     = &ipc;
    lenders_ = std::make_unique<Lenders>(machine_, ipc, registry_, entry_, nvlinks_);
    ucs_status_t status = lenders_->open(worker, params);
    if (status != UCS_OK) {
        return status;
    }
    copier_ = std::make_unique<Copier>(machine_, *lenders_,
                                       static_cast<char *>(segment_->memory()),
                                       segment_->size(), own);
    if (nics.any_for_gpus()) {
        near_ = std::make_unique<NearSlots>(machine_, *lenders_, nics, nvlinks);
    }
    const UctIface &iface = lenders_->ipc();
    if (!put(iface.device_address(), offer_.device, offer_.device_length) ||
        !put(iface.iface_address(), offer_.iface, offer_.iface_length)) {
        return UCS_ERR_BUFFER_TOO_SMALL;
    }
    offer_.slot_size = static_cast<uint32_t>(slot);
    offer_.slots     = static_cast<uint32_t>(
        std::min(kAgentSlots, (segment_->size() - kFront) / slot));
    if (GpuContext::current()) {
        start_agent();
    }
    return UCS_OK;
}

void Relay::start_agent()
{
    asked_ = true;
    GpuContext::Uuid own;
    if (nvlinks_ != nullptr && (!GpuContext::uuid(own) || !nvlinks_->any(own))) {
        why_not_ = "the GPU has no NVLink (UCX_FUSELINK_RELAY=y lends it all the same)";
    } else {
        agent_ = RelayAgent::start(machine_, registry_, entry_, *copies_, *ipc_, offer_,
                                   lent_, why_not_);
    }
    if (!agent_) {
        ucs_debug("fuselink: the GPU's link is not lent to others: %s",
                  why_not_.c_str());
    }
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "lenders.h"

#include "gpu_context.h"

#include <algorithm>

namespace fuselink {
namespace {

using sched::Nanos;

/* How often new ones are looked for. */
constexpr Nanos kLook = Nanos::millis(100);

/* One is asked for slots so often, and looked at so often until it has some. */
constexpr Nanos kAsk = Nanos::millis(50), kSoon = Nanos::millis(2);

/* So often one is told that his slots are of use: jobs tell, and not all are jobs. */
constexpr Nanos kUse = Nanos::seconds(1);

} // namespace

Lenders::Lenders(Host &host, UctMd &ipc, std::shared_ptr<RelayRegistry> registry,
                 uint32_t entry, NvLinks *nvlinks)
    : host_(host), ipc_md_(ipc), registry_(std::move(registry)), entry_(entry),
      nvlinks_(nvlinks)
{
}

Lenders::~Lenders()
{
    if (abandoned_) {
        (void)ipc_.release();
        return;
    }
    for (auto &lender : lenders_) {
        leave(*lender);
    }
}

ucs_status_t Lenders::open(uct_worker_h worker, const uct_iface_params_t *params)
{
    const UctMd::Resource *resource = ipc_md_.find("cuda_ipc");
    if (resource == nullptr) {
        return UCS_ERR_NO_DEVICE;
    }
    UctIfaceParams lower;
    lower.worker = worker;
    lower.user   = params;
    ucs_status_t status = UctIface::open(ipc_md_, resource->tl,
                                         resource->device, lower, ipc_);
    if (status == UCS_OK) {
        ipc_->prepare_progress();
    }
    return status;
}

/* One is of no use if its GPU is ours or cannot be reached, or if we could not see
 * it die. Whoever wants relays at any rate gets those that gain nothing, too. */
bool Lenders::is_near(const Lender &lender) const
{
    GpuContext::Uuid own, other;
    std::copy_n(lender.offer.gpu, other.size(), other.begin());
    ProcessId process(lender.offer.process);
    return process != host_.processes().self() &&
           host_.processes().in_own_space(process) &&
           host_.processes().life(process) != ProcessId::Life::Gone &&
           GpuContext::uuid(own) &&
           (nvlinks_ == nullptr ||
            (own != other && nvlinks_->between(own, other)));
}

bool Lenders::connect(Lender &lender)
{
    const auto &offer = lender.offer;
    if (!is_near(lender) || offer.key_length != ipc_md_.rkey_size()) {
        return false;
    }
    if (uct_rkey_unpack(ipc_md_.component(), offer.key, &lender.key) !=
        UCS_OK) {
        return false;
    }
    std::vector<uint8_t> device(offer.device,
                                offer.device + offer.device_length);
    std::vector<uint8_t> iface(offer.iface, offer.iface + offer.iface_length);
    if (device.size() != ipc_->device_address().size() ||
        iface.size() != ipc_->iface_address().size() ||
        !ipc_->is_reachable(device, iface) ||
        ipc_->create_ep(device, iface, &lender.ep) != UCS_OK) {
        lender.ep = nullptr;
        uct_rkey_release(ipc_md_.component(), &lender.key);
        return false;
    }
    return true;
}

void Lenders::leave(Lender &lender)
{
    if (lender.ep != nullptr) {
        uct_ep_destroy(lender.ep);
        uct_rkey_release(ipc_md_.component(), &lender.key);
        lender.ep = nullptr;
    }
}

bool Lenders::offers(const Lender &lender) const
{
    const auto offer = registry_->offer_of(lender.entry);
    return offer && offer->number == lender.offer.number &&
           offer->process == lender.offer.process;
}

void Lenders::look_around(Nanos now)
{
    next_look_ = now + kLook;
    joined_    = joined_ && registry_->keep(entry_, now);
    for (auto it = lenders_.begin(); it != lenders_.end();) {
        Lender &lender = **it;
        if (lender.in_use == 0 && !offers(lender)) {
            leave(lender);
            it = lenders_.erase(it);
        } else {
            ++it;
        }
    }
    for (uint32_t entry = 0; entry < RelayRegistry::kEntries; ++entry) {
        auto offer = registry_->offer_of(entry);
        bool known = std::any_of(lenders_.begin(), lenders_.end(),
                                 [&](const auto &lender) {
                                     return lender->entry == entry;
                                 });
        if (entry == entry_ || known || !offer) {
            continue;
        }
        lenders_.push_back(std::make_unique<Lender>(Lender{entry, *offer}));
        Lender &lender = *lenders_.back();
        lender.usable  = offer->on_demand != 0 ? is_near(lender) : connect(lender);
        ucs_debug("fuselink: process %d lends its GPU's link%s",
                  ProcessId(offer->process).pid(),
                  lender.usable ? "" : ", of no use here");
    }
    for (const auto &lender : lenders_) {
        if (lender->offer.on_demand != 0 && lender->asked != Nanos() &&
            now - lender->asked < kAsk) {
            next_look_ = now + kSoon;
        }
    }
}

void Lenders::demand(Lender &lender, Nanos now)
{
    if (lender.offer.on_demand != 0 && lender.usable && now - lender.asked >= kAsk &&
        spares(lender, now)) {
        lender.asked = now;
        next_look_   = std::min(next_look_, now + kSoon);
        registry_->demand(lender.entry, now);
    }
}

std::optional<RelayRegistry::SlotHandle> Lenders::take(Lender &lender, Nanos now)
{
    /* As long as it is used nobody takes the entry of who has just kept it. */
    joined_ = joined_ && registry_->keep(entry_, now);
    if (!joined_) {
        return {};
    }
    auto slot = registry_->take(lender.entry, lender.offer, entry_);
    lender.in_use += slot.has_value();
    if (slot) {
        keep(lender, now);
    }
    return slot;
}

void Lenders::keep(Lender &lender, Nanos now)
{
    if (now - lender.asked >= kUse) {
        lender.asked = now;
        registry_->demand(lender.entry, now);
    }
}

void Lenders::give(Lender &lender, const RelayRegistry::SlotHandle &slot, bool keeps)
{
    --lender.in_use;
    if (!keeps) {
        registry_->give(slot, entry_);
    }
}

ucs_status_t Lenders::hop(bool out, const Lender &lender,
                          const RelayRegistry::SlotHandle &slot, void *gpu,
                          size_t length, uct_completion_t *comp)
{
    uct_iov_t  iov{gpu, length, UCT_MEM_HANDLE_NULL, 0, 1};
    uint64_t   at  = lender.offer.base + uint64_t{slot.slot} * lender.offer.slot_size;
    uct_rkey_t key = lender.key.rkey;
    return out ? uct_ep_put_zcopy(lender.ep, &iov, 1, at, key, comp) :
                 uct_ep_get_zcopy(lender.ep, &iov, 1, at, key, comp);
}

} // namespace fuselink

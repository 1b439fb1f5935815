/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "copier.h"

#include "gpu_context.h"

#include <algorithm>

namespace fuselink {
namespace {

using sched::Nanos;

/* How often new agents are looked for. */
constexpr Nanos kLook = Nanos::millis(100);

/* An agent is asked for slots so often, and looked at so often until it has some. */
constexpr Nanos kAsk = Nanos::millis(50), kSoon = Nanos::millis(2);

/* An owner who has used his link goes on needing it for as long as so many of his
 * copies take, in these bounds. */
constexpr int64_t kOwners      = 4;
constexpr Nanos   kLeastOwners = Nanos::millis(10),
                  kMostOwners  = Nanos::millis(200);

/* The part of a new one in the mean time of a copy. */
constexpr int64_t kMean = 8;

/* An agent that did not do a job is left alone for so long. */
constexpr Nanos kRest = Nanos::seconds(1);

/* Pieces at one agent: one that hops, one that is copied, one that waits. */
constexpr unsigned kTrips = 4;

constexpr size_t kMostLinks = RelayRegistry::kEntries + 1;

} // namespace

Copier::Copier(Host &machine, UctMd &ipc, std::shared_ptr<RelayRegistry> registry,
               uint32_t entry, char *host, size_t host_size, CopyLane &own,
               NvLinks *nvlinks)
    : machine_(machine), ipc_md_(ipc), registry_(std::move(registry)), entry_(entry),
      host_(host), host_size_(host_size), own_(own), nvlinks_(nvlinks)
{
}

Copier::~Copier()
{
    if (!ops_.empty()) { /* a GPU is broken: it keeps what it reads */
        for (auto &op : ops_) {
            (void)op.release();
        }
        (void)ipc_.release();
        return;
    }
    for (auto &agent : agents_) {
        leave(*agent);
    }
}

ucs_status_t Copier::open(uct_worker_h worker, const uct_iface_params_t *params)
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

/* --- agents --- */

/* It is of no use if its GPU is ours or cannot be reached, or if we could not see
 * it die. Whoever wants relays at any rate gets those that gain nothing, too. */
bool Copier::is_near(const Agent &agent) const
{
    GpuContext::Uuid own, other;
    std::copy_n(agent.offer.gpu, other.size(), other.begin());
    ProcessId process(agent.offer.process);
    return process != machine_.processes().self() &&
           machine_.processes().in_own_space(process) &&
           machine_.processes().life(process) != ProcessId::Life::Gone &&
           GpuContext::uuid(own) &&
           (nvlinks_ == nullptr ||
            (own != other && nvlinks_->between(own, other)));
}

/* Connects to it. */
bool Copier::connect(Agent &agent)
{
    const auto &offer = agent.offer;
    if (!is_near(agent) || offer.key_length != ipc_md_.rkey_size()) {
        return false;
    }
    if (uct_rkey_unpack(ipc_md_.component(), offer.key, &agent.key) !=
        UCS_OK) {
        return false;
    }
    std::vector<uint8_t> device(offer.device,
                                offer.device + offer.device_length);
    std::vector<uint8_t> iface(offer.iface, offer.iface + offer.iface_length);
    if (device.size() != ipc_->device_address().size() ||
        iface.size() != ipc_->iface_address().size() ||
        !ipc_->is_reachable(device, iface) ||
        ipc_->create_ep(device, iface, &agent.ep) != UCS_OK) {
        agent.ep = nullptr;
        uct_rkey_release(ipc_md_.component(), &agent.key);
        return false;
    }
    return true;
}

void Copier::leave(Agent &agent)
{
    if (agent.ep != nullptr) {
        uct_ep_destroy(agent.ep);
        uct_rkey_release(ipc_md_.component(), &agent.key);
        agent.ep = nullptr;
    }
}

void Copier::look_around(Nanos now)
{
    next_look_ = now + kLook;
    joined_    = joined_ && registry_->keep(entry_, now);
    reclaim();
    for (auto it = agents_.begin(); it != agents_.end();) {
        Agent &agent = **it;
        auto   offer = registry_->offer_of(agent.entry);
        if (agent.ops == 0 &&
            (!offer || offer->number != agent.offer.number ||
             offer->process != agent.offer.process)) {
            leave(agent);
            it = agents_.erase(it);
        } else {
            ++it;
        }
    }
    for (uint32_t entry = 0; entry < RelayRegistry::kEntries; ++entry) {
        auto offer = registry_->offer_of(entry);
        bool known = std::any_of(agents_.begin(), agents_.end(),
                                 [&](const auto &agent) {
                                     return agent->entry == entry;
                                 });
        if (entry == entry_ || known || !offer) {
            continue;
        }
        agents_.push_back(std::make_unique<Agent>(Agent{entry, *offer}));
        Agent &agent = *agents_.back();
        agent.usable = offer->on_demand != 0 ? is_near(agent) : connect(agent);
        ucs_debug("fuselink: process %d lends its GPU's link%s",
                  ProcessId(offer->process).pid(),
                  agent.usable ? "" : ", of no use here");
    }
    for (const auto &agent : agents_) {
        if (agent->asked != Nanos() && now - agent->asked < kAsk) {
            next_look_ = now + kSoon;
        }
    }
}

/* What is to be copied waits: the slots of those who have promised some. */
void Copier::demand_others(Nanos now)
{
    for (auto &agent : agents_) {
        if (agent->offer.on_demand != 0 && agent->usable &&
            now - agent->asked >= kAsk && registry_->needed(agent->entry) < now) {
            agent->asked = now;
            next_look_   = std::min(next_look_, now + kSoon);
            registry_->demand(agent->entry, now);
        }
    }
}

/* --- copies --- */

ucs_status_t Copier::begin(bool out, char *host, void *gpu, size_t length,
                           bool hurry, uct_completion_t *comp)
{
    const Nanos now = machine_.now();
    if (ucs_unlikely(now >= next_look_)) {
        look_around(now);
    }
    LinkView links[kMostLinks];
    Agent   *agents[kMostLinks];
    size_t   count = 0;
    agents[0]      = nullptr;
    links[count++] = {waiting_, true};
    for (size_t i = 0; hurry && i < agents_.size(); ++i) {
        auto &agent    = agents_[i];
        agents[count]  = agent.get();
        links[count++] = {agent->waiting,
                          agent->usable && agent->offer.on_demand == 0 &&
                              agent->ops < kTrips &&
                              agent->rests_until <= now &&
                              !left_.with(agent->entry) &&
                              length <= agent->offer.slot_size &&
                              registry_->needed(agent->entry) < now};
    }
    size_t link = choose_link({links, count}, length);
    if (link != 0 &&
        begin_relayed(*agents[link], out, host, gpu, length, comp)) {
        return UCS_INPROGRESS;
    }
    if (hurry && waiting_ > length) {
        demand_others(now);
    }
    return begin_own(out, host, gpu, length, comp, now);
}

/* The owner's link is his for a while. */
void Copier::need_own(Nanos now)
{
    registry_->need(entry_, now + std::clamp(own_takes_ * kOwners, kLeastOwners,
                                        kMostOwners));
}

ucs_status_t Copier::begin_own(bool out, char *host, void *gpu, size_t length,
                               uct_completion_t *comp, Nanos now)
{
    need_own(now);
    Own &own = owns_.take();
    arm(own.comp, on_own);
    own.copier  = this;
    own.user    = comp;
    own.length  = length;
    own.since   = now;
    waiting_   += length;
    ucs_status_t status = out ? own_.begin_out(host, gpu, length, &own.comp) :
                                own_.begin_in(gpu, host, length, &own.comp);
    if (status != UCS_INPROGRESS) {
        waiting_ -= length;
        owns_.give_back(own);
    }
    return status;
}

void Copier::on_own(uct_completion_t *comp)
{
    Own              *own    = reinterpret_cast<Own *>(comp);
    Copier           &copier = *own->copier;
    uct_completion_t *user   = own->user;
    ucs_status_t      status = comp->status;
    copier.waiting_ -= own->length;
    const Nanos now    = copier.machine_.now();
    copier.own_takes_ += (now - own->since - copier.own_takes_) / kMean;
    copier.need_own(now);
    copier.owns_.give_back(*own);
    uct_invoke_completion(user, status);
}

bool Copier::begin_relayed(Agent &agent, bool out, char *host, void *gpu,
                        size_t length, uct_completion_t *comp)
{
    if (host < host_ || host + length > host_ + host_size_) {
        return false; /* memory that agents do not see */
    }
    /* As long as a op lasts nobody takes the entry of who has just kept it. */
    joined_ = joined_ && registry_->keep(entry_, machine_.now());
    if (!joined_) {
        return false;
    }
    auto slot = registry_->take(agent.entry, agent.offer, entry_);
    if (!slot) {
        return false;
    }
    auto op    = std::make_unique<RelayOp>(RelayOp{
        {}, this, out, false, false, UCS_OK, host, gpu, length, comp, &agent,
        *slot, {}});
    ucs_status_t status = UCS_INPROGRESS;
    if (out) {
        status = hop(*op);
    } else {
        post(*op);
    }
    if (UCS_STATUS_IS_ERR(status)) {
        registry_->give(*slot, entry_);
        return false;
    }
    agent.waiting += length;
    ++agent.ops;
    ops_.push_back(std::move(op));
    return true;
}

/* Between the GPUs. */
ucs_status_t Copier::hop(RelayOp &op)
{
    arm(op.comp, on_hop);
    op.hopping     = true;
    op.ended       = false;
    uct_iov_t iov{op.gpu, op.length, UCT_MEM_HANDLE_NULL, 0, 1};
    uint64_t  slot = op.agent->offer.base +
                     uint64_t{op.slot.slot} * op.agent->offer.slot_size;
    uct_rkey_t   key    = op.agent->key.rkey;
    ucs_status_t status =
        op.out ? uct_ep_put_zcopy(op.agent->ep, &iov, 1, slot, key,
                                    &op.comp) :
                   uct_ep_get_zcopy(op.agent->ep, &iov, 1, slot, key,
                                    &op.comp);
    op.ended = status == UCS_OK;
    return status;
}

void Copier::on_hop(uct_completion_t *comp)
{
    reinterpret_cast<RelayOp *>(comp)->ended = true; /* progress() goes on */
}

/* Has the agent copy it. */
void Copier::post(RelayOp &op)
{
    op.hopping = false;
    op.errand.begin(op.slot, machine_.now());
    registry_->post(op.slot, entry_,
                {static_cast<uint64_t>(op.host - host_),
                 static_cast<uint32_t>(op.length), 0, op.out});
}

void Copier::set_slots(Slots &slots)
{
    slots_ = &slots;
    slots.set_reclaim([](void *self) { static_cast<Copier *>(self)->reclaim(); },
                      this);
}

/* What the agent may write when it goes on is what is there already, as long as
 * the slot is not used for something else. */
void Copier::leave_behind(RelayOp &op)
{
    op.left         = true;
    const bool writes = op.out && slots_ != nullptr;
    if (writes) {
        slots_->hold(op.host);
    }
    left_.add(op.slot, writes ? op.host : nullptr);
    ucs_debug("fuselink: process %d, which lends its GPU's link, is stopped",
              ProcessId(op.slot.process).pid());
}

void Copier::reclaim()
{
    if (!left_.empty()) {
        left_.look(*registry_, entry_, [this](char *slot) {
            slots_->let_go(slot);
        });
    }
}

/* Where the bytes come from they still are. */
void Copier::fall_back(RelayOp &op, Nanos now)
{
    op.agent->rests_until = now + kRest;
    op.result = begin_own(op.out, op.host, op.gpu, op.length,
                            op.user, now);
}

/* True if the op is over. Calls no user. */
bool Copier::advance(RelayOp &op, Nanos now)
{
    if (op.hopping) {
        if (!op.ended) {
            return false;
        }
        if (op.comp.status != UCS_OK) {
            fall_back(op, now);
            return true;
        }
        if (!op.out) {
            return true;
        }
        post(op);
        return false;
    }
    switch (op.errand.look(*registry_, entry_, now)) {
    case RelayErrand::Course::Wait:
        return false;
    case RelayErrand::Course::Done:
        if (op.out) {
            return true;
        }
        if (!UCS_STATUS_IS_ERR(hop(op))) {
            return op.ended;
        }
        break;
    case RelayErrand::Course::Stuck:
        leave_behind(op);
        break;
    case RelayErrand::Course::Failed:
        break;
    }
    fall_back(op, now);
    return true;
}

unsigned Copier::progress()
{
    if (ops_.empty()) {
        return 0;
    }
    uct_iface_progress(ipc_->handle());
    const Nanos   now   = machine_.now();
    unsigned      count = 0;
    for (size_t i = 0; i < ops_.size();) {
        if (!advance(*ops_[i], now)) {
            ++i;
            continue;
        }
        /* Users begin others: the list may change meanwhile, at its end. */
        auto op = std::move(ops_[i]);
        ops_.erase(ops_.begin() + static_cast<std::ptrdiff_t>(i));
        if (!op->left) {
            registry_->give(op->slot, entry_);
        }
        op->agent->waiting -= op->length;
        --op->agent->ops;
        if (op->result != UCS_INPROGRESS) {
            if (op->result == UCS_OK) {
                (op->out ? relayed_.sent : relayed_.received)
                    .add(op->length);
            }
            uct_invoke_completion(op->user, op->result);
        }
        ++count;
    }
    return count;
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "copier.h"

#include <algorithm>

namespace fuselink {
namespace {

using sched::Nanos;

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

Copier::Copier(Host &machine, Lenders &lenders, char *host, size_t host_size, CopyLane &own)
    : machine_(machine), lenders_(lenders), host_(host), host_size_(host_size), own_(own)
{
}

Copier::~Copier()
{
    if (!ops_.empty()) { /* a GPU is broken: it keeps what it reads */
        for (auto &op : ops_) {
            (void)op.release();
        }
        lenders_.abandon();
    }
}

ucs_status_t Copier::begin(bool out, char *host, void *gpu, size_t length,
                           bool hurry, uct_completion_t *comp)
{
    const Nanos now = machine_.now();
    if (lenders_.look(now)) {
        reclaim();
    }
    const auto &lenders = lenders_.list();
    LinkView    links[kMostLinks];
    size_t      count = 0;
    links[count++]    = {waiting_, true};
    for (size_t i = 0; hurry && i < lenders.size(); ++i) {
        const Lender &lender = *lenders[i];
        links[count++] = {lender.waiting,
                          lender.ready() && lender.pieces < kTrips &&
                              lender.rests_until <= now &&
                              !left_.with(lender.entry) &&
                              length <= lender.offer.slot_size &&
                              lenders_.spares(lender, now)};
    }
    size_t link = choose_link({links, count}, length);
    if (link != 0 &&
        begin_relayed(*lenders[link - 1], out, host, gpu, length, comp)) {
        return UCS_INPROGRESS;
    }
    for (size_t i = 0; hurry && waiting_ > length && i < lenders.size(); ++i) {
        lenders_.demand(*lenders[i], now);
    }
    return begin_own(out, host, gpu, length, comp, now);
}

/* The owner's link is his for a while. */
void Copier::need_own(Nanos now)
{
    lenders_.registry().need(lenders_.entry(),
                             now + std::clamp(own_takes_ * kOwners, kLeastOwners,
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

bool Copier::begin_relayed(Lender &lender, bool out, char *host, void *gpu,
                           size_t length, uct_completion_t *comp)
{
    if (host < host_ || host + length > host_ + host_size_) {
        return false; /* memory that agents do not see */
    }
    auto slot = lenders_.take(lender, machine_.now());
    if (!slot) {
        return false;
    }
    auto op    = std::make_unique<RelayOp>(RelayOp{
        {}, this, out, false, false, UCS_OK, host, gpu, length, comp, &lender,
        *slot, {}});
    ucs_status_t status = UCS_INPROGRESS;
    if (out) {
        status = hop(*op);
    } else {
        post(*op);
    }
    if (UCS_STATUS_IS_ERR(status)) {
        lenders_.give(lender, *slot);
        return false;
    }
    lender.waiting += length;
    ++lender.pieces;
    ops_.push_back(std::move(op));
    return true;
}

/* Between the GPUs. */
ucs_status_t Copier::hop(RelayOp &op)
{
    arm(op.comp, on_hop);
    op.hopping          = true;
    op.ended            = false;
    ucs_status_t status = lenders_.hop(op.out, *op.lender, op.slot, op.gpu, op.length,
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
    lenders_.registry().post(op.slot, lenders_.entry(),
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
        left_.look(lenders_.registry(), lenders_.entry(), [this](char *slot) {
            slots_->let_go(slot);
        });
    }
}

/* Where the bytes come from they still are. */
void Copier::fall_back(RelayOp &op, Nanos now)
{
    op.lender->rests_until = now + kRest;
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
    switch (op.errand.look(lenders_.registry(), lenders_.entry(), now)) {
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
    lenders_.progress();
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
        lenders_.give(*op->lender, op->slot, op->left);
        op->lender->waiting -= op->length;
        --op->lender->pieces;
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

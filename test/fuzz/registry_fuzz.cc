/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * The registry is memory that other processes write. Whatever they write, and between
 * whichever calls, what is read stays in bounds and no call goes astray.
 *
 * The input is a script of operations: the first kinds overwrite words, the others
 * are the calls of an agent, of somebody who uses it, and of one who comes late.
 */

#include "registry/relay_registry.h"
#include "script.h"

#include <vector>

using namespace fuselink;

namespace {

using State = RelayRegistry::State;
using Offer = RelayRegistry::Offer;

constexpr fuselink::sched::Nanos kNow{1'000'000'000};

/* Hostile words are in so much of the registry: its head and the first entries, those
 * of our processes among them. */
constexpr uint32_t kHostileWords = 1024;
constexpr uint32_t kLook         = 8; /* entries that are looked at */
constexpr size_t   kMostPlaces   = 64;

void check_offer(const Offer &offer)
{
    require(offer.slots > 0 && offer.slots <= RelayRegistry::kSlots);
    require(offer.slot_size > 0);
    require(offer.key_length <= Offer::kMostKey);
    require(offer.device_length <= Offer::kMostAddress);
    require(offer.iface_length <= Offer::kMostAddress);
    uint64_t end;
    require(!__builtin_add_overflow(
        offer.base, uint64_t{offer.slots} * offer.slot_size, &end));
}

class Run {
public:
    Run() : agent_(*registry_->join(ProcessId::self(), {1, 1 << 20}, kNow)),
            mine_(*registry_->join(ProcessId::self(), {2, 1 << 20}, kNow))
    {
    }

    void step(const Operation &operation)
    {
        const uint32_t entry = operation.where % kLook;
        switch (operation.kind) {
        case 0:
            write(operation.where, operation.number);
            break;
        case 1: /* in the name of somebody who lives */
            write(operation.where,
                  ProcessId::self().word() + operation.number % 2);
            break;
        case 2: /* such as the word of a slot */
            write(operation.where, (operation.number & 0xffff) |
                                       ProcessId::self().word() << 16);
            break;
        case 3:
            offer(operation);
            break;
        case 4:
            take(entry);
            break;
        case 5:
            if (const auto *place = at(operation)) {
                registry_->post(*place, mine_,
                            {operation.number, operation.where, 0,
                             operation.number % 2 != 0});
            }
            break;
        case 6:
            if (const auto *place = at(operation)) {
                if (registry_->revoke(*place, mine_)) {
                    registry_->give(*place, mine_);
                }
            }
            break;
        case 7:
            if (const auto *place = at(operation)) {
                registry_->give(*place, mine_);
            }
            break;
        case 8:
            work(operation);
            break;
        case 9:
            registry_->withdraw(agent_);
            registry_->sweep(agent_);
            break;
        case 10:
            registry_->demand(entry, fuselink::sched::Nanos(static_cast<int64_t>(operation.number)));
            registry_->need(agent_, fuselink::sched::Nanos(static_cast<int64_t>(operation.number)));
            registry_->wait(agent_, static_cast<uint32_t>(operation.number), {});
            break;
        case 11:
            if (auto late = registry_->join(ProcessId::self(), {3, 1}, kNow)) {
                require(*late < RelayRegistry::kEntries);
                take(*late);
                registry_->leave(*late);
            }
            break;
        default:
            look();
        }
    }

    void look() const
    {
        for (uint32_t entry = 0; entry < kLook; ++entry) {
            if (auto offer = registry_->offer_of(entry)) {
                check_offer(*offer);
            }
            (void)registry_->at(entry);
            (void)registry_->host_of(entry);
            (void)registry_->needed(entry);
            (void)registry_->lender(entry, kNow);
            (void)registry_->demanded(entry);
        }
        for (const auto &place : places_) {
            require(registry_->look(place, mine_) <= State::Failed);
        }
    }

private:
    void write(uint32_t where, uint64_t number)
    {
        registry_->overwrite(where % kHostileWords * sizeof(number), &number,
                         sizeof(number));
    }

    void offer(const Operation &operation)
    {
        Offer offer;
        offer.base          = operation.number;
        offer.slots         = operation.where % (RelayRegistry::kSlots + 2);
        offer.slot_size     = operation.where >> 8;
        offer.key_length    = operation.number % (Offer::kMostKey + 2);
        offer.device_length = operation.number >> 8 & 0x7f;
        offer.iface_length  = operation.number >> 16 & 0x7f;
        offer.on_demand       = operation.where >> 7 & 1;
        registry_->offer(agent_, offer);
    }

    void take(uint32_t entry)
    {
        auto offer = registry_->offer_of(entry);
        if (!offer) {
            return;
        }
        check_offer(*offer);
        auto place = registry_->take(entry, *offer, mine_);
        if (place) {
            require(place->entry == entry && place->slot < offer->slots);
            if (places_.size() == kMostPlaces) {
                places_.erase(places_.begin());
            }
            places_.push_back(*place);
        }
    }

    void work(const Operation &operation)
    {
        uint32_t       slot = UINT32_MAX;
        RelayRegistry::Job job;
        if (registry_->next(agent_, slot, job)) {
            require(slot < RelayRegistry::kSlots);
            if (operation.where % 2 != 0) {
                write(operation.where, operation.number); /* meanwhile */
            }
            registry_->done(agent_, slot, operation.number % 2 != 0);
        }
    }

    const RelayRegistry::SlotHandle *at(const Operation &operation) const
    {
        return places_.empty() ? nullptr :
                                 &places_[operation.where % places_.size()];
    }

    std::shared_ptr<RelayRegistry>    registry_ = RelayRegistry::make_private();
    uint32_t                      agent_, mine_;
    std::vector<RelayRegistry::SlotHandle> places_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Script    script(data, size);
    Operation operation;
    Run       run;
    while (script.next(operation)) {
        run.step(operation);
    }
    run.look();
    return 0;
}

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "relay_registry.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fuselink {
namespace {

/* "fuselha", the layout's version and what kind of keys are in it. */
constexpr uint64_t kMagic = 0x6675736c68610700;

/* One for each user, for those who only look. */
constexpr size_t kMostWatched = 64;

using State = RelayRegistry::State;

constexpr uint64_t kFree = 0;

/* A word: 8 bits of state, 8 for the entry of who has taken it, from 1 on, and
 * the lower 48 of his ProcessId, which are its pid and start. */
constexpr unsigned kEntryShift = 8, kProcessShift = 16;

State state_of(uint64_t word)
{
    return static_cast<State>(word & 0xff);
}

uint64_t with_state(uint64_t word, State state)
{
    return (word & ~uint64_t{0xff}) | static_cast<uint64_t>(state);
}

uint32_t taker_of(uint64_t word)
{
    return static_cast<uint32_t>(word >> kEntryShift & 0xff) - 1;
}

/* What is written here is seen after the number before it, and what is read here
 * before the number that is read next: acquire and release of each word, not
 * fences, which the thread sanitizer does not know. */
template <size_t N>
void write_words(std::atomic<uint64_t> (&words)[N], const void *from)
{
    for (size_t i = 0; i < N; ++i) {
        uint64_t word;
        memcpy(&word, static_cast<const char *>(from) + 8 * i, 8);
        words[i].store(word, std::memory_order_release);
    }
}

template <size_t N>
void read_words(void *to, const std::atomic<uint64_t> (&words)[N])
{
    for (size_t i = 0; i < N; ++i) {
        uint64_t word = words[i].load(std::memory_order_acquire);
        memcpy(static_cast<char *>(to) + 8 * i, &word, 8);
    }
}

} // namespace

uint64_t RelayRegistry::word_of(State state, uint32_t taker) const
{
    return static_cast<uint64_t>(state) |
           static_cast<uint64_t>(taker + 1) << kEntryShift |
           entry(taker).process.load(std::memory_order_relaxed)
               << kProcessShift;
}

std::shared_ptr<RelayRegistry> RelayRegistry::open(uint8_t kind, std::string &error)
{
    auto shared = SharedSegment::open(kMagic | kind, sizeof(Segment), error);
    if (!shared) {
        return nullptr;
    }
    std::shared_ptr<RelayRegistry> registry(new RelayRegistry(Processes::real()));
    registry->segment_ = static_cast<Segment *>(shared->memory());
    registry->owner_   = shared->owner();
    registry->shared_  = std::move(shared);
    return registry;
}

std::vector<std::shared_ptr<const RelayRegistry>> RelayRegistry::watch(uint8_t kind)
{
    std::vector<std::shared_ptr<const RelayRegistry>> registries;
    for (auto &shared : SharedSegment::watch(kMagic | kind, sizeof(Segment), kMostWatched)) {
        std::shared_ptr<RelayRegistry> registry(new RelayRegistry(Processes::real()));
        registry->segment_ = static_cast<Segment *>(shared->memory());
        registry->owner_   = shared->owner();
        registry->shared_  = std::move(shared);
        registries.push_back(std::move(registry));
    }
    return registries;
}

std::shared_ptr<RelayRegistry> RelayRegistry::make_private(Processes &processes)
{
    std::shared_ptr<RelayRegistry> registry(new RelayRegistry(processes));
    registry->own_     = std::make_shared<Segment>();
    registry->segment_ = registry->own_.get();
    return registry;
}

std::shared_ptr<RelayRegistry> RelayRegistry::seen_by(Processes &processes) const
{
    std::shared_ptr<RelayRegistry> registry(new RelayRegistry(processes));
    registry->shared_  = shared_;
    registry->own_     = own_;
    registry->segment_ = segment_;
    return registry;
}

bool RelayRegistry::is_gone(uint64_t who) const
{
    return processes_.life(ProcessId(who)) == ProcessId::Life::Gone;
}

void RelayRegistry::clear(Entry &entry)
{
    entry.offers.fetch_or(1); /* before the slots: see take() */
    for (Slot &slot : entry.slots) {
        slot.word.store(kFree);
    }
}

/* To be asked again when it is taken: its owner may just have come to life. */
bool RelayRegistry::is_free_for(uint32_t index, uint64_t who,
                            sched::Nanos now) const
{
    switch (processes_.life(ProcessId(who))) {
    case ProcessId::Life::Running:
        return false;
    case ProcessId::Life::Gone:
        return true;
    case ProcessId::Life::Unknown:
        break;
    }
    return now - sched::Nanos(entry(index).stamp.load()) > kForgotten;
}

/* Who finds his entry empty, or another's, in keep() does not use it; and who takes
 * it from him looks whether he has called keep() meanwhile. So one of the two
 * sees the other. */
std::optional<uint32_t> RelayRegistry::join(ProcessId me, const Host &host,
                                       sched::Nanos now)
{
    for (bool over_the_dead : {false, true}) {
        for (uint32_t i = 0; i < kEntries; ++i) {
            uint64_t who = entry(i).process.load(std::memory_order_acquire);
            if (who != 0 && (!over_the_dead || !is_free_for(i, who, now))) {
                continue;
            }
            const uint64_t before = who;
            if (entry(i).process.compare_exchange_strong(who, me.word())) {
                if (before != 0 && !is_free_for(i, before, now)) {
                    entry(i).process.store(before);
                    continue;
                }
                clear(entry(i));
                entry(i).stamp.store(now.count());
                entry(i).needed.store(0, std::memory_order_relaxed);
                entry(i).demanded.store(0, std::memory_order_relaxed);
                for (auto *sums : {&entry(i).copied, &entry(i).by_nics}) {
                    for (auto &sum : *sums) {
                        sum.store(0, std::memory_order_relaxed);
                    }
                }
                entry(i).host_size.store(host.size, std::memory_order_relaxed);
                entry(i).host_magic.store(host.magic,
                                         std::memory_order_release);
                return i;
            }
        }
    }
    return {};
}

bool RelayRegistry::keep(uint32_t index, sched::Nanos now)
{
    entry(index).stamp.store(now.count());
    return entry(index).process.load() == processes_.self().word();
}

void RelayRegistry::leave(uint32_t index)
{
    if (entry(index).process.load() != processes_.self().word()) {
        return;
    }
    clear(entry(index));
    entry(index).host_magic.store(0, std::memory_order_relaxed);
    entry(index).process.store(0, std::memory_order_release);
}

std::optional<ProcessId> RelayRegistry::at(uint32_t index) const
{
    uint64_t who = entry(index).process.load(std::memory_order_acquire);
    return who == 0 ? std::optional<ProcessId>() : ProcessId(who);
}

RelayRegistry::Host RelayRegistry::host_of(uint32_t index) const
{
    return {entry(index).host_magic.load(std::memory_order_acquire),
            entry(index).host_size.load(std::memory_order_relaxed)};
}

std::optional<RelayRegistry::Offer> RelayRegistry::offer_of(uint32_t index) const
{
    const Entry &from = entry(index);
    uint32_t before  = from.offers.load(std::memory_order_acquire);
    if (before == 0 || before % 2 != 0) {
        return {};
    }
    Offer offer;
    read_words(&offer, from.offer);
    if (from.offers.load(std::memory_order_relaxed) != before ||
        offer.process != from.process.load(std::memory_order_relaxed) ||
        offer.slots == 0 || offer.slots > kSlots || offer.slot_size == 0 ||
        offer.key_length > Offer::kMostKey ||
        offer.device_length > Offer::kMostAddress ||
        offer.iface_length > Offer::kMostAddress ||
        offer.base + uint64_t{offer.slots} * offer.slot_size < offer.base) {
        return {};
    }
    offer.number = before;
    return offer;
}

void RelayRegistry::offer(uint32_t index, Offer offer)
{
    Entry    &to   = entry(index);
    uint32_t now  = to.offers.load(std::memory_order_relaxed) | 1;
    offer.process = to.process.load(std::memory_order_relaxed);
    to.offers.store(now, std::memory_order_relaxed);
    write_words(to.offer, &offer);
    to.offers.store(now + 1, std::memory_order_release);
}

void RelayRegistry::demand(uint32_t index, sched::Nanos now)
{
    entry(index).demanded.store(now.count(), std::memory_order_relaxed);
    notify(index);
}

void RelayRegistry::withdraw(uint32_t index)
{
    entry(index).offers.fetch_or(1);
}

/* Between a look at the offer and the slot the agent may have withdrawn it, found
 * all slots free and freed the memory. So who takes one looks at the offer again,
 * and the agent withdraws before it looks at the slots: one sees the other. */
std::optional<RelayRegistry::SlotHandle>
RelayRegistry::take(uint32_t index, const Offer &offer, uint32_t mine)
{
    Entry &agent      = entry(index);
    auto  is_offered = [&] {
        return agent.offers.load() == offer.number &&
               agent.process.load() == offer.process;
    };
    const uint64_t taken = word_of(State::Taken, mine);
    for (uint32_t i = 0; is_offered() && offer.on_demand == 0 &&
                         i < std::min(offer.slots, kSlots); ++i) {
        Slot    &slot = agent.slots[i];
        uint64_t word = kFree;
        if (slot.word.load(std::memory_order_relaxed) != kFree ||
            !slot.word.compare_exchange_strong(word, taken)) {
            continue;
        }
        if (is_offered()) {
            return SlotHandle{index, offer.process, offer.number, i};
        }
        word = taken;
        slot.word.compare_exchange_strong(word, kFree);
    }
    return {};
}

void RelayRegistry::post(const SlotHandle &place, uint32_t mine, const Job &job)
{
    Entry &agent = entry(place.entry);
    Slot &slot  = agent.slots[place.slot];
    slot.host_offset.store(job.host_offset, std::memory_order_relaxed);
    slot.length.store(job.length, std::memory_order_relaxed);
    slot.out.store(job.out, std::memory_order_relaxed);
    slot.order.store(agent.posted.fetch_add(1) + 1,
                     std::memory_order_relaxed);
    uint64_t taken = word_of(State::Taken, mine);
    if (slot.word.compare_exchange_strong(taken,
                                          word_of(State::Posted, mine))) {
        notify(place.entry);
    }
}

RelayRegistry::State RelayRegistry::look(const SlotHandle &place,
                                         uint32_t          mine) const
{
    const Entry &agent = entry(place.entry);
    uint64_t    word  = agent.slots[place.slot].word.load(
        std::memory_order_acquire);
    if (agent.process.load(std::memory_order_relaxed) != place.process ||
        (agent.offers.load(std::memory_order_relaxed) | 1) !=
            (place.number | 1)) {
        return State::Failed; /* its entry is another's by now */
    }
    for (State state :
         {State::Taken, State::Posted, State::Running, State::Done}) {
        if (word == word_of(state, mine)) {
            return state;
        }
    }
    return State::Failed;
}

bool RelayRegistry::revoke(const SlotHandle &place, uint32_t mine)
{
    uint64_t word = word_of(State::Posted, mine);
    return entry(place.entry).slots[place.slot].word.compare_exchange_strong(
        word, word_of(State::Taken, mine));
}

void RelayRegistry::give(const SlotHandle &place, uint32_t mine)
{
    Slot &slot = entry(place.entry).slots[place.slot];
    for (State state : {State::Done, State::Failed, State::Taken}) {
        uint64_t word = word_of(state, mine);
        if (slot.word.compare_exchange_strong(word, kFree)) {
            return;
        }
    }
}

bool RelayRegistry::next(uint32_t index, uint32_t &found, Job &job)
{
    Entry &own = entry(index);
    for (uint32_t tries = 0; tries < kSlots; ++tries) {
        uint64_t best = UINT64_MAX, word = 0;
        for (uint32_t i = 0; i < kSlots; ++i) {
            uint64_t one   = own.slots[i].word.load(std::memory_order_acquire);
            uint64_t order = own.slots[i].order.load(std::memory_order_relaxed);
            if (state_of(one) == State::Posted && order < best) {
                best  = order;
                word  = one;
                found = i;
            }
        }
        if (best == UINT64_MAX) {
            return false;
        }
        Slot &slot = own.slots[found];
        job.entry   = taker_of(word);
        if (job.entry < kEntries) { /* first: it is his if he has that entry then */
            job.host = host_of(job.entry);
        }
        if (job.entry >= kEntries ||
            !is_taker(entry(job.entry).process.load(std::memory_order_acquire),
                      word)) {
            slot.word.compare_exchange_strong(word, kFree);
            continue;
        }
        if (slot.word.compare_exchange_strong(
                word, with_state(word, State::Running))) {
            job.host_offset = slot.host_offset.load(std::memory_order_relaxed);
            job.length      = slot.length.load(std::memory_order_relaxed);
            job.out         = slot.out.load(std::memory_order_relaxed) != 0;
            return true;
        } /* else it was taken back */
    }
    return false;
}

void RelayRegistry::done(uint32_t index, uint32_t which, bool well)
{
    Slot    &slot = entry(index).slots[which];
    uint64_t word = slot.word.load(std::memory_order_relaxed);
    if (state_of(word) == State::Running) { /* else somebody scribbled on it */
        slot.word.compare_exchange_strong(
            word, with_state(word, well ? State::Done : State::Failed));
    }
}

bool RelayRegistry::is_taker(uint64_t who, uint64_t word) const
{
    return who << kProcessShift == (word >> kProcessShift) << kProcessShift;
}

/* Who has another entry by now, or none, uses no slot any more either. */
bool RelayRegistry::taker_is_gone(uint64_t word) const
{
    uint32_t taker = taker_of(word);
    if (taker >= kEntries) {
        return true;
    }
    uint64_t who = entry(taker).process.load(std::memory_order_acquire);
    return !is_taker(who, word) || is_gone(who);
}

bool RelayRegistry::sweep(uint32_t index)
{
    bool all_free = true;
    for (Slot &slot : entry(index).slots) {
        uint64_t word = slot.word.load();
        if (word != kFree &&
            (state_of(word) == State::Running || !taker_is_gone(word) ||
             !slot.word.compare_exchange_strong(word, kFree))) {
            all_free = false;
        }
    }
    return all_free;
}

uint32_t RelayRegistry::wait(uint32_t index, uint32_t heard, sched::Nanos most)
{
    auto    &notices = entry(index).notices;
    timespec time{most.count() / 1000000000, most.count() % 1000000000};
    if (notices.load(std::memory_order_acquire) == heard && most.count() > 0) {
        syscall(SYS_futex, &notices, FUTEX_WAIT, heard, &time, nullptr, 0);
    }
    return notices.load(std::memory_order_acquire);
}

void RelayRegistry::notify(uint32_t index)
{
    auto &notices = entry(index).notices;
    notices.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &notices, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

std::optional<RelayRegistry::Lender> RelayRegistry::lender(uint32_t index,
                                                          sched::Nanos now) const
{
    const auto offer = offer_of(index);
    if (!offer || is_gone(offer->process)) {
        return {};
    }
    const Entry &from = entry(index);
    Lender       lender{*offer, needed(index) > now,
                  from.copied[1].load(std::memory_order_relaxed),
                  from.copied[0].load(std::memory_order_relaxed),
                  from.by_nics[1].load(std::memory_order_relaxed),
                  from.by_nics[0].load(std::memory_order_relaxed), {}};
    for (const Slot &slot : from.slots) {
        const uint64_t word = slot.word.load(std::memory_order_acquire);
        if (word == kFree || taker_of(word) >= kEntries || taker_is_gone(word)) {
            continue;
        }
        const ProcessId who(entry(taker_of(word)).process.load(std::memory_order_relaxed));
        auto use = std::find_if(lender.uses.begin(), lender.uses.end(),
                                [&](const Use &one) { return one.who == who; });
        if (use == lender.uses.end()) {
            use = lender.uses.insert(use, Use{who});
        }
        ++(state_of(word) == State::Posted  ? use->waiting :
           state_of(word) == State::Running ? use->copied : use->hopping);
    }
    return lender;
}

void RelayRegistry::overwrite(size_t offset, const void *bytes, size_t size)
{
    if (offset < sizeof(*segment_)) {
        memcpy(reinterpret_cast<char *>(segment_) + offset, bytes,
               std::min(size, sizeof(*segment_) - offset));
    }
}

} // namespace fuselink

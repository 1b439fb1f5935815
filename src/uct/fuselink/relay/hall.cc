/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "hall.h"

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
constexpr uint64_t kMagic = 0x6675736c68610400;

using State = RelayHall::State;

constexpr uint64_t kFree = 0;

/* A word: 8 bits of state, 8 for the seat of who has taken it, from 1 on, and
 * the lower 48 of his ProcessId, which are its pid and start. */
constexpr unsigned kSeatShift = 8, kProcessShift = 16;

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
    return static_cast<uint32_t>(word >> kSeatShift & 0xff) - 1;
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

uint64_t RelayHall::word_of(State state, uint32_t taker) const
{
    return static_cast<uint64_t>(state) |
           static_cast<uint64_t>(taker + 1) << kSeatShift |
           seat(taker).process.load(std::memory_order_relaxed)
               << kProcessShift;
}

std::shared_ptr<RelayHall> RelayHall::open(uint8_t kind, std::string &error)
{
    auto shared = SharedSegment::open(kMagic | kind, sizeof(Segment), error);
    if (!shared) {
        return nullptr;
    }
    std::shared_ptr<RelayHall> hall(new RelayHall(Processes::real()));
    hall->segment_ = static_cast<Segment *>(shared->memory());
    hall->shared_  = std::move(shared);
    return hall;
}

std::shared_ptr<RelayHall> RelayHall::make_private(Processes &processes)
{
    std::shared_ptr<RelayHall> hall(new RelayHall(processes));
    hall->own_     = std::make_shared<Segment>();
    hall->segment_ = hall->own_.get();
    return hall;
}

std::shared_ptr<RelayHall> RelayHall::seen_by(Processes &processes) const
{
    std::shared_ptr<RelayHall> hall(new RelayHall(processes));
    hall->shared_  = shared_;
    hall->own_     = own_;
    hall->segment_ = segment_;
    return hall;
}

bool RelayHall::is_gone(uint64_t who) const
{
    return processes_.life(ProcessId(who)) == ProcessId::Life::Gone;
}

void RelayHall::clear(Seat &seat)
{
    seat.offers.fetch_or(1); /* before the slots: see take() */
    for (Slot &slot : seat.slots) {
        slot.word.store(kFree);
    }
}

/* To be asked again when it is taken: its owner may just have come to life. */
bool RelayHall::is_free_for(uint32_t index, uint64_t who,
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
    return now - sched::Nanos(seat(index).stamp.load()) > kForgotten;
}

/* Who finds his seat empty, or another's, in keep() does not use it; and who takes
 * it from him looks whether he has called keep() meanwhile. So one of the two
 * sees the other. */
std::optional<uint32_t> RelayHall::sit(ProcessId me, const Host &host,
                                       sched::Nanos now)
{
    for (bool over_the_dead : {false, true}) {
        for (uint32_t i = 0; i < kSeats; ++i) {
            uint64_t who = seat(i).process.load(std::memory_order_acquire);
            if (who != 0 && (!over_the_dead || !is_free_for(i, who, now))) {
                continue;
            }
            const uint64_t before = who;
            if (seat(i).process.compare_exchange_strong(who, me.word())) {
                if (before != 0 && !is_free_for(i, before, now)) {
                    seat(i).process.store(before);
                    continue;
                }
                clear(seat(i));
                seat(i).stamp.store(now.count());
                seat(i).needed.store(0, std::memory_order_relaxed);
                seat(i).wanted.store(0, std::memory_order_relaxed);
                seat(i).host_size.store(host.size, std::memory_order_relaxed);
                seat(i).host_magic.store(host.magic,
                                         std::memory_order_release);
                return i;
            }
        }
    }
    return {};
}

bool RelayHall::keep(uint32_t index, sched::Nanos now)
{
    seat(index).stamp.store(now.count());
    return seat(index).process.load() == processes_.self().word();
}

void RelayHall::stand_up(uint32_t index)
{
    if (seat(index).process.load() != processes_.self().word()) {
        return;
    }
    clear(seat(index));
    seat(index).host_magic.store(0, std::memory_order_relaxed);
    seat(index).process.store(0, std::memory_order_release);
}

std::optional<ProcessId> RelayHall::at(uint32_t index) const
{
    uint64_t who = seat(index).process.load(std::memory_order_acquire);
    return who == 0 ? std::optional<ProcessId>() : ProcessId(who);
}

RelayHall::Host RelayHall::host_of(uint32_t index) const
{
    return {seat(index).host_magic.load(std::memory_order_acquire),
            seat(index).host_size.load(std::memory_order_relaxed)};
}

std::optional<RelayHall::Offer> RelayHall::offer_of(uint32_t index) const
{
    const Seat &from = seat(index);
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

void RelayHall::offer(uint32_t index, Offer offer)
{
    Seat    &to   = seat(index);
    uint32_t now  = to.offers.load(std::memory_order_relaxed) | 1;
    offer.process = to.process.load(std::memory_order_relaxed);
    to.offers.store(now, std::memory_order_relaxed);
    write_words(to.offer, &offer);
    to.offers.store(now + 1, std::memory_order_release);
}

void RelayHall::want(uint32_t index, sched::Nanos now)
{
    seat(index).wanted.store(now.count(), std::memory_order_relaxed);
    ring(index);
}

void RelayHall::withdraw(uint32_t index)
{
    seat(index).offers.fetch_or(1);
}

/* Between a look at the offer and the slot the agent may have withdrawn it, found
 * all slots free and freed the memory. So who takes one looks at the offer again,
 * and the agent withdraws before it looks at the slots: one sees the other. */
std::optional<RelayHall::Place>
RelayHall::take(uint32_t index, const Offer &offer, uint32_t mine)
{
    Seat &agent      = seat(index);
    auto  is_offered = [&] {
        return agent.offers.load() == offer.number &&
               agent.process.load() == offer.process;
    };
    const uint64_t taken = word_of(State::Taken, mine);
    for (uint32_t i = 0; is_offered() && offer.on_wish == 0 &&
                         i < std::min(offer.slots, kSlots); ++i) {
        Slot    &slot = agent.slots[i];
        uint64_t word = kFree;
        if (slot.word.load(std::memory_order_relaxed) != kFree ||
            !slot.word.compare_exchange_strong(word, taken)) {
            continue;
        }
        if (is_offered()) {
            return Place{index, offer.process, offer.number, i};
        }
        word = taken;
        slot.word.compare_exchange_strong(word, kFree);
    }
    return {};
}

void RelayHall::post(const Place &place, uint32_t mine, const Job &job)
{
    Seat &agent = seat(place.seat);
    Slot &slot  = agent.slots[place.slot];
    slot.host_offset.store(job.host_offset, std::memory_order_relaxed);
    slot.length.store(job.length, std::memory_order_relaxed);
    slot.out.store(job.out, std::memory_order_relaxed);
    slot.order.store(agent.posted.fetch_add(1) + 1,
                     std::memory_order_relaxed);
    uint64_t taken = word_of(State::Taken, mine);
    if (slot.word.compare_exchange_strong(taken,
                                          word_of(State::Posted, mine))) {
        ring(place.seat);
    }
}

RelayHall::State RelayHall::look(const Place &place, uint32_t mine) const
{
    const Seat &agent = seat(place.seat);
    uint64_t    word  = agent.slots[place.slot].word.load(
        std::memory_order_acquire);
    if (agent.process.load(std::memory_order_relaxed) != place.process ||
        (agent.offers.load(std::memory_order_relaxed) | 1) !=
            (place.number | 1)) {
        return State::Failed; /* its seat is another's by now */
    }
    for (State state :
         {State::Taken, State::Posted, State::Running, State::Done}) {
        if (word == word_of(state, mine)) {
            return state;
        }
    }
    return State::Failed;
}

bool RelayHall::revoke(const Place &place, uint32_t mine)
{
    uint64_t word = word_of(State::Posted, mine);
    return seat(place.seat).slots[place.slot].word.compare_exchange_strong(
        word, word_of(State::Taken, mine));
}

void RelayHall::give(const Place &place, uint32_t mine)
{
    Slot &slot = seat(place.seat).slots[place.slot];
    for (State state : {State::Done, State::Failed, State::Taken}) {
        uint64_t word = word_of(state, mine);
        if (slot.word.compare_exchange_strong(word, kFree)) {
            return;
        }
    }
}

bool RelayHall::next(uint32_t index, uint32_t &found, Job &job)
{
    Seat &own = seat(index);
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
        job.seat   = taker_of(word);
        if (job.seat < kSeats) { /* first: it is his if he sits there then */
            job.host = host_of(job.seat);
        }
        if (job.seat >= kSeats ||
            !is_taker(seat(job.seat).process.load(std::memory_order_acquire),
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

void RelayHall::done(uint32_t index, uint32_t which, bool well)
{
    Slot    &slot = seat(index).slots[which];
    uint64_t word = slot.word.load(std::memory_order_relaxed);
    if (state_of(word) == State::Running) { /* else somebody scribbled on it */
        slot.word.compare_exchange_strong(
            word, with_state(word, well ? State::Done : State::Failed));
    }
}

bool RelayHall::is_taker(uint64_t who, uint64_t word) const
{
    return who << kProcessShift == (word >> kProcessShift) << kProcessShift;
}

/* Who sits elsewhere by now, or not at all, uses no slot any more either. */
bool RelayHall::taker_is_gone(uint64_t word) const
{
    uint32_t taker = taker_of(word);
    if (taker >= kSeats) {
        return true;
    }
    uint64_t who = seat(taker).process.load(std::memory_order_acquire);
    return !is_taker(who, word) || is_gone(who);
}

bool RelayHall::sweep(uint32_t index)
{
    bool all_free = true;
    for (Slot &slot : seat(index).slots) {
        uint64_t word = slot.word.load();
        if (word != kFree &&
            (state_of(word) == State::Running || !taker_is_gone(word) ||
             !slot.word.compare_exchange_strong(word, kFree))) {
            all_free = false;
        }
    }
    return all_free;
}

uint32_t RelayHall::wait(uint32_t index, uint32_t heard, sched::Nanos most)
{
    auto    &bell = seat(index).bell;
    timespec time{most.count() / 1000000000, most.count() % 1000000000};
    if (bell.load(std::memory_order_acquire) == heard && most.count() > 0) {
        syscall(SYS_futex, &bell, FUTEX_WAIT, heard, &time, nullptr, 0);
    }
    return bell.load(std::memory_order_acquire);
}

void RelayHall::ring(uint32_t index)
{
    auto &bell = seat(index).bell;
    bell.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void RelayHall::overwrite(size_t offset, const void *bytes, size_t size)
{
    if (offset < sizeof(*segment_)) {
        memcpy(reinterpret_cast<char *>(segment_) + offset, bytes,
               std::min(size, sizeof(*segment_) - offset));
    }
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "board_seat.h"

#include "board_layout.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fuselink {

using board::kNics;
using board::kSeats;

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/* The word has one writer, so this needs no locked instruction. */
void add(board::Word &word, uint64_t bytes)
{
    word.store(word.load(kRelaxed) + bytes, kRelaxed);
}

void subtract(board::Word &word, uint64_t bytes)
{
    uint64_t was = word.load(kRelaxed);
    word.store(was - std::min(was, bytes), kRelaxed);
}

} // namespace

std::unique_ptr<BoardSeat> BoardSeat::take(std::shared_ptr<Board> board,
                                           const Settings &settings,
                                           int64_t now)
{
    board::Segment &segment = *board->segment_;
    const uint64_t  self    = board->processes_.self().word();
    /* Those of processes that are gone only when nothing else is left. */
    for (bool cleared : {false, true}) {
        for (unsigned i = 0; i < kSeats; ++i) {
            if (cleared) {
                board->clear_if_gone(i, true, now);
            }
            uint64_t nobody = 0;
            if (!segment.seats[i].owner.compare_exchange_strong(nobody, self)) {
                continue;
            }
            uint64_t used = segment.seats_used.load(kRelaxed);
            while (used < i + 1 &&
                   !segment.seats_used.compare_exchange_weak(used, i + 1)) {
            }
            std::unique_ptr<BoardSeat> seat(new BoardSeat);
            seat->board_    = std::move(board);
            seat->settings_ = settings;
            seat->self_     = self;
            seat->index_    = i;
            seat->enter(now);
            return seat;
        }
    }
    return nullptr;
}

void BoardSeat::enter(int64_t now)
{
    board::Seat &seat = board_->segment_->seats[index_];
    char name[16]     = {};
    memcpy(name, program_invocation_short_name,
           std::min(strlen(program_invocation_short_name), sizeof(name) - 1));
    for (int i = 0; i < 2; ++i) {
        uint64_t word;
        memcpy(&word, name + 8 * i, 8);
        seat.name[i].store(word, kRelaxed);
    }
    seat.job.store(settings_.job, kRelaxed);
    seat.rank.store(static_cast<uint64_t>(settings_.priority), kRelaxed);
    seat.stamp.store(static_cast<uint64_t>(now), kRelaxed);
    seat.nics.store(0, kRelaxed);
    seat.direct.store(0, kRelaxed);
    seat.claims.store(0, kRelaxed);
    seat.bind({});
    seat.state.store(board::kSeatTaken, std::memory_order_release);
}

BoardSeat::~BoardSeat()
{
    board::Seat &seat = board_->segment_->seats[index_];
    if (!lost_ &&
        seat.owner.load(kRelaxed) == board_->processes_.self().word()) {
        board_->clear(index_);
    }
}

/* Not for a NIC that found no place on the board, and if another sits here by now. */
bool BoardSeat::ours(int nic) const
{
    return nic >= 0 && !lost_ &&
           board_->segment_->seats[index_].owner.load(kRelaxed) == self_;
}

board::Cell *BoardSeat::cell(int nic, Direction direction) const
{
    if (!ours(nic)) {
        return nullptr;
    }
    return &board_->segment_->cells[index_][nics_[static_cast<size_t>(nic)]]
                                   [static_cast<size_t>(direction)];
}

int BoardSeat::add_nic(const std::string &device, uint64_t speed)
{
    int nic = board_->enter_nic(device, speed);
    if (nic < 0 || lost_) {
        return -1;
    }
    auto &mask = board_->segment_->seats[index_].nics;
    mask.store(mask.load(kRelaxed) | uint64_t{1} << nic, kRelaxed);
    nics_.push_back(static_cast<uint8_t>(nic));
    return static_cast<int>(nics_.size()) - 1;
}

void BoardSeat::own(int nic, Claim claim)
{
    if (!ours(nic)) {
        return;
    }
    const uint64_t bit = uint64_t{1} << nics_[static_cast<size_t>(nic)];
    own_    = claim == Claim::Everybody ? own_ | bit : own_ & ~bit;
    claims_ = claim == Claim::OtherJobs ? claims_ | bit : claims_ & ~bit;
    board::Seat &seat = board_->segment_->seats[index_];
    seat.direct.store(own_, kRelaxed);
    seat.claims.store(claims_, kRelaxed);
}

void BoardSeat::owners(std::vector<uint32_t> &counts) const
{
    const unsigned used = board_->seats_used();
    counts.assign(nics_.size(), 0);
    for (unsigned i = 0; i < used; ++i) {
        if (i == index_ || !board_->present(i)) {
            continue;
        }
        const board::Seat &seat = board_->segment_->seats[i];
        const uint64_t     owns = seat.direct.load(kRelaxed) |
                              seat.claims.load(kRelaxed);
        for (size_t n = 0; n < nics_.size(); ++n) {
            counts[n] += owns >> nics_[n] & 1;
        }
    }
}

void BoardSeat::bind(const CpuSet &cpus)
{
    if (!lost_) {
        board_->segment_->seats[index_].bind(cpus);
    }
}

unsigned BoardSeat::place() const
{
    unsigned before = 0;
    for (unsigned i = 0; i < index_; ++i) {
        before += board_->present(i) &&
                  board_->segment_->seats[i].job.load(kRelaxed) ==
                      settings_.job;
    }
    return before;
}

void BoardSeat::posted(int nic, Direction direction, uint64_t bytes,
                       int64_t now)
{
    if (board::Cell *c = cell(nic, direction)) {
        add(c->in_flight, bytes);
        c->stamp.store(static_cast<uint64_t>(now), kRelaxed);
    }
}

void BoardSeat::ended(int nic, Direction direction, uint64_t bytes,
                      bool arrived, bool borrowed, int64_t now)
{
    board::Cell *c = cell(nic, direction);
    if (c == nullptr) {
        return;
    }
    subtract(c->in_flight, bytes);
    if (arrived) {
        add(c->completed, bytes);
        if (borrowed) {
            add(c->borrowed, bytes);
        }
    }
    c->stamp.store(static_cast<uint64_t>(now), kRelaxed);
}

void BoardSeat::set_in_flight(int nic, Direction direction, uint64_t bytes,
                              int64_t now)
{
    board::Cell *c = cell(nic, direction);
    if (c == nullptr ||
        (bytes == 0 && c->in_flight.load(kRelaxed) == 0)) {
        return;
    }
    c->in_flight.store(bytes, kRelaxed);
    c->stamp.store(static_cast<uint64_t>(now), kRelaxed);
}

void BoardSeat::set_health(int nic, const NicHealth &health)
{
    if (ours(nic)) {
        board_->segment_->health[index_][nics_[static_cast<size_t>(nic)]].write(
            health);
    }
}

/* Siblings are alike: what one of them claims is to all of them as good as nobody's. */
uint64_t BoardSeat::claims_of_job(unsigned used) const
{
    uint64_t claims = claims_;
    for (unsigned i = 0; i < used; ++i) {
        const board::Seat &seat = board_->segment_->seats[i];
        if (i != index_ && board_->present(i) &&
            seat.job.load(kRelaxed) == settings_.job) {
            claims |= seat.claims.load(kRelaxed);
        }
    }
    return claims;
}

void BoardSeat::read(Direction direction, int64_t now,
                     std::vector<Load> &loads) const
{
    const board::Segment &segment = *board_->segment_;
    const auto            way     = static_cast<size_t>(direction);
    const unsigned        used    = board_->seats_used();
    const uint64_t        ours    = claims_of_job(used);
    loads.assign(nics_.size(), Load{});
    for (unsigned i = 0; i < used; ++i) {
        if (i == index_ || !board_->present(i)) {
            continue;
        }
        const board::Seat &seat = segment.seats[i];
        const uint64_t nics     = seat.nics.load(kRelaxed);
        const uint64_t direct   = seat.direct.load(kRelaxed);
        const bool     sibling  = settings_.siblings &&
                             seat.job.load(kRelaxed) == settings_.job;
        const uint64_t claims   = seat.claims.load(kRelaxed) &
                                ~(sibling ? claims_ : ours);
        const auto priority     = static_cast<Priority>(
            std::min<uint64_t>(seat.rank.load(kRelaxed), 2));
        for (size_t n = 0; n < nics_.size(); ++n) {
            const uint64_t bit = uint64_t{1} << nics_[n];
            if ((nics & bit) == 0) {
                continue;
            }
            const board::Cell::Look cell =
                segment.cells[i][nics_[n]][way].look(now);
            const bool own  = (direct & bit) != 0 || ((claims & bit) != 0 && cell.claims);
            Load &load      = loads[n];
            load.owned      = load.owned || own;
            load.completed += cell.completed;
            if (!cell.active) {
                load.sharers += cell.recent;
                continue;
            }
            load.in_flight = std::min(load.in_flight + cell.flying,
                                      Board::kMostBytes);
            load.sharers  += 1;
            load.users    += 1;
            load.owner     = load.owner || own;
            load.highest   = std::max(load.highest, priority);
        }
    }
}

void BoardSeat::tick(int64_t now)
{
    board::Segment &segment = *board_->segment_;
    board::Seat    &seat    = segment.seats[index_];
    if (lost_ ||
        seat.owner.load(kRelaxed) != board_->processes_.self().word() ||
        !board_->present(index_)) {
        /* Somebody took us for dead, or wrote nonsense. Others may sit here
         * by now: no more from us. */
        lost_ = true;
        return;
    }
    seat.stamp.store(static_cast<uint64_t>(now), kRelaxed);
    const unsigned used = board_->seats_used();
    if (used > 1) {
        next_ = (next_ + 1) % (used * 16);
        /* Each seat often by the cheap question, now and then by the one that
         * knows zombies, pids that are used again and the silence of those
         * whose end cannot be seen. */
        board_->clear_if_gone(next_ % used, next_ < used, now);
    }
}

} // namespace fuselink

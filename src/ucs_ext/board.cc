/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "board.h"

#include "board_layout.h"
#include "hash.h"
#include "node.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace fuselink {

using board::kNics;
using board::kSeats;
using board::Word;

namespace {

/* Users whose boards are shown at once. */
constexpr size_t kMostWatched = 64;

constexpr auto kRelaxed = std::memory_order_relaxed;

/* Short texts in words; whatever others wrote, what comes out can be printed. */
template <size_t N>
void write_text(Word (&words)[N], const std::string &text)
{
    char bytes[N * 8] = {};
    memcpy(bytes, text.data(), std::min(text.size(), sizeof(bytes) - 1));
    for (size_t i = 0; i < N; ++i) {
        uint64_t word;
        memcpy(&word, bytes + 8 * i, 8);
        words[i].store(word, kRelaxed);
    }
}

template <size_t N> std::string read_text(const Word (&words)[N])
{
    std::string text;
    for (size_t i = 0; i < N; ++i) {
        uint64_t word = words[i].load(kRelaxed);
        for (int shift = 0; shift < 64; shift += 8) {
            auto c = static_cast<unsigned char>(word >> shift);
            if (c == 0) {
                return text;
            }
            text += isgraph(c) ? static_cast<char>(c) : '?';
        }
    }
    return text;
}

/* The same device of another network namespace is another NIC. */
uint64_t nic_key(const std::string &name)
{
    Hash hash(network_signature(0));
    hash.add(std::string_view(name));
    return hash.nonzero();
}

/* 8 MB, of which little is used: pages that nobody touches cost nothing. */
std::shared_ptr<board::Segment> zeroed()
{
    void *memory = mmap(nullptr, sizeof(board::Segment), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        abort(); /* as `new` does */
    }
    return {static_cast<board::Segment *>(memory), [](board::Segment *segment) {
                munmap(segment, sizeof(*segment));
            }};
}

} // namespace

void board::Seat::bind(const CpuSet &set)
{
    for (unsigned word = 0; word < kCpuWords; ++word) {
        uint64_t bits = 0;
        for (unsigned i = 0; i < 64; ++i) {
            bits |= uint64_t{set[word * 64 + i]} << i;
        }
        cpus[word].store(bits, kRelaxed);
    }
}

CpuSet board::Seat::bound() const
{
    CpuSet set;
    for (unsigned word = 0; word < kCpuWords; ++word) {
        const uint64_t bits = cpus[word].load(kRelaxed);
        for (unsigned i = 0; bits != 0 && i < 64; ++i) {
            set[word * 64 + i] = bits >> i & 1;
        }
    }
    return set;
}

void board::Health::write(const NicHealth &health)
{
    state.store(static_cast<uint64_t>(health.state), kRelaxed);
    until.store(static_cast<uint64_t>(health.until), kRelaxed);
    since.store(static_cast<uint64_t>(health.since), kRelaxed);
    paths.store(health.paths, kRelaxed);
    paths_out.store(health.paths_out, kRelaxed);
    messages.store(health.messages, kRelaxed);
    breaks.store(health.breaks, kRelaxed);
    moves.store(health.moves, kRelaxed);
    resent.store(health.resent, kRelaxed);
    out.store(health.out, kRelaxed);
    longest.store(health.longest, kRelaxed);
    known.store(1, kRelaxed);
}

NicHealth board::Health::read(int64_t now) const
{
    const auto at_most = [](const Word &word, uint64_t most) {
        return std::min(word.load(kRelaxed), most);
    };
    NicHealth health;
    health.state = static_cast<NicState>(at_most(
        state, static_cast<uint64_t>(NicState::Down)));
    const auto rests = static_cast<int64_t>(until.load(kRelaxed));
    health.until = rests > now ?
                       std::min(rests, now + Board::kLongestRest) : 0;
    health.since     = past_instant(since, now);
    health.paths     = at_most(paths, Board::kMostEvents);
    health.paths_out = at_most(paths_out, health.paths);
    health.messages  = at_most(messages, Board::kMostEvents);
    health.breaks    = at_most(breaks, Board::kMostEvents);
    health.moves     = at_most(moves, Board::kMostEvents);
    health.resent    = at_most(resent, Board::kMostBytes);
    health.out       = at_most(out, Board::kMostTime);
    health.longest   = at_most(longest, Board::kMostTime);
    return health;
}

std::shared_ptr<Board> Board::open(std::string &error)
{
    static std::mutex           lock;
    static std::weak_ptr<Board> known;

    std::lock_guard<std::mutex> guard(lock);
    auto board = known.lock();
    if (board == nullptr) {
        auto shared = SharedSegment::open(board::kMagic,
                                          sizeof(board::Segment), error);
        if (shared == nullptr) {
            return nullptr;
        }
        board = std::shared_ptr<Board>(new Board(Processes::real()));
        board->use(std::move(shared));
        known = board;
    }
    return board;
}

void Board::use(std::unique_ptr<SharedSegment> shared)
{
    segment_ = static_cast<board::Segment *>(shared->memory());
    owner_   = shared->owner();
    shared_  = std::move(shared);
}

std::vector<std::shared_ptr<const Board>> Board::watch()
{
    std::vector<std::shared_ptr<const Board>> boards;
    for (auto &shared : SharedSegment::watch(
             board::kMagic, sizeof(board::Segment), kMostWatched)) {
        std::shared_ptr<Board> board(new Board(Processes::real()));
        board->use(std::move(shared));
        boards.push_back(std::move(board));
    }
    return boards;
}

std::shared_ptr<Board> Board::make_private(Processes &processes)
{
    std::shared_ptr<Board> board(new Board(processes));
    board->owner_   = geteuid();
    board->own_     = zeroed();
    board->segment_ = board->own_.get();
    return board;
}

std::shared_ptr<Board> Board::seen_by(Processes &processes) const
{
    std::shared_ptr<Board> board(new Board(processes));
    board->owner_   = owner_;
    board->shared_  = shared_;
    board->own_     = own_;
    board->segment_ = segment_;
    return board;
}

Board::~Board() = default;

int64_t Board::now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

unsigned Board::seats_used() const
{
    return static_cast<unsigned>(std::min<uint64_t>(
        segment_->seats_used.load(kRelaxed), kSeats));
}

bool Board::present(unsigned seat) const
{
    return segment_->seats[seat].state.load(std::memory_order_acquire) ==
           board::kSeatTaken;
}

Board::Bound Board::bound() const
{
    Bound all;
    for (unsigned seat = 0; seat < seats_used(); ++seat) {
        const CpuSet cpus = present(seat) ? segment_->seats[seat].bound() : CpuSet();
        all.cpus  |= cpus;
        all.seats += cpus.any();
    }
    return all;
}

/* Whoever calls owns the seat, or has taken it from one who is gone. */
void Board::clear(unsigned seat)
{
    board::Seat &s = segment_->seats[seat];
    s.state.store(board::kSeatFree, kRelaxed);
    for (auto &nic : segment_->cells[seat]) {
        for (auto &cell : nic) {
            if (cell.stamp.load(kRelaxed) != 0) {
                cell.in_flight.store(0, kRelaxed);
                cell.completed.store(0, kRelaxed);
                cell.borrowed.store(0, kRelaxed);
                cell.stamp.store(0, kRelaxed);
            }
        }
    }
    for (auto &health : segment_->health[seat]) {
        if (health.known.load(kRelaxed) != 0) {
            health.write({});
            health.known.store(0, kRelaxed);
        }
    }
    s.nics.store(0, kRelaxed);
    s.direct.store(0, kRelaxed);
    s.claims.store(0, kRelaxed);
    s.owner.store(0, std::memory_order_release);
}

bool Board::is_gone(unsigned seat, int64_t now) const
{
    const board::Seat &s = segment_->seats[seat];
    switch (processes_.life(ProcessId(s.owner.load(kRelaxed)))) {
    case ProcessId::Life::Running:
        return false;
    case ProcessId::Life::Gone:
        return true;
    case ProcessId::Life::Unknown:
        break;
    }
    return now - last_sign(seat) > kForgotten;
}

/* Who only receives does not tick, but its cells move. */
int64_t Board::last_sign(unsigned seat) const
{
    const board::Seat &s    = segment_->seats[seat];
    const uint64_t     nics = s.nics.load(kRelaxed);
    auto               last = static_cast<int64_t>(s.stamp.load(kRelaxed));
    for (unsigned nic = 0; nic < kNics; ++nic) {
        if ((nics >> nic & 1) == 0) {
            continue;
        }
        for (const auto &cell : segment_->cells[seat][nic]) {
            last = std::max(last,
                            static_cast<int64_t>(cell.stamp.load(kRelaxed)));
        }
    }
    return last;
}

/* The seat of a process that is no more is taken in our name first: should we
 * be killed in the middle, it will be cleared because of us. Only by the cheap
 * question unless `thorough`, see ProcessId. */
bool Board::clear_if_gone(unsigned seat, bool thorough, int64_t now)
{
    auto     &word  = segment_->seats[seat].owner;
    uint64_t  owner = word.load(kRelaxed);
    ProcessId id(owner);
    if (owner == 0 || id == processes_.self()) {
        return false;
    }
    bool gone = thorough ? is_gone(seat, now) : !processes_.may_run(id);
    if (!gone ||
        !word.compare_exchange_strong(owner, processes_.self().word())) {
        return false;
    }
    clear(seat);
    return true;
}

uint64_t Board::nics_in_use() const
{
    uint64_t used = 0;
    for (unsigned seat = 0; seat < seats_used(); ++seat) {
        if (present(seat)) {
            used |= segment_->seats[seat].nics.load(kRelaxed);
        }
    }
    return used;
}

/* The NIC's entry, made if there is none. -1 if there is no room. */
int Board::enter_nic(const std::string &name, uint64_t speed)
{
    const uint64_t key = nic_key(name);
    for (int round = 0; round < 2; ++round) {
        for (unsigned i = 0; i < kNics; ++i) {
            if (segment_->nics[i].key.load(std::memory_order_acquire) == key) {
                return static_cast<int>(i);
            }
        }
        /* In the second round those go that nobody has any more. */
        uint64_t used = round == 0 ? ~uint64_t{0} : nics_in_use();
        for (unsigned i = 0; i < kNics; ++i) {
            board::Nic &nic = segment_->nics[i];
            uint64_t    was = nic.key.load(kRelaxed);
            if (was == key) {
                return static_cast<int>(i); /* somebody else's, meanwhile */
            }
            if (was != 0 && (used >> i & 1) != 0) {
                continue;
            }
            if (nic.key.compare_exchange_strong(was, key)) {
                write_text(nic.name, name);
                nic.speed.store(speed, kRelaxed);
                return static_cast<int>(i);
            }
            if (was == key) {
                return static_cast<int>(i);
            }
        }
    }
    return -1;
}

std::vector<Board::Nic> Board::nics() const
{
    std::vector<Nic> found;
    uint64_t used = nics_in_use();
    for (unsigned i = 0; i < kNics; ++i) {
        const board::Nic &nic = segment_->nics[i];
        std::string name = read_text(nic.name);
        if ((used >> i & 1) != 0 &&
            nic.key.load(std::memory_order_acquire) == nic_key(name)) {
            found.push_back({i, std::move(name), nic.speed.load(kRelaxed)});
        }
    }
    return found;
}

std::vector<Board::Occupant> Board::occupants(int64_t now) const
{
    std::vector<Occupant> found;
    for (unsigned i = 0; i < seats_used(); ++i) {
        const board::Seat &seat = segment_->seats[i];
        ProcessId id(seat.owner.load(kRelaxed));
        if (!present(i) || is_gone(i, now)) {
            continue;
        }
        Occupant who{.seat = i, .process = id, .pid = id.pid(),
                     .name = read_text(seat.name)};
        who.job      = seat.job.load(kRelaxed);
        who.priority = static_cast<Priority>(
            std::min<uint64_t>(seat.rank.load(kRelaxed), 2));
        uint64_t nics = seat.nics.load(kRelaxed);
        uint64_t own  = seat.direct.load(kRelaxed) | seat.claims.load(kRelaxed);
        for (unsigned nic = 0; nic < kNics; ++nic) {
            if ((nics >> nic & 1) == 0) {
                continue;
            }
            for (auto direction : {Direction::Out, Direction::In}) {
                const auto &cell =
                    segment_->cells[i][nic][static_cast<size_t>(direction)];
                const board::Cell::Look look = cell.look(now);
                Use use;
                use.nic       = nic;
                use.direction = direction;
                use.active    = look.active;
                use.in_flight = look.flying;
                use.completed = std::min(cell.completed.load(kRelaxed),
                                         kMostBytes * kSeats);
                use.borrowed  = std::min(cell.borrowed.load(kRelaxed),
                                         use.completed);
                use.own       = (own >> nic & 1) != 0;
                who.uses.push_back(use);
            }
            who.health.push_back({nic, segment_->health[i][nic].read(now)});
        }
        found.push_back(std::move(who));
    }
    return found;
}

void Board::overwrite(const void *bytes, size_t size)
{
    memcpy(static_cast<void *>(segment_), bytes,
           std::min(size, sizeof(*segment_)));
}

} // namespace fuselink

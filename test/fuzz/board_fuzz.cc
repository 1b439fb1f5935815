/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * The load board is memory that other processes write. Whatever they write, and
 * between whichever calls, what is read stays in bounds and no call goes astray.
 *
 * The input is a script of operations. The first kinds overwrite words of the
 * segment, the others are the calls of two processes that have seats, and of a
 * person who looks.
 */

#include "script.h"
#include "ucs_ext/board_layout.h"
#include "ucs_ext/board_seat.h"

#include <cstring>
#include <memory>
#include <vector>

using namespace fuselink;

namespace {

constexpr int64_t kNow = 1'000'000'000'000;

/* Hostile words are in these seats and their cells, also in those that our two
 * processes have. Later ones may come to sit behind. */
constexpr unsigned kHostile = 8;
constexpr unsigned kSeatsUsed = kHostile + 4;

/* The segment as plain words, which overwrite() copies over the board. */
class Words {
public:
    Words() : segment_(std::make_unique<board::Segment>()) {}

    /* Words 0 to 15 of a seat, 16 to 23 of a NIC, then those of cells. */
    void set(const Operation &operation)
    {
        const unsigned index = operation.where >> 8;
        const unsigned word  = operation.where & 0xff;
        if (operation.kind == 1) {
            segment_->seats_used = operation.number;
        } else if (word < 16) {
            put(&segment_->seats[index % kHostile], word, operation.number);
        } else if (word < 24) {
            put(&segment_->nics[index % board::kNics], word - 16,
                operation.number);
        } else {
            auto &cells = segment_->cells[index % kHostile];
            put(&cells[word % 4][word / 4 % 2], word / 8 % 8,
                operation.number);
        }
    }

    void write_to(Board &board) const
    {
        /* Up to the cells of the last seat that can be in use here. */
        const auto *from = reinterpret_cast<const char *>(segment_.get());
        const auto *to =
            reinterpret_cast<const char *>(&segment_->cells[kSeatsUsed]);
        board.overwrite(from, static_cast<size_t>(to - from));
    }

private:
    template <typename T> void put(T *object, unsigned word, uint64_t number)
    {
        static_assert(sizeof(T) % 8 == 0);
        memcpy(reinterpret_cast<char *>(object) + 8 * (word % (sizeof(T) / 8)),
               &number, 8);
    }

    std::unique_ptr<board::Segment> segment_;
};

struct Engine {
    explicit Engine(const std::shared_ptr<Board> &board)
        : seat(BoardSeat::take(board, {.job = 1}, kNow))
    {
        require(seat != nullptr);
        for (const char *nic : {"eth0", "eth1", "eth2"}) {
            seat->add_nic(nic, 1'000'000'000);
        }
    }
    std::unique_ptr<BoardSeat> seat;
};

void check_loads(const BoardSeat &seat, int64_t now)
{
    std::vector<BoardSeat::Load> loads;
    for (auto direction : {Direction::Out, Direction::In}) {
        seat.read(direction, now, loads);
        require(loads.size() <= 3);
        for (const auto &load : loads) {
            require(load.in_flight <= Board::kMostBytes);
            require(load.completed <= Board::kMostBytes * board::kSeats);
            require(load.users <= load.sharers);
            require(load.sharers < board::kSeats);
            require(load.highest <= Priority::High);
            require(load.owned || !load.owner);
        }
    }
}

void check_text(const std::string &text, size_t most)
{
    require(text.size() <= most);
    for (char c : text) {
        require(c > ' ' && c < 0x7f);
    }
}

void check_view(const Board &board, int64_t now)
{
    for (const auto &nic : board.nics()) {
        require(nic.index < board::kNics);
        check_text(nic.name, 32);
    }
    for (const auto &who : board.occupants(now)) {
        require(who.seat < board::kSeats);
        require(who.priority <= Priority::High);
        check_text(who.name, 16);
        for (const auto &use : who.uses) {
            require(use.nic < board::kNics);
            require(use.in_flight <= Board::kMostBytes);
            require(use.borrowed <= use.completed);
        }
    }
}

void run(Script script, const std::shared_ptr<Board> &board)
{
    /* All NICs find room on a clean board. */
    Words words;
    words.write_to(*board);
    Engine one(board), other(board);

    Operation operation;
    int64_t now  = kNow;
    bool changed = false;
    while (script.next(operation)) {
        if (operation.kind <= 1) {
            words.set(operation);
            changed = true;
            continue;
        }
        if (changed) {
            words.write_to(*board);
            changed = false;
        }
        const int nic        = operation.where % 4 - 1; /* -1: no NIC */
        const auto direction = static_cast<Direction>(operation.where >> 2 & 1);
        BoardSeat &seat      = operation.where & 8 ? *one.seat : *other.seat;
        switch (operation.kind) {
        case 2:
            seat.posted(nic, direction, operation.number, now);
            break;
        case 3:
            seat.ended(nic, direction, operation.number, true, true, now);
            break;
        case 4:
            seat.set_in_flight(nic, direction, operation.number, now);
            break;
        case 5:
            seat.own(nic);
            now += static_cast<int64_t>(operation.number % 1'000'000'000);
            break;
        case 6:
            seat.tick(now);
            require(seat.place() <= board::kSeats);
            break;
        case 7:
            check_view(*board, now);
            break;
        case 8: {
            Engine late(board);
            check_loads(*late.seat, now);
            break;
        }
        default:
            check_loads(seat, now);
        }
    }
    check_loads(*one.seat, now);
    check_view(*board, now);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const auto board = Board::make_private();
    run({data, size}, board);
    return 0;
}

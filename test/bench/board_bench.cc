/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * Cost of one decision as the transport makes it on NICs that are shared, of the
 * transport's own parts: BoardSeat::read() for the load of others, Nic::look()
 * for what follows, view_of(), Nic::show() and ReceiverView::show() for each
 * path, the policy. Budget, of the median: 150 ns with 4 NICs and 8 processes
 * on the board; 1 us with 16 NICs and 64. The arguments are NICs and processes.
 *
 * As in the transport the board is read when the last time was 200 us ago. A
 * chunk lasts 100 us here, so that is with every eighth decision of 4 NICs.
 *
 *   decision  what is said above
 *   fresh     the same, with the board read each time
 *   chunk     a decision, and what is noted when a chunk begins and another
 *             ends, in the meters and on the board
 *   board     only the board is read
 */
#include "ucs_ext/board_seat.h"
#include "uct/fuselink/sched/nic.h"
#include "uct/fuselink/sched/window.h"
#include "uct/fuselink/transfer/receiver_view.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

namespace {

using namespace fuselink;
using namespace fuselink::sched;

constexpr Nanos refresh = Nanos::micros(200);
constexpr Nanos chunk_lasts = Nanos::micros(100);
constexpr Bytes chunk = Bytes::kib(256);

/* All chunks alike, so that speeds stay what they are whatever is chosen. */
constexpr Limits limits{chunk, chunk, Nanos::millis(2)};

/* Time on the board stands still, so that the others stay as they are. */
constexpr int64_t board_time = 1'000'000'000'000;

/* A sender to one peer, on a node whose processes all send on all NICs. */
class Sender {
public:
    Sender(size_t nics, int64_t processes)
        : m_board(Board::make_private()),
          m_policy(*find_policy("auto")),
          m_step(chunk_lasts.count() / static_cast<int64_t>(nics))
    {
        for (int64_t i = 0; i < processes; ++i) {
            m_seats.push_back(
                    BoardSeat::take(m_board, {.job = 1}, board_time));
            for (size_t n = 0; n < nics; ++n) {
                m_seats.back()->add_nic("eth" + std::to_string(n), 1'000'000);
                if (i != 0) {
                    m_seats.back()->posted(static_cast<int>(n), Direction::Out,
                                           500 * (n + static_cast<size_t>(i)),
                                           board_time);
                }
            }
        }
        wire::LoadGrant grant{};
        grant.microseconds = UINT32_MAX;
        for (size_t n = 0; n < nics; ++n) {
            m_nics.emplace_back(Rate::mbit(20'000), true);
            m_meters.emplace_back(Rate::mbit(20'000));
            grant.load[n] = static_cast<uint32_t>(10 * n);
        }
        m_receiver.take(grant, m_now);
        for (int i = 0; i < 1000; ++i) {
            live();
        }
    }

    /* What others have, if it is time to look. */
    void look(bool now)
    {
        if (now || m_now >= m_next) {
            m_next = m_now + refresh;
            own().read(Direction::Out, board_time, m_loads);
            for (size_t n = 0; n < m_nics.size(); ++n) {
                const BoardSeat::Load &load = m_loads[n];
                m_nics[n].look({.in_flight = Bytes(load.in_flight),
                                .completed = load.completed,
                                .sharers = load.sharers},
                               m_now, limits);
            }
        }
    }

    Choice decide()
    {
        PathViews room;
        for (size_t n = 0; n < m_nics.size(); ++n) {
            PathView &view = room.at[n];
            view = view_of(m_meters[n], m_now, limits);
            m_nics[n].show(m_meters[n], m_now, limits, Bytes::max(), view);
            m_receiver.show(static_cast<uint8_t>(n), limits, view);
        }
        return m_policy.next({room.at, m_nics.size()}, m_demand, limits);
    }

    /* A chunk ends, on each NIC in turn, and another begins. */
    void live()
    {
        m_now += m_step;
        m_turn = (m_turn + 1 == m_nics.size()) ? 0 : m_turn + 1;
        if (!m_meters[m_turn].in_flight().is_zero()) {
            m_meters[m_turn].on_complete(m_now, chunk);
            m_nics[m_turn].on_end(m_now, chunk, true,
                                  m_meters[m_turn].in_flight().is_zero(),
                                  true);
            own().ended(static_cast<int>(m_turn), Direction::Out,
                        chunk.count(), true, false, board_time);
        }
        look(false);
        if (const Choice choice = decide()) {
            const uint32_t p = choice.path;
            m_nics[p].on_post(m_now, chunk,
                              m_meters[p].in_flight().is_zero());
            m_meters[p].on_post(m_now, chunk);
            own().posted(static_cast<int>(p), Direction::Out, chunk.count(),
                         board_time);
        }
    }

    /* Time goes on for the board's sake alone: nothing ends meanwhile. */
    void wait() { m_next = m_next - m_step; }

    void read_board()
    {
        own().read(Direction::Out, board_time, m_loads);
        benchmark::DoNotOptimize(m_loads.data());
    }

private:
    BoardSeat &own() { return *m_seats.front(); }

    std::shared_ptr<Board> m_board;
    std::vector<std::unique_ptr<BoardSeat>> m_seats;
    std::vector<BoardSeat::Load> m_loads;
    std::vector<Nic> m_nics;
    std::vector<RateMeter> m_meters; /* of the paths */
    ReceiverView m_receiver;
    const Policy &m_policy;
    const Nanos m_step;
    Nanos m_now = Nanos::millis(1), m_next = m_now;
    size_t m_turn = 0;
    Demand m_demand{.remaining = Bytes::mib(64), .total = Bytes::mib(64)};
};

Sender sender_of(const benchmark::State &state)
{
    return Sender(static_cast<size_t>(state.range(0)), state.range(1));
}

void decision(benchmark::State &state)
{
    Sender sender = sender_of(state);
    for (auto _ : state) {
        sender.wait();
        sender.look(false);
        benchmark::DoNotOptimize(sender.decide());
        benchmark::ClobberMemory();
    }
}

void fresh(benchmark::State &state)
{
    Sender sender = sender_of(state);
    for (auto _ : state) {
        sender.look(true);
        benchmark::DoNotOptimize(sender.decide());
        benchmark::ClobberMemory();
    }
}

void chunk_cycle(benchmark::State &state)
{
    Sender sender = sender_of(state);
    for (auto _ : state) {
        sender.live();
        benchmark::ClobberMemory();
    }
}

void board(benchmark::State &state)
{
    Sender sender = sender_of(state);
    for (auto _ : state) {
        sender.read_board();
        benchmark::ClobberMemory();
    }
}

/* The median is what counts; the mean has whatever else the machine does. */
void repeated(benchmark::internal::Benchmark *family)
{
    family->Args({4, 1})->Args({4, 8})->Args({8, 8})->Args({16, 64});
    family->MinTime(0.1)->Repetitions(9)->ReportAggregatesOnly();
}

BENCHMARK(decision)->Apply(repeated);
BENCHMARK(fresh)->Apply(repeated);
BENCHMARK(chunk_cycle)->Name("chunk")->Apply(repeated);
BENCHMARK(board)->Apply(repeated);

} // namespace

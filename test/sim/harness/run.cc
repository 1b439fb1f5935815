/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "run.h"

#include "crowd.h"
#include "faults.h"
#include "ground.h"
#include "ledger.h"
#include "load_check.h"
#include "program.h"
#include "rounds.h"
#include "watch_check.h"

#include <algorithm>

namespace fuselink::sim {
namespace {

/* No run takes longer, whatever goes wrong in it one after the other. */
constexpr Instant kBound = 600 * kSecond;

/** All that there is in one run. */
class Run {
public:
    Run(const Scenario &scenario, FILE *print)
        : scenario_(scenario), world_(scenario.seed, scenario.profile),
          ledger_(world_), faults_(scenario, world_, ledger_), crowd_(scenario, world_),
          loads_(scenario, world_, programs_),
          watched_(scenario, world_, programs_),
          order_(scenario.seed, 3), rounds_(world_, programs_, order_)
    {
        World::current = &world_;
        world_.is_fair   = scenario.fair;
        world_.ends_well = scenario.fair || scenario.leaves_in_order;
        if (print != nullptr) {
            world_.journal().print_to(print);
        }
    }

    Outcome go();

private:
    bool build();
    void rest();
    bool flush_all(const Program *but);
    void leave_in_order();
    void violate(const std::string &what) { world_.journal().violate(what); }

    const Scenario                        &scenario_;
    World                                  world_;
    std::vector<std::unique_ptr<NodeMemory>> memories_;
    Ledger                                 ledger_;
    std::vector<std::unique_ptr<Program>>  programs_;
    Faults                                 faults_;
    Crowd                                  crowd_;
    LoadCheck                              loads_;
    WatchCheck                             watched_;
    Random                                 order_;
    Rounds<Program>                        rounds_;
};

bool Run::build()
{
    memories_ = add_nodes(world_, scenario_);
    for (unsigned p = 0; p < scenario_.processes; ++p) {
        const unsigned node = scenario_.node_of(p);
        Process &process = world_.add_process(
            node, scenario_.arena, scenario_.copy_rates[p] > 0 ? scenario_.arena : 0);
        process.job = scenario_.job_of(p);
        programs_.push_back(std::make_unique<Program>(ledger_, scenario_, process,
                                                      *memories_[node]));
        Gpu &gpu  = process.gpu;
        gpu.rate  = scenario_.copy_rates[p];
        gpu.delay = scenario_.copy_delays[p];
        gpu.near  = scenario_.gpu_near[p];
    }
    faults_.prepare();
    watched_.begin();
    world_.count(Count::Heavy, scenario_.heavy);
    for (auto &program : programs_) {
        world_.running = program->process().index();
        if (!program->open()) {
            violate("a program does not open its interface");
            return false;
        }
    }
    for (auto &program : programs_) {
        if (!program->meet(programs_)) {
            violate("programs cannot reach each other");
            return false;
        }
    }
    std::vector<Actor *> actors;
    for (auto &program : programs_) {
        actors.push_back(program.get());
    }
    faults_.begin(std::move(actors));
    crowd_.begin();
    return true;
}

/* The worker of a program that has no part in what others do now is not looked at by
 * anybody, perhaps until those are done: Open MPI's of one-sided operations is such
 * outside of a window. All that was begun with it has ended, so others may flush, whatever
 * becomes of the connections. */
void Run::rest()
{
    const size_t who = Random(scenario_.seed, 83).below(programs_.size());
    Program     &one = *programs_[who];
    if (one.gone() || !flush_all(nullptr)) {
        return;
    }
    world_.count(Count::Rests);
    one.process().stopped = true;
    faults_.break_all(one.process());
    rounds_.pass(kSecond / 4);
    if (!flush_all(&one) && world_.journal().violations().empty()) {
        violate("a flush waits for process " + std::to_string(who) +
                ", with which nothing is under way");
    }
    one.process().stopped = false;
    rounds_.pass(2 * kSecond);
}

/* All but one flush their interfaces. False if that takes too long. */
bool Run::flush_all(const Program *but)
{
    for (auto &program : programs_) {
        if (!program->gone() && program.get() != but) {
            program->begin_flush();
        }
    }
    return rounds_.until(10 * kSecond, [&] {
        return std::all_of(programs_.begin(), programs_.end(),
                           [&](const auto &program) {
                               return program.get() == but || program->is_done();
                           });
    });
}

/* As at the end of a job: all is done, and one goes before the other. Of those who
 * stay, some have endpoints still. */
void Run::leave_in_order()
{
    for (auto &program : programs_) {
        if (program->gone() || !world_.journal().violations().empty()) {
            continue;
        }
        world_.running = program->process().index();
        program->leave();
        const Instant pause = static_cast<Instant>(order_.scaled(100, 3'000'000));
        const Instant then  = world_.time().now() + pause;
        rounds_.until(kSecond, [&] { return world_.time().now() > then; });
    }
    rounds_.pass(kSecond);
}

Outcome Run::go()
{
    bool goes_on = build();
    if (goes_on) {
        const bool ended = rounds_.until(kBound, [&] {
            return std::all_of(programs_.begin(), programs_.end(),
                               [](const auto &program) {
                                   return program->is_done();
                               });
        });
        faults_.end();
        crowd_.end();
        if (!ended && world_.may_hang != nullptr &&
            world_.journal().violations().empty()) {
            world_.journal().note(world_.may_hang, 0);
            world_.count(Count::Allowed);
            goes_on = false;
        } else if (!ended && world_.journal().violations().empty()) {
            std::string text = "does not come to its end:";
            for (const auto &program : programs_) {
                if (!program->is_done()) {
                    text += " " + program->state();
                }
            }
            violate(text);
        }
        /* What is on its way to somebody arrives. */
        if (!scenario_.leaves_at_once) {
            rounds_.pass(kSecond);
            if (world_.journal().violations().empty() && goes_on) {
                ledger_.check();
                loads_.check_calm();
            }
        }
        if (scenario_.rests && goes_on &&
            world_.journal().violations().empty()) {
            rest();
        }
        if (scenario_.leaves_in_order) {
            leave_in_order();
        }
        for (auto &program : programs_) {
            if (!program->gone()) {
                program->close_endpoints();
            }
        }
        /* Of a queue pair whose other end has gone a NIC gives up what it has
         * when it has tried for a while: until then that is in flight. */
        const Instant until_closed = world_.time().now() + kSecond / 2;
        const Instant until_given_up = until_closed +
                                       world_.profile().patience / 2;
        rounds_.calm_until(kSecond + world_.profile().patience, [&] {
            const Instant now = world_.time().now();
            return now > until_closed &&
                   (now > until_given_up || !goes_on || faults_.is_calm());
        });
        if (goes_on) {
            faults_.check_calm();
        }
        if (world_.journal().violations().empty() && goes_on) {
            ledger_.check();
        }
    }
    if (!world_.journal().violations().empty()) {
        goes_on = false; /* what is left over says nothing any more */
    }
    watched_.note_traffic();
    for (auto &program : programs_) {
        world_.running = program->process().index();
        program.reset();
    }
    watched_.check(goes_on);
    if (goes_on) {
        check_left_over(world_);
    }
    if (goes_on && scenario_.fair) {
        for (const auto &process : world_.processes()) {
            process->check_written_once();
        }
    }
    return leave(world_);
}

} // namespace

Outcome leave(World &world)
{
    Outcome outcome;
    outcome.violations = world.journal().violations();
    outcome.hash       = world.journal().hash();
    outcome.lines      = world.journal().lines();
    outcome.end        = world.time().now();
    outcome.counts     = world.counts();
    World::current     = nullptr;
    return outcome;
}

Outcome run(uint64_t seed, Wires wires, const Cuts &cuts, FILE *print)
{
    prepare_once();
    const Scenario scenario = draw(seed, wires, cuts);
    return Run(scenario, print).go();
}

std::vector<unsigned> numbers(uint64_t seed, Wires wires, const Cuts &cuts)
{
    std::vector<unsigned> all;
    const Scenario        scenario = draw(seed, wires, cuts);
    for (const auto &script : scenario.scripts) {
        for (const Action &action : script) {
            all.push_back(action.number);
        }
    }
    for (const Fault &fault : scenario.faults) {
        all.push_back(fault.number);
    }
    return all;
}

/* By leaving out halves of what is there, then quarters, down to single things
 * (Zeller's ddmin, without its complements). */
Cuts shrink(const Sort &sort, uint64_t seed, Wires wires, const Cuts &cuts,
            unsigned most_runs)
{
    Cuts                  best    = cuts;
    std::vector<unsigned> numbers = sort.numbers(seed, wires, best);
    size_t                piece   = std::max<size_t>(numbers.size() / 2, 1);
    unsigned              runs    = 0;
    while (runs < most_runs) {
        bool smaller = false;
        for (size_t at = 0; at < numbers.size() && runs < most_runs;) {
            Cuts         fewer = best;
            const size_t end   = std::min(at + piece, numbers.size());
            fewer.left_out.insert(numbers.begin() + static_cast<long>(at),
                                  numbers.begin() + static_cast<long>(end));
            ++runs;
            if (!sort.run(seed, wires, fewer, nullptr).well()) {
                best    = fewer;
                numbers = sort.numbers(seed, wires, best);
                smaller = true;
            } else {
                at = end;
            }
        }
        if (piece == 1 && !smaller) {
            break;
        }
        piece = std::max<size_t>(piece / 2, 1);
    }
    return best;
}

std::string replay_line(const Sort &sort, uint64_t seed, Wires wires,
                        const Cuts &cuts)
{
    std::string line = std::string(sort.option) + "--wires " + name_of(wires) +
                       " --seed " + std::to_string(seed);
    if (cuts.nics != 0) {
        line += " --nics " + std::to_string(cuts.nics);
    }
    if (cuts.deputies) {
        line += " --deputies";
    }
    if (!cuts.left_out.empty()) {
        line += " --without ";
        /* Ranges of numbers that follow each other. */
        auto it = cuts.left_out.begin();
        bool first = true;
        while (it != cuts.left_out.end()) {
            unsigned from = *it, to = *it;
            while (++it != cuts.left_out.end() && *it == to + 1) {
                to = *it;
            }
            line += (first ? "" : ",") + std::to_string(from) +
                    (to != from ? "-" + std::to_string(to) : "");
            first = false;
        }
    }
    return line;
}

} // namespace fuselink::sim

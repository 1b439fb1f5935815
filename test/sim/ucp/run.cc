/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "run.h"

#include "../harness/faults.h"
#include "../harness/ground.h"
#include "../harness/ledger.h"
#include "../harness/rounds.h"
#include "book.h"
#include "inside.h"
#include "program.h"
#include "wire/messages.h"

#include <algorithm>
#include <cstring>

extern "C" {
#include <ucp/core/ucp_types.h> /* the numbers of UCP's messages */
}

namespace fuselink::sim {
namespace {

/* No run takes longer, whatever goes wrong in it one after the other. */
constexpr Instant kBound = 600 * kSecond;

/** All that there is in one run. */
class UcpRun {
public:
    UcpRun(const UcpPlan &plan, FILE *print)
        : plan_(plan), world_(plan.base.seed, plan.base.profile), ledger_(world_),
          book_(world_, plan), faults_(plan.base, world_, ledger_),
          names_(plan.base.seed), order_(plan.base.seed, 92),
          rounds_(world_, programs_, order_)
    {
        World::current = &world_;
        world_.is_fair = plan.base.fair;
        if (print != nullptr) {
            world_.journal().print_to(print);
        }
        world_.on_message = [this](Process &, uint8_t id, const uint8_t *data,
                                   size_t length) { on_message(id, data, length); };
        world_.on_failover = [this] { on_failover(); };
        world_.on_foreign_warning = [this](const std::string &line) {
            violate("UCP warns: " + line);
        };
    }

    Outcome go();

private:
    bool build();
    bool all_done() const;
    /** All come to that, or say why not. */
    bool finish(const char *what);
    void end_together();
    void end_one_by_one();
    void on_message(uint8_t id, const uint8_t *data, size_t length);
    void on_failover();
    void violate(const std::string &what) { world_.journal().violate(what); }
    bool well() { return world_.journal().violations().empty(); }

    const UcpPlan                            &plan_;
    World                                     world_;
    std::vector<std::unique_ptr<NodeMemory>>  memories_;
    Ledger                                    ledger_;
    Book                                      book_;
    std::vector<std::unique_ptr<UcpProgram>>  programs_;
    Faults                                    faults_;
    Names                                     names_;
    Random                                    order_;
    Rounds<UcpProgram>                        rounds_;
};

bool UcpRun::build()
{
    const Scenario &base = plan_.base;
    memories_ = add_nodes(world_, base);
    std::vector<Actor *> actors;
    for (unsigned p = 0; p < base.processes; ++p) {
        const unsigned node = base.node_of(p);
        programs_.push_back(std::make_unique<UcpProgram>(
            ledger_, book_, plan_, world_.add_process(node, base.arena, 0),
            *memories_[node]));
        actors.push_back(programs_.back().get());
    }
    for (auto &program : programs_) {
        world_.running = program->process().index();
        if (!program->open()) {
            violate("a program does not open its worker");
            return false;
        }
    }
    for (auto &program : programs_) {
        world_.running = program->process().index();
        if (!program->meet(programs_)) {
            return false;
        }
    }
    faults_.begin(std::move(actors));
    return true;
}

bool UcpRun::all_done() const
{
    return book_.all_came() && std::all_of(programs_.begin(), programs_.end(),
                                           [](const auto &program) {
                                               return program->is_done();
                                           });
}

bool UcpRun::finish(const char *what)
{
    if (!rounds_.until(kBound, [&] { return all_done(); }) && well()) {
        std::string text = std::string(what) + " does not come to its end:";
        for (const auto &program : programs_) {
            if (!program->is_done()) {
                text += " " + program->state();
            }
        }
        violate(text + (book_.all_came() ? "" : " messages have yet to come"));
    }
    return well();
}

/* As at the end of an MPI job: all have closed their endpoints before the first goes. */
void UcpRun::end_together()
{
    for (auto &program : programs_) {
        program->close_all();
    }
    if (!finish("closing")) {
        return;
    }
    /* A NIC gives up what a queue pair has whose other end is gone when it has tried
     * for a while. And the last messages are acknowledged after so many calls. */
    rounds_.pass(kSecond / 2 + (plan_.base.profile.rdma ? plan_.base.profile.patience / 2 : 0));
    rounds_.calm_until(10 * kSecond, [&] { return faults_.is_calm(); });
    faults_.check_calm();
    ledger_.check();
    for (auto &program : programs_) {
        world_.running = program->process().index();
        program->leave();
        rounds_.pass(static_cast<Instant>(order_.scaled(100, 3'000'000)));
    }
}

/* Others hear that one goes, whose endpoints to it are open. Unless it is one of RDMA:
 * see README.md, "What may be". */
void UcpRun::end_one_by_one()
{
    if (plan_.base.profile.rdma) {
        world_.lanes_may_fail = true;
        world_.is_fair        = false;
    }
    for (auto &program : programs_) {
        program->close_all();
        if (!finish("closing")) {
            return;
        }
        world_.running = program->process().index();
        program->leave();
        rounds_.pass(static_cast<Instant>(order_.scaled(100, 30'000'000)));
    }
    ledger_.check();
}

/* What UCP sends, for the counts. */
void UcpRun::on_message(uint8_t id, const uint8_t *data, size_t length)
{
    uint8_t am = 0;
    if (id == static_cast<uint8_t>(wire::RailAm::User) &&
        length >= sizeof(wire::UserHeader)) {
        am = reinterpret_cast<const wire::UserHeader *>(data)->am_id;
    }
    switch (am) {
    case UCP_AM_ID_EAGER_ONLY:
    case UCP_AM_ID_EAGER_FIRST:
    case UCP_AM_ID_EAGER_SYNC_ONLY:
    case UCP_AM_ID_EAGER_SYNC_FIRST:
    case UCP_AM_ID_AM_SINGLE:
    case UCP_AM_ID_AM_FIRST:
        world_.count(Count::Eager);
        break;
    case UCP_AM_ID_RNDV_RTS:
        world_.count(Count::Rendezvous);
        break;
    case UCP_AM_ID_RNDV_ATS:
        world_.count(Count::RendezvousGets);
        break;
    case UCP_AM_ID_RNDV_ATP:
        world_.count(Count::RendezvousPuts);
        break;
    default:
        break;
    }
}

void UcpRun::on_failover()
{
    world_.count(Count::Failovers,
                 std::any_of(programs_.begin(), programs_.end(),
                             [](const auto &program) {
                                 return program->has_rendezvous();
                             }));
}

Outcome UcpRun::go()
{
    bool goes_on = build() && finish("a run");
    faults_.end();
    if (goes_on) {
        rounds_.pass(kSecond / 4); /* what is on its way to somebody arrives */
        for (auto &program : programs_) {
            world_.running = program->process().index();
            program->flush_all();
        }
        goes_on = finish("a flush");
    }
    if (goes_on) {
        book_.check_all();
        ledger_.check();
        plan_.leaves_early ? end_one_by_one() : end_together();
        goes_on = well();
    }
    for (auto &program : programs_) {
        world_.running = program->process().index();
        /* UCP ends a process that closes a worker in the middle of something. */
        goes_on ? program.reset() : static_cast<void>(program.release());
    }
    if (goes_on) {
        check_left_over(world_);
    }
    return leave(world_);
}

} // namespace

Outcome run_ucp(uint64_t seed, Wires wires, const Cuts &cuts, FILE *print)
{
    prepare_once();
    const UcpPlan plan = draw_ucp(seed, wires, cuts);
    return UcpRun(plan, print).go();
}

std::vector<unsigned> numbers_ucp(uint64_t seed, Wires wires, const Cuts &cuts)
{
    std::vector<unsigned> all;
    const UcpPlan         plan = draw_ucp(seed, wires, cuts);
    for (const auto &script : plan.scripts) {
        for (const UcpAction &action : script) {
            all.push_back(action.number);
        }
    }
    for (const Fault &fault : plan.base.faults) {
        all.push_back(fault.number);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

} // namespace fuselink::sim

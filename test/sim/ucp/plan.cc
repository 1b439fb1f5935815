/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "plan.h"

#include "../harness/weights.h"
#include "ucx.h"

#include <algorithm>
#include <iterator>
#include <ucp/api/ucp.h>

namespace fuselink::sim {
namespace {

using Kind = UcpAction::Kind;

constexpr unsigned kMostNumbers  = 4096;
constexpr size_t   kLongest      = 3 << 20;
constexpr size_t   kLongestAnyOf = 64 << 10; /* each receive has room for it */

constexpr Weight<Kind> kWeights[] = {
    {Kind::TagSend, 30}, {Kind::TagSync, 6},     {Kind::AmSend, 16},
    {Kind::Put, 12},     {Kind::Get, 10},        {Kind::Add, 6},
    {Kind::FetchAdd, 6}, {Kind::Swap, 4},        {Kind::FlushEp, 4},
    {Kind::FlushWorker, 3}, {Kind::CloseEp, 4},  {Kind::Compute, 4},
    {Kind::Sleep, 6}};

size_t draw_length(Random &chance)
{
    if (chance.one_in(12)) {
        return 0;
    }
    if (chance.one_in(40)) {
        return chance.between(1 << 20, kLongest);
    }
    return chance.one_in(8) ? chance.between(64 << 10, 512 << 10) :
                              chance.scaled(1, 64 << 10);
}

/** Draws scripts, and gives the memory of each process out. */
class Writer {
public:
    Writer(UcpPlan &plan, const Cuts &cuts)
        : plan_(plan), cuts_(cuts),
          next_(plan.base.processes, kLibraryAt + kLibrary)
    {
        plan_.scripts.resize(plan.base.processes);
    }

    void draw(unsigned number);
    /** Bytes of the largest arena. */
    size_t arena() const { return *std::max_element(next_.begin(), next_.end()); }

private:
    size_t take(unsigned process, size_t length)
    {
        const size_t at = next_[process];
        next_[process] += (length + 15) & ~size_t{15};
        return at;
    }
    void draw_message(Random &chance, unsigned process, UcpAction &action);
    void draw_receive(Random &chance, unsigned process, const UcpAction &action);

    UcpPlan            &plan_;
    const Cuts         &cuts_;
    std::vector<size_t> next_;
};

void Writer::draw_message(Random &chance, unsigned process, UcpAction &action)
{
    const bool is_am = action.kind == Kind::AmSend;
    if (!is_am && action.slot == 0) { /* order is one of an endpoint */
        action.tags = chance.pick({TagClass::Exact, TagClass::OfPeer,
                                   TagClass::OfAny});
    }
    if (action.tags != TagClass::Exact) {
        action.length = std::min(action.length, kLongestAnyOf);
    }
    action.at = take(process, action.length);
    UcpMessage message{process, action.peer, action.length, 0, action.seed,
                       action.tags};
    if (is_am) {
        action.flags = chance.pick({0u, 0u, unsigned{UCP_AM_SEND_FLAG_EAGER},
                                    unsigned{UCP_AM_SEND_FLAG_RNDV}});
        if (action.length == 0 && action.flags == UCP_AM_SEND_FLAG_RNDV) {
            action.flags = 0; /* UCX 1.13 loses it */
        }
        message.at = take(action.peer, action.length);
    }
    if (cuts_.left_out.count(action.number) == 0) {
        plan_.messages[action.number] = message;
    }
    if (!is_am) {
        draw_receive(chance, process, action);
    }
}

/* Its receiver may be early or late. */
void Writer::draw_receive(Random &chance, unsigned process,
                          const UcpAction &action)
{
    UcpAction receive;
    receive.number = action.number;
    receive.kind   = Kind::TagReceive;
    receive.peer   = process;
    receive.tags   = action.tags;
    receive.length = action.tags == TagClass::Exact ? action.length :
                                                      kLongestAnyOf;
    receive.seed   = chance.next();
    receive.at     = take(action.peer, receive.length);
    auto        &script = plan_.scripts[action.peer];
    const size_t back   = std::min<size_t>(script.size(), chance.below(5));
    if (cuts_.left_out.count(action.number) == 0) {
        script.insert(script.end() - static_cast<std::ptrdiff_t>(back), receive);
    }
}

void Writer::draw(unsigned number)
{
    const Scenario &base = plan_.base;
    Random          chance(base.seed, 50'000 + number);
    const auto      process = static_cast<unsigned>(chance.below(base.processes));
    UcpAction       action;
    action.number = number;
    action.kind   = draw_weighted(chance, kWeights);
    action.seed   = chance.next();
    action.waits  = chance.one_in(4);
    do {
        action.peer = static_cast<unsigned>(chance.below(base.processes));
    } while (base.node_of(action.peer) == base.node_of(process));
    /* UCP's endpoints come in pairs: whoever closes one takes it from his peer, too.
     * So one side has these, and the other answers. */
    action.slot   = process < action.peer && chance.one_in(4);
    action.length = draw_length(chance);
    switch (action.kind) {
    case Kind::TagSend:
    case Kind::TagSync:
    case Kind::AmSend:
        draw_message(chance, process, action);
        break;
    case Kind::Put:
        action.at = take(process, action.length);
        action.to = take(action.peer, action.length);
        break;
    case Kind::Get:
        action.length = std::min(action.length, kLibrary);
        action.at     = take(process, action.length);
        action.to     = kLibraryAt + chance.below(kLibrary - action.length + 1);
        break;
    case Kind::Add:
    case Kind::FetchAdd:
        action.to     = chance.below(kCounters);
        action.length = chance.between(1, 1000);
        action.at     = take(process, sizeof(uint64_t));
        break;
    case Kind::Swap:
        action.to = chance.below(kCells);
        action.at = take(process, sizeof(uint64_t));
        break;
    case Kind::CloseEp:
        action.slot = 1;
        break;
    case Kind::Compute:
        action.time = static_cast<Instant>(chance.scaled(1000, 30'000'000));
        break;
    default:
        break;
    }
    if (cuts_.left_out.count(number) == 0) {
        plan_.scripts[process].push_back(action);
    }
}

bool may_break_bulk(Fault::Kind kind)
{
    using F = Fault::Kind;
    return kind == F::BreakBulk || kind == F::BreakAny || kind == F::BreakNotice ||
           kind == F::BreakHeld || kind == F::BreakDatagrams;
}

/* Those that nobody hears of but as a warning: one NIC, the spare one, is neither
 * silent nor without a cable. Of RDMA only what is mended without a word. */
Fault draw_fault(Random &chance, const Scenario &base, unsigned spare)
{
    using F = Fault::Kind;
    Fault fault;
    fault.kind = base.profile.rdma ?
                     chance.pick({F::Slow, F::Jitter, F::BreakBulk, F::BreakBulk,
                                  F::NoRegistration, F::Stop, F::FewQueuePairs,
                                  F::BreakNotice, F::BreakHeld,
                                  F::BreakDatagrams}) :
                     chance.pick({F::Slow, F::Jitter, F::BreakBulk, F::BreakBulk,
                                  F::BreakAny, F::BreakAny, F::BreakAny,
                                  F::BreakNotice, F::BreakHeld, F::Stop, F::Mute,
                                  F::Deaf, F::Silent, F::Unplug, F::Unplug});
    fault.when    = static_cast<Instant>(chance.scaled(1000, 20'000'000));
    fault.process = static_cast<unsigned>(chance.below(base.processes));
    fault.nic     = static_cast<unsigned>(chance.below(base.nics));
    fault.amount  = chance.scaled(1, 500'000);
    fault.time    = static_cast<Instant>(chance.scaled(10'000, 50'000'000));
    switch (fault.kind) {
    case F::Mute:
    case F::Deaf:
    case F::Silent:
    case F::Unplug:
        fault.nic  = (spare + 1 + fault.nic % (base.nics - 1)) % base.nics;
        fault.time = static_cast<Instant>(chance.scaled(1'000'000,
                                                        5'000'000'000));
        break;
    default:
        break;
    }
    return fault;
}

} // namespace

const char *name_of(UcpAction::Kind kind)
{
    static const char *const names[] = {
        "tag send", "tag sync", "tag receive", "am send", "ucp put", "ucp get",
        "add", "fetch add", "swap", "flush ep", "flush worker", "close ep",
        "compute", "sleep", "am receive", "close"};
    return names[static_cast<size_t>(kind)];
}

UcpPlan draw_ucp(uint64_t seed, Wires wires, const Cuts &cuts)
{
    UcpPlan   plan;
    Scenario &base = plan.base;
    base           = draw(seed, wires, {});
    Random chance(seed, 90);
    base.nodes     = static_cast<unsigned>(chance.between(2, 3));
    base.processes = base.nodes + static_cast<unsigned>(chance.below(2));
    base.nics      = static_cast<unsigned>(chance.between(2, 4));
    base.nics      = cuts.nics != 0 ? cuts.nics : base.nics;
    base.deputies  = cuts.deputies;
    base.rates.clear();
    base.delays.clear();
    for (unsigned i = 0; i < base.nodes * base.nics; ++i) {
        base.rates.push_back(static_cast<double>(
            chance.scaled(20'000'000, 5'000'000'000)));
        base.delays.push_back(static_cast<Instant>(chance.scaled(500, 200'000)));
    }
    base.relays = base.to_one = base.heavy = false;
    base.scripts.clear();
    base.faults.clear();

    plan.new_engine = chance.one_in(2);
    struct From {
        const char *text;
        size_t      least;
    };
    const From from = chance.pick({From{"1k", 1 << 10}, From{"4k", 4 << 10},
                                   From{"16k", 16 << 10}, From{"64k", 64 << 10},
                                   From{"auto", SIZE_MAX}});
    plan.rendezvous_from  = from.text;
    plan.rendezvous_least = from.least;
    if (Random(seed, 93).one_in(6)) { /* so that messages fill what is kept of them */
        plan.rendezvous_from  = "inf";
        plan.rendezvous_least = SIZE_MAX;
        base.profile.send_buffer = base.profile.receive_buffer = 4 << 20;
    }
    plan.rendezvous_by = chance.pick({"auto", "get_zcopy", "put_zcopy"});
    plan.copy_to       = chance.pick({"auto", "1k", "16k"});
    plan.handles_errors = chance.one_in(2);
    plan.sleeps         = chance.one_in(2);
    plan.late           = chance.one_in(2);
    plan.leaves_early   = plan.handles_errors && chance.one_in(2);
    plan.keepalive      = chance.pick({50 * kMillisecond, kSecond});

    Writer     writer(plan, cuts);
    const auto actions = base.processes *
                         static_cast<unsigned>(chance.between(4, 20));
    for (unsigned i = 0; i < actions; ++i) {
        writer.draw(i);
    }
    base.arena = writer.arena();

    base.fair            = chance.one_in(4);
    base.leaves_in_order = false;
    const auto     spare = static_cast<unsigned>(chance.below(base.nics));
    const unsigned faults =
        base.fair ? 0 : static_cast<unsigned>(chance.between(1, 4));
    for (unsigned i = 0, breaks = 0; i < faults; ++i) {
        const unsigned number = kMostNumbers + i;
        Random         own(seed, 50'000 + number);
        Fault          fault = draw_fault(own, base, spare);
        fault.number         = number;
        breaks += may_break_bulk(fault.kind);
        if (breaks > 2) { /* after three the bytes may be blamed */
            fault.kind = Fault::Kind::Slow;
        }
        if (cuts.left_out.count(number) == 0) {
            base.faults.push_back(fault);
        }
    }
    return plan;
}

} // namespace fuselink::sim

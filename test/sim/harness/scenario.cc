/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "scenario.h"

#include "sched/bulk_trials.h"
#include "special_draws.h"
#include "weights.h"

#include <algorithm>
#include <iterator>

namespace fuselink::sim {
namespace {


using Kind = Action::Kind;

constexpr Weight<Kind> kWeights[] = {
    {Kind::AmShort, 14}, {Kind::AmBcopy, 8},   {Kind::AmZcopy, 5},
    {Kind::PutShort, 6}, {Kind::PutBcopy, 5},  {Kind::PutZcopy, 22},
    {Kind::PutOver, 6},  {Kind::GetBcopy, 5},  {Kind::GetZcopy, 14},
    {Kind::GetBack, 4},  {Kind::Fence, 7},     {Kind::FenceIface, 2},
    {Kind::Flush, 6},    {Kind::FlushIface, 2}, {Kind::Cancel, 2},
    {Kind::CloseEp, 3},  {Kind::Compute, 3},   {Kind::Sleep, 3}};

void draw_profile(Random &chance, Wires wires, Profile &profile)
{
    profile.ip             = wires == Wires::Tcp || wires == Wires::Mixed;
    profile.rdma           = wires != Wires::Tcp;
    profile.queue_pairs    = wires != Wires::Ud;
    profile.stream_message = chance.pick({size_t{2048}, size_t{8192}});
    profile.send_buffer    = size_t{1} << chance.between(12, 18);
    profile.receive_buffer = size_t{1} << chance.between(12, 18);
    profile.segment        = size_t{1} << chance.between(10, 13);
    profile.patience = static_cast<Instant>(chance.between(2, 8)) * kSecond;
    profile.nic_patience = profile.patience / 4;
    profile.short_message  = chance.pick({16u, 64u, 128u});
    profile.short_put      = chance.pick({0u, 16u, 64u});
    profile.datagram       = chance.pick({size_t{1024}, size_t{4096}});
    profile.rdma_message   = chance.pick({size_t{1024}, size_t{8192}});
    profile.work_queue     = chance.pick({2u, 8u, 64u});
    profile.storm          = chance.pick({0u, 0u, 0u, 5u, 30u});
    profile.deaf_events    = chance.one_in(2);
    profile.quick_puts     = chance.one_in(4);
}

} // namespace

void add(const Cuts &cuts, const Action &action, unsigned process, Scenario &s)
{
    if (cuts.left_out.count(action.number) == 0) {
        s.scripts[process].push_back(action);
    }
}

bool all_stay(const Scenario &s)
{
    return std::none_of(s.scripts.begin(), s.scripts.end(), [](const auto &script) {
        return std::any_of(script.begin(), script.end(), [](const Action &action) {
            return action.kind == Kind::Leave;
        });
    });
}

Action draw_action(Random &chance, const Scenario &scenario, unsigned process)
{
    Action action;
    action.kind   = draw_weighted(chance, kWeights);
    action.seed   = chance.next();
    action.slot   = static_cast<unsigned>(chance.below(scenario.slots));
    action.queue  = chance.one_in(2);
    action.am_id  = chance.pick({uint8_t{1}, uint8_t{5}, uint8_t{28}, uint8_t{0},
                                 uint8_t{29}, uint8_t{31}});
    action.own_region = chance.one_in(4);
    do {
        action.peer = static_cast<unsigned>(chance.below(scenario.processes));
    } while (scenario.node_of(action.peer) == scenario.node_of(process));
    if (scenario.to_one && scenario.node_of(process) != 0) {
        action.peer = 0;
    }
    action.goes_on  = chance.one_in(4);
    action.from_gpu = chance.one_in(2);
    action.to_gpu   = chance.one_in(2);
    switch (action.kind) {
    case Kind::PutZcopy:
    case Kind::GetZcopy:
    case Kind::PutOver:
    case Kind::GetBack:
        action.length = chance.one_in(12) ? 0 :
                                            chance.scaled(1, 128 << 10);
        break;
    case Kind::Compute:
        action.time = static_cast<Instant>(chance.scaled(1000, 30'000'000));
        break;
    default:
        action.length = chance.scaled(0, 8192); /* cut to what is allowed */
    }
    return action;
}

namespace {

/* A fault that peers survive, as long as one NIC is left for messages. */
Fault draw_mild(Random &chance)
{
    using F = Fault::Kind;
    Fault fault;
    fault.kind = chance.pick({F::Slow, F::Jitter, F::BreakBulk, F::BreakBulk,
                              F::BreakBulk, F::NoRegistration, F::Silent,
                              F::Stop, F::FewQueuePairs, F::SlowCopies,
                              F::BreakNotice, F::BreakHeld,
                              F::BreakDatagrams});
    if (fault.kind == F::Silent || fault.kind == F::Stop) {
        fault.time = static_cast<Instant>(
            chance.scaled(10'000, 100'000'000)); /* well below any patience */
    }
    return fault;
}

Fault draw_hard(Random &chance)
{
    using F = Fault::Kind;
    Fault fault;
    fault.kind = chance.pick({F::Mute, F::Deaf, F::Silent, F::BreakAny,
                              F::BreakAny, F::BreakAny, F::Kill, F::Kill,
                              F::Stop, F::FewSockets, F::FewQueuePairs,
                              F::NoCopy});
    fault.time = static_cast<Instant>(chance.scaled(1'000'000,
                                                    10'000'000'000));
    if (fault.kind == F::Stop) {
        fault.time /= 5;
    }
    return fault;
}

/* In most runs with GPUs all processes have one. */
void draw_gpus(Random &chance, Scenario &s)
{
    const bool some = chance.one_in(3), all = !chance.one_in(4);
    s.copy_rates.resize(s.processes);
    s.copy_delays.resize(s.processes);
    for (unsigned p = 0; p < s.processes && some; ++p) {
        if (all || chance.one_in(2)) {
            s.copy_rates[p]  = static_cast<double>(
                s.relays && chance.one_in(2) ? /* so that others are of use */
                    chance.scaled(2'000'000, 50'000'000) :
                    chance.scaled(100'000'000, 20'000'000'000));
            s.copy_delays[p] = static_cast<Instant>(chance.scaled(1000, 20'000));
        }
    }
    const size_t chunk     = chance.pick({size_t{32}, size_t{64}, size_t{256}});
    s.gpu_chunk            = std::to_string(chunk) + "k";
    s.relay_memory         = std::to_string(2 * chunk * chance.between(1, 12)) +
                             "k";
    s.gpu_direct           = chance.one_in(3) ? "y" : "n";
    s.profile.reaches_gpus = chance.one_in(2);
    s.connect_ep           = chance.one_in(5);
    s.relays               = s.relays && some && all;
}

/* Where NICs reach GPUs, each may have some of them near it, and leave the others to
 * others. */
void draw_near(Random &chance, Scenario &s)
{
    s.gpu_near.assign(s.processes, ~0u);
    if (chance.one_in(2) || !s.profile.reaches_gpus) {
        return;
    }
    s.gpu_direct = "auto";
    for (uint32_t &near : s.gpu_near) {
        near = 1u << chance.below(s.nics);
        for (unsigned nic = 0; nic < s.nics; ++nic) {
            near |= static_cast<uint32_t>(chance.one_in(4)) << nic;
        }
    }
}

/* In threes: a put, a fence, and what must not overtake the put, or tells of it, on
 * the same endpoint. `at`: of its program's actions; `first`: the first of its three. */
void order(Random &chance, uint64_t at, Action &first, Action &action)
{
    switch (at % 3) {
    case 0:
        action.kind   = chance.pick({Kind::PutShort, Kind::PutBcopy,
                                     Kind::PutZcopy, Kind::GetBack});
        action.length = chance.scaled(1, 16 << 10);
        first         = action;
        break;
    case 1:
        action.kind = chance.one_in(4) ? Kind::FenceIface : Kind::Fence;
        break;
    default:
        action.kind = chance.pick({Kind::PutOver, Kind::PutOver, Kind::GetBack,
                                   Kind::AmShort});
    }
    action.peer  = first.peer;
    action.slot  = first.slot;
    action.queue = false;
}

/* Puts that take a while, so that whoever receives several is asked of it. From
 * chance of their own, as what is for people: all else stays as it is. */
void draw_heavy(uint64_t seed, Scenario &s)
{
    Random chance(seed, 79);
    s.heavy = chance.one_in(s.to_one ? 3 : 12);
    if (!s.heavy) {
        return;
    }
    s.arena = kHeavyArena;
    for (auto &script : s.scripts) {
        for (Action &action : script) {
            Random own(seed, 30'000 + action.number);
            if (action.kind == Kind::PutZcopy && own.one_in(3)) {
                action.length = own.between(1 << 20, 3 << 19);
            }
        }
    }
}

void draw_watching(uint64_t seed, Scenario &s)
{
    Random chance(seed, 80);
    s.traces  = chance.one_in(6);
    s.reports = chance.one_in(6);
}

/* The same for who rests at the end. */
void draw_rest(uint64_t seed, Scenario &s)
{
    s.rests = !s.fair && Random(seed, 82).one_in(5); /* connections break */
}

/* In some runs over streams one NIC is lost, of some nodes, for long enough that their
 * kernels give up, and nothing else happens: the others carry all, and soon. From chance
 * of its own, too. */
void draw_loss(uint64_t seed, Scenario &s)
{
    using F = Fault::Kind;
    Random chance(seed, 82);
    s.loses_nic = s.wires == Wires::Tcp && s.nics > 1 && !s.faults.empty() &&
                  chance.one_in(4) && all_stay(s); /* who is gone is waited for */
    if (s.loses_nic) {
        s.profile.patience = 10 * kSecond; /* longer than anybody may wait */
    }
    for (Fault &fault : s.faults) {
        if (s.loses_nic) {
            Random own(seed, 60'000 + fault.number);
            fault.kind = own.pick({F::Mute, F::Deaf, F::Silent});
            fault.nic  = static_cast<unsigned>(seed % s.nics);
            fault.time = static_cast<Instant>(own.scaled(50'000'000,
                                                         10'000'000'000));
        }
    }
}

/* Of some NICs that fall silent it is because the cable is pulled. From chance of its
 * own, too. */
void draw_cables(uint64_t seed, Scenario &s)
{
    using F = Fault::Kind;
    for (Fault &fault : s.faults) {
        Random chance(seed, 40'000 + fault.number);
        if ((fault.kind == F::Mute || fault.kind == F::Deaf ||
             fault.kind == F::Silent) && chance.one_in(4)) {
            fault.kind = F::Unplug;
        }
    }
}

/* A NIC is silent for longer than any operation may take, and its kernel as patient as
 * real ones, or it is itself; for some at the moment when otherwise a notice breaks. One
 * in a run, and only where another NIC goes on. Where nobody but RDMA NICs says that a
 * process is gone, none goes. */
void draw_long_silence(Scenario &s)
{
    using F = Fault::Kind;
    const bool killed = std::any_of(s.faults.begin(), s.faults.end(),
                                    [](const Fault &fault) {
                                        return fault.kind == F::Kill;
                                    });
    if (s.profile.rdma && (killed || !all_stay(s))) {
        return;
    }
    for (Fault &fault : s.faults) {
        if ((fault.kind == F::BreakNotice || fault.kind == F::Silent ||
             fault.kind == F::Mute || fault.kind == F::Deaf) &&
            Random(s.seed, 50'000 + fault.number).one_in(2)) {
            fault.kind = fault.kind == F::BreakNotice ? F::SilentNotice :
                                                        fault.kind;
            fault.time = 600 * kSecond;
            s.profile.patience = 900 * kSecond;
            return;
        }
    }
}

/* A path falls silent, is mended, and falls silent: so programs go on until it is mended,
 * and then want a bit more. From chance of its own, too. */
void draw_again(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    constexpr unsigned kPauses = 24, kPuts = 6;
    const bool stay = std::none_of(
        s.scripts.begin(), s.scripts.end(), [](const auto &script) {
            return !script.empty() && script.back().kind == Kind::Leave;
        });
    const auto fault = std::find_if(
        s.faults.begin(), s.faults.end(), [&](const Fault &one) {
            return one.kind == Fault::Kind::BreakBulk &&
                   Random(seed, 70'000 + one.number).one_in(2);
        });
    if (!stay || fault == s.faults.end()) {
        return;
    }
    fault->kind     = Fault::Kind::SilentAgain;
    fault->time     = 300 * kMillisecond;
    unsigned number = kMostNumbers / 2;
    for (unsigned p = 0; p < s.processes; ++p) {
        for (unsigned i = 0; i < kPauses + kPuts; ++i) {
            Random own(seed, 70'000 + number);
            Action action = draw_action(own, s, p);
            action.kind   = i < kPauses ? Kind::Compute : Kind::PutZcopy;
            action.time   = 30 * kMillisecond;
            action.length = own.between(32 << 10, 64 << 10);
            action.number = number++;
            add(cuts, action, p, s);
        }
    }
}

/* Of some faults of connections it is the queue pair for messages. From chance of its own, too. */
void draw_lanes(uint64_t seed, Scenario &s)
{
    using F = Fault::Kind;
    for (Fault &fault : s.faults) {
        Random chance(seed, 60'000 + fault.number);
        if (s.profile.rdma && s.profile.queue_pairs &&
            (fault.kind == F::BreakAny || fault.kind == F::BreakHeld ||
             fault.kind == F::BreakDatagrams) && chance.one_in(2)) {
            fault.kind   = F::BreakLane;
            fault.amount = chance.scaled(1, 4000);
            fault.time   = chance.one_in(3) ? 0 :
                               static_cast<Instant>(
                                   chance.scaled(1000, 20'000'000));
        }
    }
}

/* As where they were found to be better: on NICs that are fast. */
void draw_long_chunks(uint64_t seed, Scenario &s)
{
    constexpr double kFast = sched::BulkTrials::kFastForLong.bytes_per_second();
    if (Random(seed, 113).one_in(16) &&
        *std::max_element(s.rates.begin(), s.rates.end()) > kFast) {
        s.min_chunk = "1m";
    }
}

/* Nodes are shared by two jobs, whose processes send to each other all the same. */
void draw_jobs(uint64_t seed, Scenario &s)
{
    s.jobs = Random(seed, 116).one_in(2) ? 2 : 1;
}

/* Some programs are stopped for longer than what was cancelled is waited for. */
void draw_stops(uint64_t seed, Scenario &s)
{
    for (Fault &fault : s.faults) {
        if (fault.kind == Fault::Kind::Stop && fault.time > kSecond / 2 &&
            Random(seed, 87 + fault.number).one_in(2)) {
            fault.time = kSecond * 4 + fault.time * 2;
        }
    }
}

} // namespace

const char *name_of(Wires wires)
{
    switch (wires) {
    case Wires::Tcp:
        return "tcp";
    case Wires::Rc:
        return "rc";
    case Wires::Ud:
        return "ud";
    case Wires::Mixed:
        return "mixed";
    }
    return "";
}

bool parse(const std::string &text, Wires &wires)
{
    for (Wires one : {Wires::Tcp, Wires::Rc, Wires::Ud, Wires::Mixed}) {
        if (text == name_of(one)) {
            wires = one;
            return true;
        }
    }
    return false;
}

const char *name_of(Action::Kind kind)
{
    static const char *const names[] = {
        "am short", "am bcopy", "am zcopy", "put short", "put bcopy",
        "put zcopy", "put over", "get bcopy", "get zcopy", "get back",
        "fence", "fence iface", "flush", "flush iface", "cancel", "close ep",
        "compute", "sleep", "leave", "revoke", "wait"};
    return names[static_cast<size_t>(kind)];
}

const char *name_of(Fault::Kind kind)
{
    static const char *const names[] = {
        "mute", "deaf", "silent", "slow", "jitter", "break bulk", "break any",
        "stop", "kill", "no registration", "few sockets", "few queue pairs",
        "slow copies", "no copy", "break notice", "break held",
        "break datagrams", "unplug", "silent notice", "break lane",
        "silent again", "lag pair", "late", "break own"};
    return names[static_cast<size_t>(kind)];
}

Scenario draw(uint64_t seed, Wires wires, const Cuts &cuts)
{
    Random   chance(seed, 77);
    Scenario s;
    s.seed  = seed;
    s.wires = wires;
    draw_profile(chance, wires, s.profile);
    s.to_one    = chance.one_in(8);
    s.keeps     = chance.one_in(2);
    s.nodes     = static_cast<unsigned>(s.to_one ? chance.between(4, 6) :
                                                   chance.between(2, 3));
    s.processes = s.nodes + static_cast<unsigned>(chance.below(2));
    s.relays    = !s.to_one && chance.one_in(4);
    if (s.relays) { /* two of each node */
        s.nodes     = 2;
        s.processes = 4;
    }
    s.nics      = static_cast<unsigned>(chance.between(1, 4));
    s.nics      = cuts.nics != 0 ? cuts.nics : s.nics;
    s.deputies  = cuts.deputies;
    s.slots     = static_cast<unsigned>(chance.between(1, 2));
    s.arena     = 2 << 20;
    s.library   = 256 << 10;
    for (unsigned i = 0; i < s.nodes * s.nics; ++i) {
        s.rates.push_back(static_cast<double>(
            chance.scaled(20'000'000, 5'000'000'000)));
        s.delays.push_back(static_cast<Instant>(chance.scaled(500, 200'000)));
    }
    s.policy = chance.pick({"auto", "finish", "finish", "plan", "idle",
                            "stripe", "single"});
    s.min_chunk  = chance.pick({"512", "2k", "16k"});
    s.chunk_time = chance.pick({"20us", "200us", "2ms"});
    s.inline_get = chance.pick({"0", "2k", "8k"});
    s.board      = !chance.one_in(4);
    s.spread     = Random(seed, 97).one_in(2) ? "y" : "auto";
    Random gpus(seed, 78), near(seed, 117);
    draw_gpus(gpus, s);
    draw_near(near, s);

    /* Fair: nothing happens. Then faults that nobody notices, those that may end a
     * connection, with programs that leave when they like; and programs that leave one
     * after the other when all is done. */
    const unsigned weather = static_cast<unsigned>(chance.below(5));
    constexpr unsigned kFair = 0, kHard = 3, kLeaving = 4;
    s.fair                   = weather == kFair;
    s.leaves_in_order        = weather == kLeaving;
    s.leaves_at_once         = s.leaves_in_order && Random(seed, 84).one_in(2);
    unsigned number        = 0;
    s.scripts.resize(s.processes);
    const auto actions = chance.between(4, 28);
    const bool ordered = Random(seed, 81).one_in(6);
    for (unsigned p = 0; p < s.processes; ++p) {
        Action first;
        for (uint64_t i = 0; i < actions; ++i) {
            Random own(seed, 10'000 + number);
            Action action = draw_action(own, s, p);
            if (ordered) {
                order(own, i, first, action);
            }
            action.number = number++;
            add(cuts, action, p, s);
        }
        Random own(seed, 10'000 + number);
        Action leave;
        leave.kind   = Kind::Leave;
        leave.number = number++;
        if (weather == kHard && own.one_in(4) &&
            cuts.left_out.count(leave.number) == 0) {
            const size_t at = own.below(s.scripts[p].size() + 1);
            s.scripts[p].resize(at);
            s.scripts[p].push_back(leave);
        }
    }
    number = kMostNumbers;
    const uint64_t faults = weather == kFair || weather == kLeaving ?
                                0 : chance.between(1, 3);
    for (uint64_t i = 0; i < faults; ++i) {
        Random own(seed, 10'000 + number);
        Fault  fault  = weather == kHard && own.percent(70) ? draw_hard(own) :
                                                          draw_mild(own);
        fault.number  = number++;
        fault.when    = static_cast<Instant>(own.scaled(1000, 20'000'000));
        fault.process = static_cast<unsigned>(own.below(s.processes));
        fault.nic     = static_cast<unsigned>(own.below(s.nics));
        fault.amount  = own.scaled(1, 200'000);
        if (fault.time == 0) {
            fault.time = static_cast<Instant>(own.scaled(10'000, 50'000'000));
        }
        if (cuts.left_out.count(fault.number) == 0) {
            s.faults.push_back(fault);
        }
    }
    draw_heavy(seed, s);
    draw_watching(seed, s);
    draw_rest(seed, s);
    draw_loss(seed, s);
    draw_cables(seed, s);
    if (s.nics > 1 && wires != Wires::Ud) {
        draw_long_silence(s);
        draw_again(seed, cuts, s);
    }
    s.breaks_again = s.nics == 1 && wires != Wires::Ud && Random(seed, 85).one_in(2);
    draw_lanes(seed, s);
    s.keeps_failed = Random(seed, 86).one_in(4);
    s.profile.resolves = Random(seed, 92).one_in(4);
    draw_stops(seed, s);
    draw_cut_off(seed, cuts, s);
    draw_unplugged(seed, cuts, s);
    draw_silence_of_all(seed, cuts, s);
    draw_answerer(seed, cuts, s);
    draw_breaks_of_reader(seed, cuts, s);
    draw_lags(seed, cuts, s);
    draw_others_nics(seed, cuts, s);
    draw_crowd(seed, cuts, s);
    draw_pause(seed, cuts, s);
    draw_writing(seed, cuts, s);
    draw_revoking(seed, cuts, s);
    draw_late(seed, cuts, s);
    draw_long_chunks(seed, s);
    draw_jobs(seed, s);
    return s;
}

} // namespace fuselink::sim

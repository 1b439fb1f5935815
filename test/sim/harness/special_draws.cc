/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "special_draws.h"

#include <algorithm>

namespace fuselink::sim {
namespace {

using Kind = Action::Kind;

/* Scripts from nothing, an action after the other, between the first two programs; all else
 * of an action is drawn by its number and `base`. */
class Sayer {
public:
    Sayer(uint64_t base, const Cuts &cuts, Scenario &s) : base_(base), cuts_(cuts), s_(s)
    {
        for (auto &script : s.scripts) {
            script.clear();
        }
    }
    void operator()(unsigned p, Kind kind, size_t length, Instant time)
    {
        Random own(s_.seed, base_ + number_);
        Action action = draw_action(own, s_, p);
        action.number = number_++;
        action.peer   = 1 - p;
        action.kind   = kind;
        action.length = length;
        action.time   = time;
        add(cuts_, action, p, s_);
    }

private:
    const uint64_t base_;
    const Cuts    &cuts_;
    Scenario      &s_;
    unsigned       number_ = 0;
};

/* Gets of the first program from the second, which it cancels while they last, that
 * much later or a bit more. */
void draw_cancelled_gets(Random &chance, Instant later, const Cuts &cuts, Scenario &s)
{
    constexpr Instant kLook = kMillisecond / 2;
    Sayer say(80'000, cuts, s);
    say(0, Kind::AmShort, 8, 0);
    say(0, Kind::Flush, 0, 0);
    say(0, Kind::Compute, 0, 5 * kMillisecond);
    for (uint64_t gets = chance.between(1, 4); gets != 0; --gets) {
        say(0, Kind::GetZcopy, chance.between(32 << 10, 128 << 10), 0);
    }
    for (Instant time = 0; time < later; time += kLook) {
        say(0, Kind::Compute, 0, kLook);
    }
    say(0, Kind::Compute, 0, static_cast<Instant>(chance.scaled(100'000, 50'000'000)));
    say(0, Kind::Cancel, 0, 0);
    say(1, Kind::AmShort, 8, 0);
    say(1, Kind::Compute, 0, kMillisecond);
    s.faults.clear();
}

void add_fault(const Cuts &cuts, Fault fault, Scenario &s)
{
    if (cuts.left_out.count(fault.number) == 0) {
        s.faults.push_back(fault);
    }
}

/* Gets last for long, and what is sent stays where it is. */
void slow_down(Random &chance, Scenario &s)
{
    std::fill(s.rates.begin(), s.rates.end(),
              static_cast<double>(chance.scaled(1'000'000, 10'000'000)));
    s.profile.send_buffer = s.profile.receive_buffer =
        chance.pick({size_t{8} << 10, size_t{64} << 10});
    s.profile.patience = 900 * kSecond;
}

} // namespace

void draw_pause(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    Random chance(seed, 91);
    const bool cancels = std::any_of(
        s.scripts.begin(), s.scripts.end(), [](const auto &script) {
            return std::any_of(script.begin(), script.end(), [](const Action &action) {
                return action.kind == Kind::Cancel; /* who computes is given up then */
            });
        });
    if (!s.fair || cancels || !chance.one_in(20) ||
        cuts.left_out.count(kMostNumbers - 1) != 0) {
        return;
    }
    std::vector<Action> &script = s.scripts[chance.below(s.processes)];
    Action               pause;
    pause.kind   = Kind::Compute;
    pause.number = kMostNumbers - 1;
    pause.time   = static_cast<Instant>(chance.between(5'200, 7'000)) * kMillisecond;
    script.insert(script.begin() + static_cast<ptrdiff_t>(
                                       chance.below(script.size() + 1)), pause);
}

void draw_cut_off(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    Random chance(seed, 88);
    if (s.nics == 1 || s.wires != Wires::Tcp || s.fair || !chance.one_in(24)) {
        return;
    }
    draw_cancelled_gets(chance, 0, cuts, s);
    unsigned number = kMostNumbers;
    for (auto kind : {Fault::Kind::Stop, Fault::Kind::Unplug}) {
        Fault fault;
        fault.kind    = kind;
        fault.number  = number++;
        fault.process = kind == Fault::Kind::Stop ? 1 : 0;
        fault.nic     = static_cast<unsigned>(chance.below(s.nics));
        fault.when    = static_cast<Instant>(chance.scaled(5'000'000, 50'000'000));
        fault.time    = kind == Fault::Kind::Stop ?
                            static_cast<Instant>(chance.scaled(4'000'000'000,
                                                               9'000'000'000)) :
                            60 * kSecond;
        add_fault(cuts, fault, s);
    }
    slow_down(chance, s);
}

void draw_unplugged(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    Random chance(seed, 89);
    if (s.wires != Wires::Tcp || s.fair || !chance.one_in(24)) {
        return;
    }
    const Instant when = static_cast<Instant>(chance.scaled(6'000'000, 20'000'000));
    draw_cancelled_gets(chance, when, cuts, s);
    s.none_reaches    = true;
    s.leaves_in_order = s.leaves_at_once = false;
    s.profile.down    = chance.one_in(2);
    const unsigned process = chance.one_in(4) ? 1 : 0;
    const Instant  time    = static_cast<Instant>(chance.between(3'200, 11'000)) *
                             kMillisecond;
    const bool     silent = chance.one_in(3);
    const uint64_t one    = chance.below(2 * s.nics); /* it may be none */
    for (unsigned nic = 0; nic < s.nics; ++nic) {
        Fault fault;
        fault.kind    = silent || nic == one ? Fault::Kind::Silent : Fault::Kind::Unplug;
        fault.number  = kMostNumbers + nic;
        fault.process = process;
        fault.nic     = nic;
        fault.when    = when + static_cast<Instant>(chance.below(5'000'000));
        fault.time    = time;
        add_fault(cuts, fault, s);
    }
    slow_down(chance, s);
}

void draw_silence_of_all(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    constexpr unsigned kRounds = 40;
    Random chance(seed, 119);
    if (s.wires != Wires::Tcp || s.nics == 1 || s.fair || s.none_reaches || s.loses_nic ||
        !chance.one_in(24)) {
        return;
    }
    s.loses_all       = true;
    s.leaves_in_order = s.leaves_at_once = s.rests = false;
    s.faults.clear();
    Sayer      say(119'000, cuts, s);
    const bool both = chance.one_in(2);
    for (unsigned i = 0; i < kRounds; ++i) {
        for (unsigned p : {0u, 1u}) {
            say(p, Kind::AmShort, 8, 0);
            say(p, p == 0 || both ? Kind::PutZcopy : Kind::GetZcopy,
                chance.between(32 << 10, 256 << 10), 0);
            say(p, i % 4 == 3 ? Kind::Flush : Kind::Compute, 0,
                static_cast<Instant>(chance.scaled(100'000, 20'000'000)));
        }
    }
    const Instant when = static_cast<Instant>(chance.scaled(5'000'000, 100'000'000));
    const Instant time = static_cast<Instant>(chance.between(1'500, 14'000)) * kMillisecond;
    const auto    turn = static_cast<Instant>(chance.pick({0, 0, 30, 100}) * kMillisecond);
    Random        later(seed, 120);
    const auto    last  = later.below(2 * s.nics); /* is back last, or none is */
    const Instant until = static_cast<Instant>(later.scaled(10, 1'500)) * kMillisecond;
    for (unsigned nic = 0; nic < s.nics; ++nic) {
        Fault fault;
        fault.kind    = Fault::Kind::Silent;
        fault.number  = kMostNumbers + nic;
        fault.process = 1;
        fault.nic     = nic;
        fault.when    = when + turn * nic;
        fault.time    = time + (nic == last ? until : 0);
        add_fault(cuts, fault, s);
    }
    for (double &rate : s.rates) {
        rate = static_cast<double>(chance.scaled(5'000'000, 50'000'000));
    }
    s.profile.patience     = 900 * kSecond;
    s.profile.most_doubles = 9;
}

void draw_answerer(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    Random chance(seed, 140);
    if (s.wires != Wires::Tcp || s.fair || s.nics == 1 || s.none_reaches || s.loses_all ||
        !chance.one_in(24)) {
        return;
    }
    s.loses_nic = true;
    s.policy    = s.policy == "finish" || s.policy == "idle" ? s.policy : "auto";
    s.leaves_in_order = s.leaves_at_once = s.rests = false;
    s.relays          = false;
    s.profile.patience    = 900 * kSecond;
    s.profile.late_answer = chance.pick({0, 40}) * kMillisecond;
    s.profile.send_again  = kSecond;
    s.profile.tail_probe  = static_cast<Instant>(chance.between(8, 24)) * kMillisecond;
    s.profile.send_buffer = s.profile.receive_buffer =
        chance.pick({size_t{64} << 10, size_t{256} << 10});
    std::fill(s.copy_rates.begin(), s.copy_rates.end(), 0.0);
    std::fill(s.delays.begin(), s.delays.end(), 20 * kMicrosecond);
    std::fill(s.rates.begin(), s.rates.end(),
              static_cast<double>(chance.scaled(5'000'000, 10'000'000)));
    Sayer          say(140'000, cuts, s);
    const uint64_t most = chance.scaled(1, 20); /* of a rest, ms */
    const double   rate = s.rates.front() * s.nics;
    say(1, Kind::AmShort, 8, 0);
    say(0, Kind::AmShort, 8, 0);
    for (double time = 0; time < 2.6;) {
        for (uint64_t puts = chance.between(1, 3); puts != 0; --puts) {
            const size_t length = chance.between(64 << 10, 256 << 10);
            say(0, Kind::PutZcopy, length, 0);
            time    += static_cast<double>(length) / rate;
            s.arena += length;
        }
        const auto rest = static_cast<Instant>(chance.between(0, most)) * kMillisecond;
        say(0, Kind::Flush, 0, 0);
        say(0, Kind::Wait, 0, rest);
        time += static_cast<double>(rest) / kSecond;
    }
    s.faults.clear();
    for (const bool last : {false, true}) {
        Fault fault;
        fault.kind    = chance.pick({Fault::Kind::Silent, Fault::Kind::Mute,
                                     Fault::Kind::Deaf});
        fault.number  = kMostNumbers + last;
        fault.process = static_cast<unsigned>(chance.below(2));
        fault.nic     = static_cast<unsigned>(chance.below(s.nics));
        fault.when    = static_cast<Instant>(chance.between(600, 800) +
                                             (last ? 1'600 : 0)) * kMillisecond;
        fault.time    = last ? 600 * kSecond :
                               static_cast<Instant>(chance.between(300, 500)) *
                                   kMillisecond;
        s.answers_from = fault.when; /* before the last some are new, and have longer */
        add_fault(cuts, fault, s);
    }
}

/* What breaks is found by who reads, again and again, and mended each time. */
void draw_breaks_of_reader(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    constexpr unsigned kBreaks = 6; /* of each NIC's pair, about */
    constexpr unsigned kRounds = 160; /* each break rests twice as long as the one before */
    Random chance(seed, 94);
    if ((s.wires != Wires::Rc && s.wires != Wires::Mixed) || s.fair || s.none_reaches ||
        !chance.one_in(24)) {
        return;
    }
    s.leaves_in_order = s.leaves_at_once = false;
    const bool twice = s.nics > 1 && Random(seed, 95).one_in(2); /* else it is asked to write */
    Sayer say(95'000, cuts, s);
    for (unsigned i = 0; i < (twice ? kRounds : 2 * kBreaks * s.nics); ++i) {
        for (unsigned gets = 0; gets < 3; ++gets) {
            say(0, Kind::GetZcopy, chance.between(64 << 10, 128 << 10), 0);
        }
        say(0, Kind::Flush, 0, 0);
        say(0, Kind::Compute, 0, static_cast<Instant>(chance.between(50, 500)) *
                                     kMillisecond);
    }
    Fault fault;
    fault.kind   = Fault::Kind::BreakOwn;
    fault.number = kMostNumbers;
    fault.amount = kBreaks * s.nics;
    fault.time   = twice ? 1 : 0; /* and again before it is made */
    s.faults.clear();
    add_fault(cuts, fault, s);
}

void draw_lags(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    constexpr unsigned kRounds   = 160;
    constexpr Instant  kLongest  = 7 * kSecond;
    constexpr Instant  kPatience = 8 * kSecond; /* or it gives up, which is another fault */
    Random chance(seed, 96);
    if ((s.wires != Wires::Rc && s.wires != Wires::Mixed) || s.fair || s.none_reaches ||
        s.relays || !chance.one_in(24)) {
        return;
    }
    s.lags                 = true;
    s.profile.nic_patience = kPatience;
    s.leaves_in_order = s.leaves_at_once = s.rests = false;
    s.breaks_again    = false;
    s.faults.clear();
    Sayer say(96'000, cuts, s);
    for (unsigned i = 0; i < kRounds; ++i) {
        say(0, Kind::PutZcopy, chance.between(64 << 10, 128 << 10), 0);
        say(0, Kind::Compute, 0, static_cast<Instant>(chance.between(2, 20)) *
                                     kMillisecond);
    }
    for (unsigned i = 0, most = static_cast<unsigned>(chance.between(1, 4)); i < most; ++i) {
        Fault fault;
        fault.kind   = Fault::Kind::LagPair;
        fault.number = kMostNumbers + i;
        fault.when   = static_cast<Instant>(chance.between(5, 1500)) * kMillisecond;
        fault.amount = chance.next();
        fault.time   = static_cast<Instant>(chance.scaled(100'000'000, uint64_t{kLongest}));
        add_fault(cuts, fault, s);
    }
}

void draw_others_nics(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    Random chance(seed, 118);
    if ((s.wires != Wires::Rc && s.wires != Wires::Mixed) || !s.relays || s.nics < 2 ||
        s.lags || s.none_reaches || chance.one_in(3)) {
        return;
    }
    s.profile.reaches_gpus = true;
    s.gpu_direct           = "auto";
    s.arena                = kHeavyArena;
    const auto own = static_cast<unsigned>(chance.between(1, s.nics - 1));
    for (unsigned p = 0; p < s.processes; ++p) {
        s.gpu_near[p] = p < s.nodes ? (1u << own) - 1 : ~0u << own;
    }
    for (double &rate : s.rates) {
        rate = static_cast<double>(chance.scaled(20'000'000, 1'000'000'000));
    }
    Sayer      say(118'000, cuts, s);
    const auto rounds = chance.between(4, 14);
    const bool both   = chance.one_in(2);
    for (uint64_t i = 0; i < rounds; ++i) {
        for (unsigned p = 0; p <= (both ? 1u : 0u); ++p) {
            say(p, Kind::PutZcopy, chance.scaled(64 << 10, 1 << 20), 0);
            say(p, Kind::Compute, 0, static_cast<Instant>(chance.scaled(
                                         1000, 20 * uint64_t{kMillisecond})));
        }
    }
    for (unsigned p = s.nodes; p < s.processes; ++p) {
        say(p, Kind::Compute, 0, static_cast<Instant>(chance.scaled(
                                     uint64_t{kMillisecond}, 200 * uint64_t{kMillisecond})));
    }
}

void draw_crowd(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    constexpr unsigned kRounds = 300;
    Random chance(seed, 98);
    if (s.wires != Wires::Tcp || !s.fair || s.nics == 1 || !chance.one_in(4)) {
        return;
    }
    s.crowded             = true;
    s.to_one              = false;
    s.profile.late_answer = 40 * kMillisecond;
    s.profile.send_buffer = s.profile.receive_buffer =
        chance.pick({size_t{64} << 10, size_t{256} << 10});
    /* What a program says waits behind bulk data, for as long as a wire is silent until it is
     * left and longer. */
    std::fill(s.delays.begin(), s.delays.end(), 20 * kMicrosecond);
    for (double &rate : s.rates) {
        rate = static_cast<double>(chance.scaled(1'000'000, 20'000'000));
    }
    Sayer say(98'000, cuts, s);
    const bool heavy[] = {chance.one_in(2), chance.one_in(2)};
    for (unsigned i = 0; i < kRounds; ++i) {
        for (unsigned p : {0u, 1u}) {
            say(p, Kind::AmShort, 8, 0);
            say(p, Kind::PutZcopy, heavy[p] && i % 2 == 0 ?
                                       chance.between(32 << 10, 96 << 10) :
                                       chance.between(1 << 10, 12 << 10), 0);
            say(p, i % 8 == 7 ? Kind::Flush : Kind::Compute, 0,
                static_cast<Instant>(chance.scaled(100'000, 8'000'000)));
        }
    }
}

void draw_late(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    Random chance(seed, 102);
    if (s.nics == 1 || (s.wires != Wires::Tcp && s.wires != Wires::Mixed) || s.fair ||
        s.none_reaches || s.lags || s.loses_nic || s.loses_all || !chance.one_in(10) ||
        (s.nics == 2 && !s.faults.empty())) { /* nothing might be left */
        return;
    }
    const auto nic   = static_cast<unsigned>(chance.below(s.nics));
    const auto nodes = static_cast<unsigned>(chance.between(1, 2));
    for (unsigned node = 0; node < nodes; ++node) {
        Fault fault;
        fault.kind    = Fault::Kind::Late;
        fault.number  = kMostNumbers + 500 + node;
        fault.process = node; /* of that node */
        fault.nic     = nic;
        fault.when    = static_cast<Instant>(chance.scaled(10'000, 1'000'000'000));
        add_fault(cuts, fault, s);
    }
}

void draw_writing(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    Random chance(seed, 93);
    const bool reads_alone = std::any_of(
        s.faults.begin(), s.faults.end(), [](const Fault &fault) {
            return fault.kind == Fault::Kind::BreakOwn && fault.time != 0;
        });
    if (!chance.one_in(4) || reads_alone || s.answers_from != 0) {
        return;
    }
    for (auto &script : s.scripts) {
        for (Action &action : script) {
            Random own(seed, 90'000 + action.number);
            action.writes = is_message(action.kind) && own.one_in(2);
            action.copied = own.one_in(2);
            if (action.kind == Kind::Fence && own.one_in(2)) {
                action.kind = Kind::FenceIface;
            }
        }
    }
    if (!all_stay(s)) {
        return;
    }
    unsigned       number = kMostNumbers / 2 + 1000;
    const uint64_t most   = chance.between(2, 8);
    for (unsigned p = 0; p < s.processes; ++p) {
        for (uint64_t i = 0; i < most; ++i) {
            Random own(seed, 90'000 + number);
            Action first = draw_action(own, s, p);
            auto   say   = [&](Kind kind, size_t length) {
                Action action = first;
                action.kind   = kind;
                action.length = length;
                action.seed   = own.next();
                action.number = number++;
                action.writes = is_message(kind);
                action.copied = own.one_in(2);
                action.time   = static_cast<Instant>(own.scaled(10'000, 5'000'000));
                add(cuts, action, p, s);
            };
            if (own.one_in(2)) {
                say(Kind::Compute, 0);
            }
            say(own.pick({Kind::AmShort, Kind::AmBcopy, Kind::AmZcopy}),
                own.scaled(1, 4096));
            say(Kind::FenceIface, 0);
            say(own.pick({Kind::GetBack, Kind::PutOver}), 1);
        }
    }
}

void draw_revoking(uint64_t seed, const Cuts &cuts, Scenario &s)
{
    constexpr unsigned kRevokes = kMostNumbers - 100; /* numbers of actions from there on */
    Random chance(seed, 121);
    if (!chance.one_in(5)) {
        return;
    }
    s.revocable = true;
    for (auto &script : s.scripts) {
        for (Action &action : script) {
            Random own(seed, 121'000 + action.number);
            const bool may = (is_put(action.kind) && action.kind != Kind::PutOver) ||
                             (is_get(action.kind) && action.kind != Kind::GetBack);
            action.revocable = may && own.one_in(2);
            action.to_gpu    = action.to_gpu && !action.revocable;
        }
    }
    for (unsigned p = 0; p < s.processes; ++p) {
        std::vector<Action> &script = s.scripts[p];
        Action               action;
        action.kind   = Kind::Revoke;
        action.number = kRevokes + p;
        const auto at = static_cast<ptrdiff_t>(chance.below(script.size() + 1));
        const bool leaves = !script.empty() && script.back().kind == Kind::Leave;
        if (chance.one_in(2) && cuts.left_out.count(action.number) == 0) {
            script.insert(script.begin() + std::max(at - leaves, ptrdiff_t{0}), action);
        }
    }
}

} // namespace fuselink::sim

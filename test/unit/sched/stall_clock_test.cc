/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "stall_wire.h"

#include <gtest/gtest.h>

namespace fuselink::sched {
namespace {

TEST(StallClock, IsFineWhileItGoes)
{
    Wire wire;
    wire.view.in_flight = true;
    wire.pass(Nanos::seconds(10), ms(1), [&] {
        wire.acked = wire.sent = wire.view.peer_done_at = wire.view.now;
    });
    EXPECT_EQ(wire.worst, Health::Fine);
}

TEST(StallClock, IsFineWhileNothingIsToBeAcknowledged)
{
    Wire wire;
    wire.pass(Nanos::seconds(100), ms(7), [&] {
        wire.view.peer_done_at = wire.view.now;
    });
    EXPECT_EQ(wire.worst, Health::Fine);
    /* After a long rest silence begins with what is sent then. */
    wire.view.in_flight = true;
    wire.sent           = wire.view.now;
    EXPECT_EQ(wire.look(), Health::Fine);
    EXPECT_EQ(wire.clock.silence(), Nanos());
}

/* The other was before it. Silence lasts as long as otherwise. */
TEST(StallClock, WhatIsSentAgainAtTheFirstLookIsASecondPacket)
{
    for (const bool again : {false, true}) {
        Wire wire;
        wire.pass(ms(20), ms(2), [&] { wire.view.peer_done_at = wire.view.now; });
        wire.view.in_flight  = true;
        wire.view.sent_again = again;
        wire.sent            = wire.view.now;
        const Nanos sent     = wire.sent;
        const Nanos dead     = wire.pass(ms(150), ms(2), [&] {
            wire.view.peer_done_at = wire.view.now;
        });
        if (again) {
            EXPECT_GE(dead - sent, StallClock::deadline(wire.view));
            EXPECT_LE(dead - sent, StallClock::longest(wire.view));
        } else {
            EXPECT_EQ(wire.worst, Health::Suspect);
        }
    }
}

/* That was acknowledged, and what followed is one packet. */
TEST(StallClock, WhatWasSentAgainAndHasComeIsNoSecondPacket)
{
    Wire wire;
    wire.view.tick = ms(4);
    wire.pass(ms(20), ms(2), [&] { wire.view.peer_done_at = wire.view.now; });
    wire.view.in_flight  = true;
    wire.view.sent_again = true;
    wire.sent            = wire.view.now;
    wire.look();
    wire.acked = wire.sent = wire.sent + ms(2);
    wire.view.sent_again   = false;
    wire.pass(ms(150), ms(2), [&] { wire.view.peer_done_at = wire.view.now; });
    EXPECT_EQ(wire.worst, Health::Suspect);
}

/* Under traffic, whatever the kernel's tick. */
TEST(StallClock, ASilentWireIsDeadWithinFiftyMilliseconds)
{
    for (int64_t tick : {1, 4, 10}) {
        for (int64_t rtt : {20, 200, 1000}) {
            for (int64_t every : {100, 1000, 4000}) {
                Wire wire(ms(tick));
                wire.view.in_flight     = true;
                wire.view.rtt           = Nanos::micros(rtt);
                wire.view.rtt_deviation = Nanos::micros(rtt / 4);
                wire.pass(ms(500), Nanos::micros(every), [&] {
                    wire.acked = wire.sent = wire.view.now;
                    wire.view.peer_done_at = wire.view.now;
                });
                ASSERT_EQ(wire.worst, Health::Fine);
                const Nanos last = wire.acked;
                const Nanos dead = wire.pass(ms(500), Nanos::micros(every), [&] {
                    wire.sent              = wire.view.now;
                    wire.view.peer_done_at = wire.view.now;
                });
                EXPECT_LE(dead - last, ms(50)) << tick << " " << rtt << " " << every;
                EXPECT_GE(dead - last, ms(20)) << tick << " " << rtt << " " << every;
            }
        }
    }
}

/* A kernel may wait 40 ms, if its program does not read, or with what is little. */
TEST(StallClock, AKernelThatMayWaitHasMoreTime)
{
    for (const bool runs : {false, true}) {
        for (const bool much : {false, true}) {
            Wire wire;
            wire.view.in_flight = true;
            wire.view.much      = much;
            wire.program_runs   = runs;
            const Nanos last    = wire.view.now;
            const Nanos dead    = wire.pass(ms(200), ms(1), [&] {
                wire.sent = wire.view.peer_done_at = wire.view.now;
            });
            EXPECT_GE(dead - last, runs && much ? ms(35) : ms(75));
            EXPECT_LE(dead - last, runs && much ? ms(38) : ms(78));
        }
    }
}

/* What it did before the second half, it did perhaps before anything came; and who did
 * something once may have had a processor for a moment. */
TEST(StallClock, AProgramThatAnswersHasSomeTimeToRead)
{
    for (const bool again : {false, true}) {
        for (const int64_t at : {10, 20, 32}) {
            Wire wire;
            wire.view.in_flight = true;
            wire.program_runs   = false;
            const Nanos last    = wire.view.now;
            const Nanos dead    = wire.pass(ms(200), ms(1), [&] {
                wire.sent = wire.view.peer_done_at = wire.view.now;
                const Nanos since = wire.view.now - last;
                if (since == ms(at) || (again && since == ms(at + 8))) {
                    wire.view.program_at = wire.view.now;
                }
            });
            const int64_t wanted = !again || at == 10 ? 75 : at == 20 ? 35 : 40;
            EXPECT_GE(dead - last, ms(wanted)) << at << again;
            EXPECT_LE(dead - last, ms(wanted + 3)) << at << again;
        }
    }
}

TEST(StallClock, IsSuspectBeforeItIsDead)
{
    Wire wire;
    wire.view.in_flight = true;
    wire.look();
    bool suspect = false;
    wire.pass(ms(100), ms(1), [&] {
        wire.sent              = wire.view.now;
        wire.view.peer_done_at = wire.view.now;
        suspect |= wire.worst == Health::Suspect;
    });
    EXPECT_TRUE(suspect);
    EXPECT_EQ(wire.worst, Health::Dead);
}

/* The last packet of a burst is lost, and comes again after 200 ms. */
TEST(StallClock, ALostTailIsSuspectAtMost)
{
    Wire wire;
    wire.view.in_flight = true;
    wire.sent = wire.view.now += ms(1);
    wire.pass(ms(200), ms(1), [&] { wire.view.peer_done_at = wire.view.now; });
    EXPECT_EQ(wire.worst, Health::Suspect);
    /* The other packet is acknowledged at once. */
    wire.sent             = wire.view.now;
    wire.view.retransmits = 1;
    wire.pass(Nanos::micros(400), Nanos::micros(100), [] {});
    wire.acked          = wire.view.now;
    wire.view.in_flight = false;
    wire.view.retransmits = 0;
    EXPECT_EQ(wire.look(), Health::Fine);
    EXPECT_EQ(wire.worst, Health::Suspect);
}

/* A probe of the caller's is the second packet. */
/* A full queue drops the rest of a burst, and what is sent again at once: what left a few
 * milliseconds after the last acknowledgement is no second packet, also where that one
 * was too near the one before to be new. A tick of 10 ms does not tell them apart. */
TEST(StallClock, ALostBurstIsSuspectAtMost)
{
    for (int64_t tick : {1, 4}) {
        Wire wire(ms(tick));
        wire.view.in_flight     = true;
        wire.view.rtt           = Nanos::micros(6200);
        wire.view.rtt_deviation = Nanos::micros(4200);
        auto goes_on = [&] { wire.view.peer_done_at = wire.view.now; };
        wire.pass(ms(200), ms(1), [&] {
            goes_on();
            wire.acked = wire.sent = wire.view.now;
        });
        wire.pass(ms(9), ms(1), [&] {
            goes_on();
            wire.sent = wire.view.now;
        });
        wire.acked = wire.view.now;
        wire.pass(ms(7), ms(1), [&] {
            goes_on();
            wire.sent = wire.view.now;
        });
        EXPECT_EQ(wire.pass(ms(190), ms(2), goes_on), Nanos::max());
        EXPECT_EQ(wire.worst, Health::Suspect);
    }
}

TEST(StallClock, AnUnansweredProbeDecides)
{
    Wire wire;
    wire.view.in_flight = true;
    wire.sent = wire.view.now += ms(1);
    const Nanos begun = wire.view.now;
    const Nanos dead  = wire.pass(ms(100), ms(1), [&] {
        wire.view.peer_done_at = wire.view.now;
        if (wire.worst == Health::Suspect && wire.view.probed_at == Nanos()) {
            wire.view.probed_at = wire.view.now;
        }
    });
    EXPECT_LE(dead - begun, ms(50));
}

TEST(StallClock, AnAnsweredProbeMeansThatTheWireIsGood)
{
    Wire wire;
    wire.view.in_flight = true;
    wire.sent = wire.view.now += ms(1);
    wire.pass(Nanos::seconds(1), ms(1), [&] {
        wire.view.peer_done_at = wire.view.now;
        if (wire.view.now - wire.view.probed_at > ms(30)) {
            wire.view.probed_at = wire.view.now;
        } else if (wire.view.now - wire.view.probed_at >= ms(1)) {
            wire.view.answered_at = wire.view.now;
            wire.view.pair_acked_at = wire.view.now;
        }
    });
    EXPECT_NE(wire.worst, Health::Dead);
}

/* A probe alone: nothing else is under way. */
TEST(StallClock, AProbeOfAnIdleWireIsMissed)
{
    Wire wire;
    wire.view.probed_at = wire.view.now += ms(1);
    const Nanos begun   = wire.view.now;
    const Nanos dead    = wire.pass(ms(200), ms(1), [&] {
        wire.view.peer_done_at = wire.view.now;
        if (wire.view.now - wire.view.probed_at >= ms(15)) {
            wire.view.probed_at = wire.view.now; /* another */
        }
    });
    EXPECT_LE(dead - begun, ms(60));
}

/* If all paths to the peer are silent it is not for this clock to say. */
TEST(StallClock, WithoutAnotherPathThatWorksItIsSuspect)
{
    Wire wire;
    wire.view.in_flight = true;
    wire.look();
    wire.view.peer_done_at = wire.view.now; /* before the silence */
    wire.pass(Nanos::seconds(10), ms(1), [&] { wire.sent = wire.view.now; });
    EXPECT_EQ(wire.worst, Health::Suspect);
}

/* Nor if they are by now, and were not while it would have been too early. */
TEST(StallClock, WhatNobodyHearsByNowIsSuspect)
{
    Wire wire;
    wire.view.in_flight = true;
    wire.view.loses     = true;
    wire.look();
    const Nanos others_fall_silent = wire.view.now + ms(100);
    wire.pass(Nanos::seconds(10), ms(1), [&] {
        wire.sent               = wire.view.now;
        wire.view.peer_done_at  = std::min(wire.view.now, others_fall_silent);
        wire.view.pair_acked_at = wire.view.peer_done_at;
        wire.view.retransmits   = wire.view.now > others_fall_silent + ms(600) ? 4 : 0;
    });
    EXPECT_EQ(wire.worst, Health::Suspect);
    wire.pass(ms(10), ms(1), [&] { wire.sent = wire.view.peer_done_at = wire.view.now; });
    EXPECT_EQ(wire.worst, Health::Dead);
}

/* What is given to a connection whose kernel tries ever more rarely begins a silence, of which
 * there would be no second packet for long. */
TEST(StallClock, AKernelsTriesCountWhateverIsGivenToIt)
{
    for (const unsigned tries : {3u, 4u}) {
        Wire wire;
        wire.view.retransmits = tries;
        wire.sent             = wire.view.now - ms(500);
        wire.acked            = wire.view.now - ms(6000);
        wire.view.in_flight   = true;
        wire.view.much        = false;
        const Nanos dead = wire.pass(ms(1000), ms(1), [&] {
            wire.view.peer_done_at = wire.view.now;
        });
        EXPECT_EQ(dead != Nanos::max(), tries == 4);
        EXPECT_EQ(wire.worst, tries == 4 ? Health::Dead : Health::Suspect);
    }
}

TEST(StallClock, WithoutCarrierItIsDeadAtOnce)
{
    Wire wire;
    wire.view.carrier = false;
    EXPECT_EQ(wire.look(), Health::Dead);
    wire.view.carrier = true;
    EXPECT_EQ(wire.look(), Health::Fine);
}

/* An hour, and other paths to the peer go on meanwhile. */
TEST(StallClock, AReceiverThatDoesNotReadIsFine)
{
    Wire wire;
    wire.view.window_shut = true;
    unsigned looks = 0;
    wire.pass(Nanos::seconds(3600), ms(50), [&] {
        wire.view.peer_done_at = wire.view.now;
        wire.view.probes = 0;
        ++looks;
    });
    EXPECT_EQ(wire.worst, Health::Fine);
    EXPECT_EQ(looks, 72000u);
}

/* One probe is on its way, or lost; then the next is answered. */
TEST(StallClock, AProbeOfAShutWindowMayBeLost)
{
    Wire wire;
    wire.view.window_shut = true;
    const auto pass = [&](unsigned probes, Nanos time) {
        wire.view.probes = probes;
        return wire.pass(time, ms(1), [&] { wire.view.peer_done_at = wire.view.now; });
    };
    pass(1, ms(400));
    EXPECT_EQ(wire.worst, Health::Suspect);
    wire.view.probes = 0;
    EXPECT_EQ(wire.look(), Health::Fine);
    /* A kernel that answers once in half a second: not the second, and of the third the
     * answer is under way. */
    pass(1, ms(800));
    EXPECT_EQ(pass(2, ms(30)), Nanos::max());
    wire.view.probes = 0;
    EXPECT_EQ(wire.look(), Health::Fine);
    /* The same, and the third was lost. */
    pass(1, ms(800));
    pass(2, ms(1600));
    EXPECT_EQ(pass(3, ms(30)), Nanos::max()); /* the fourth is, soon */
    wire.view.probes = 0;
    EXPECT_EQ(wire.look(), Health::Fine);
    /* A wire that dies while the window is shut. */
    pass(1, ms(400));
    pass(2, ms(800));
    const Nanos third = wire.view.now;
    const Nanos dead  = pass(3, ms(100));
    EXPECT_GE(dead, third + ms(30));
    EXPECT_LE(dead, third + ms(40));
}

/* It asks ever more rarely, however often it was answered, and each time may be. */
TEST(StallClock, TwoQuestionsOfALongShutWindowAreEnough)
{
    Wire wire;
    wire.view.window_shut = true;
    wire.view.probes      = 1;
    const auto pass = [&](Nanos time) {
        return wire.pass(time, ms(1), [&] { wire.view.peer_done_at = wire.view.now; });
    };
    EXPECT_EQ(pass(ms(12'800)), Nanos::max());
    wire.view.probes   = 2;
    const Nanos second = wire.view.now;
    EXPECT_LE(pass(ms(100)), second + ms(40));
    EXPECT_EQ(wire.worst, Health::Dead);
}

/* This process, or the machine, did not run: what has come is looked at later. */
TEST(StallClock, APauseOfTheObserverIsNoSilence)
{
    Wire wire;
    wire.view.in_flight = true;
    for (int i = 0; i < 100; ++i) {
        wire.sent = wire.view.now + ms(12);
        wire.view.now += Nanos::seconds(2);
        wire.view.peer_done_at = wire.view.now;
        EXPECT_EQ(wire.look(), Health::Fine);
        /* It is looked at within milliseconds. */
        wire.view.now += ms(2);
        wire.acked = wire.view.now;
        EXPECT_EQ(wire.look(), Health::Fine);
    }
}

TEST(StallClock, ADeepQueueHasALaterDeadline)
{
    StallView view;
    view.rtt           = ms(100);
    view.rtt_deviation = ms(20);
    EXPECT_EQ(StallClock::deadline(view), ms(380));
    EXPECT_EQ(StallClock::longest(view), ms(420));
    view.rtt = Nanos::micros(50);
    view.rtt_deviation = Nanos::micros(10);
    EXPECT_EQ(StallClock::deadline(view), StallClock::kDeadline + view.tick);
}

/* It may meet a queue of which the kernels did not know when they connected. */
TEST(StallClock, FirstDataHasMoreTime)
{
    Wire wire;
    wire.view.in_flight = wire.view.first = true;
    const Nanos begun = wire.view.now;
    const Nanos dead  = wire.pass(ms(1000), ms(1), [&] {
        wire.sent              = wire.view.now;
        wire.view.peer_done_at = wire.view.now;
    });
    EXPECT_GE(dead - begun, ms(200));
    EXPECT_LE(dead - begun, ms(215));
}

/* It tells the caller, who tells it. */
TEST(StallClock, KnowsForHowLongNothingWasUnderWay)
{
    Wire wire;
    for (const int64_t rest : {1, 50, 499, 5000}) {
        const Nanos heard = wire.acked;
        wire.view.in_flight = false;
        wire.view.now       = wire.view.now + ms(rest);
        wire.look();
        EXPECT_EQ(wire.clock.rested(), Nanos());
        wire.sent = wire.view.now;
        wire.view.in_flight = true;
        wire.look();
        EXPECT_EQ(wire.clock.rested(), wire.sent - heard);
        wire.view.now = wire.view.now + wire.view.tick + ms(1);
        wire.acked    = wire.view.now; /* and goes on */
        wire.look();
        EXPECT_EQ(wire.clock.rested(), Nanos());
    }
}

/* Others may have filled a queue while it rested: the longer, the more, up to the time of
 * first data. */
TEST(StallClock, ARestMakesTheDeadlineLater)
{
    StallView   view;
    const Nanos known = StallClock::deadline(view);
    view.rested       = ms(10);
    EXPECT_EQ(StallClock::deadline(view), known);
    view.rtt    = ms(19);
    view.rested = ms(51);
    EXPECT_EQ(StallClock::deadline(view), ms(153));
    view.rested = Nanos::seconds(9);
    EXPECT_EQ(StallClock::deadline(view), StallClock::kFirst);
    view.rtt = ms(100); /* a deep queue that it knows */
    EXPECT_EQ(StallClock::deadline(view), ms(300));
}

/* Acknowledgements that come, at any intervals below the deadline, from a kernel with
 * any tick, to an observer that looks when it likes: never Dead. */
TEST(StallClock, NeverGivesUpWhatIsAcknowledged)
{
    Chance below(7);
    for (int run = 0; run < 300; ++run) {
        Wire wire(ms(1 + below(10)));
        wire.view.in_flight = true;
        wire.view.rtt       = Nanos(1000 + below(20'000'000));
        wire.view.rtt_deviation = wire.view.rtt / 4;
        /* What the tick and half a round trip leave of the shortest deadline. */
        const int64_t longest = 20'000'000;
        Nanos next = wire.view.now;
        for (int i = 0; i < 3000; ++i) {
            Nanos until = wire.view.now +
                          Nanos(below(20) == 0 ? below(300'000'000) :
                                                 below(4'000'000));
            while (next < until) {
                wire.acked = next;
                next      += Nanos(1 + below(longest));
            }
            wire.view.now          = until;
            wire.sent              = until - Nanos(below(1'000'000));
            wire.view.peer_done_at = until;
            ASSERT_NE(wire.look(), Health::Dead) << "run " << run << ", " << i;
        }
    }
}

/* And one that falls silent at any moment is found, if somebody looks. */
TEST(StallClock, AlwaysFindsSilence)
{
    Chance below(8);
    for (int run = 0; run < 1000; ++run) {
        Wire wire(ms(1 + below(10)));
        wire.view.in_flight = true;
        wire.view.rtt       = Nanos(1000 + below(50'000'000));
        wire.view.rtt_deviation = Nanos(below(wire.view.rtt.count()));
        const Nanos bound = StallClock::deadline(wire.view) +
                            wire.view.rtt * 2 + wire.view.rtt_deviation * 4 +
                            ms(30);
        wire.look();
        const Nanos last = wire.acked;
        const Nanos dead = wire.pass(Nanos::seconds(5), Nanos(1 + below(4'000'000)),
                                     [&] {
            if (below(3) != 0 || wire.worst == Health::Suspect) {
                wire.sent = wire.view.now; /* the caller's probe, if no data */
            }
            wire.view.peer_done_at = wire.view.now;
        });
        ASSERT_LE(dead - last, bound) << "run " << run;
    }
}

/* What is small is found as soon as much, if a question was sent after it that the peer's
 * program would have answered: it has answered something else since it could. */
TEST(StallClock, AQuestionThatARunningProgramDoesNotAnswer)
{
    for (const Nanos runs_until : {ms(16), ms(21), ms(1000)}) {
        Wire wire;
        wire.program_runs       = false;
        wire.view.much          = false;
        wire.view.in_flight     = true;
        wire.view.rtt           = ms(4);
        wire.view.rtt_deviation = Nanos();
        const Nanos last = wire.view.now;
        const Nanos dead = wire.pass(ms(500), ms(1), [&] {
            if (wire.worst == Health::Suspect && wire.view.asked_at < last) {
                wire.sent = wire.view.asked_at = wire.view.now;
            }
            wire.view.peer_done_at = wire.view.now;
            wire.view.program_at   = std::min(wire.view.now, last + runs_until);
        });
        /* It was asked after 20 ms, so it can be heard after 24. */
        ASSERT_NE(dead, Nanos::max());
        EXPECT_EQ(wire.view.asked_at - last, ms(20));
        if (runs_until == ms(1000)) {
            EXPECT_LE(dead - last, ms(38));
            EXPECT_GE(dead - last, ms(35));
        } else {
            EXPECT_GE(dead - last, ms(75));
        }
    }
}

} // namespace
} // namespace fuselink::sched

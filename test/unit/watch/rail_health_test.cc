/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rail/rail_health.h"

#include "warnings.h"

#include <gtest/gtest.h>
#include <string>

namespace fuselink {
namespace {

constexpr auto kTimeout = UCS_ERR_ENDPOINT_TIMEOUT;
constexpr auto kReset   = UCS_ERR_CONNECTION_RESET;

sched::Nanos at(int64_t ms)
{
    return sched::Nanos::millis(ms);
}

class RailHealths : public testing::Test, private RailHealth::Listener {
protected:
    void SetUp() override
    {
        health_.begin(3, "tcp/eth3", traffic_);
        health_.tell(this);
        health_.trace_to(&trace_);
        for (int i = 0; i < 2; ++i) {
            health_.add_path();
        }
    }

    void on_health(unsigned rail, const NicHealth &health) override
    {
        EXPECT_EQ(rail, 3u);
        last_ = health;
    }
    static RailHealth::Far far(uint64_t peer) { return {peer, 1, "tcp/far1"}; }
    void fail(uint64_t peer, int64_t ms, ucs_status_t why = kTimeout)
    {
        const NicState state = RailHealth::state_of(why);
        health_.path_broke(far(peer), state, at(ms));
        health_.path_drained(far(peer), state, why, at(ms), true, at(ms + 40));
    }
    size_t traced(Trace::Kind kind) const
    {
        size_t found = 0;
        for (size_t i = 0; i < trace_.size(); ++i) {
            found += trace_.at(i).kind == kind;
        }
        return found;
    }

    Warnings                 warnings_;
    NicHealth                last_;
    Traffic                  traffic_;
    Trace                    trace_{1 << 16};
    RailHealth               health_;
};

TEST_F(RailHealths, AnEpisodeIsTwoLines)
{
    EXPECT_EQ(last_.state, NicState::Up);
    EXPECT_EQ(last_.paths, 2u);
    fail(1, 1000);
    fail(2, 1010);
    health_.path_rests(at(1540));
    ASSERT_EQ(warnings_.size(), 1u);
    EXPECT_NE(warnings_[0].find("rail tcp/eth3 to tcp/far1 of peer "
                                "0000000000000001 has failed"),
              std::string::npos) << warnings_[0];
    EXPECT_EQ(last_.state, NicState::Silent);
    EXPECT_EQ(last_.paths_out, 2u);
    EXPECT_EQ(last_.breaks, 2u);
    EXPECT_EQ(last_.until, at(1540).count());
    EXPECT_EQ(last_.since, at(1000).count());
    EXPECT_EQ(last_.longest, uint64_t{40'000'000});

    health_.path_works(far(2), NicState::Silent, at(3000));
    health_.path_works(far(1), NicState::Silent, at(3500));
    ASSERT_EQ(warnings_.size(), 2u);
    EXPECT_NE(warnings_[1].find("carries data again"), std::string::npos);
    EXPECT_EQ(last_.state, NicState::Up);
    EXPECT_EQ(last_.since, 0);
    EXPECT_EQ(last_.until, 0);
    EXPECT_EQ(last_.out, uint64_t{2'500'000'000});
    EXPECT_EQ(traced(Trace::Kind::PathDrained), 2u);
    EXPECT_EQ(traced(Trace::Kind::PathWorks), 2u);

    fail(1, 9000, kReset); /* the next is said anew */
    EXPECT_EQ(warnings_.size(), 3u);
    EXPECT_EQ(last_.state, NicState::Broken);
}

/* Connections that break as peers go are no failures. */
TEST_F(RailHealths, WhatNobodyConfirmsDoesNotCount)
{
    health_.path_broke(far(1), NicState::Broken, at(1000));
    EXPECT_EQ(last_.state, NicState::Broken);
    health_.path_over(NicState::Broken, false, at(2000));
    EXPECT_EQ(last_.state, NicState::Up);
    EXPECT_EQ(last_.breaks, 0u);
    EXPECT_EQ(last_.out, 0u);
    EXPECT_TRUE(warnings_.empty());
}

/* The carrier's line, which the engine says, is the one of its episode. */
TEST_F(RailHealths, ALostCarrierSaysItAll)
{
    health_.on_carrier(false, at(1000));
    EXPECT_EQ(last_.state, NicState::Down);
    fail(1, 1001, UCS_ERR_UNREACHABLE);
    health_.messages_moved({2, 0, "tcp/eth0"}, kReset, false, at(1001), at(1005));
    EXPECT_TRUE(warnings_.empty());
    health_.path_over(NicState::Broken, true, at(2000)); /* linked */
    health_.on_carrier(true, at(2000));
    EXPECT_EQ(last_.state, NicState::Up);
    EXPECT_EQ(last_.out, uint64_t{1'000'000'000});
    EXPECT_EQ(last_.moves, 1u);
    fail(1, 3000);
    EXPECT_EQ(warnings_.size(), 1u);
    EXPECT_EQ(traced(Trace::Kind::CarrierLost), 1u);
    EXPECT_EQ(traced(Trace::Kind::CarrierBack), 1u);
}

/* Nothing tells that a rail without paths that are out works, but data. */
TEST_F(RailHealths, MessagesThatMovedAreOverWhenDataGoesThere)
{
    health_.add_lane();
    EXPECT_EQ(last_.messages, 1u);
    health_.remove_lane();
    health_.messages_moved({1, 0, "tcp/eth0"}, kTimeout, false, at(1000), at(1010));
    ASSERT_EQ(warnings_.size(), 1u);
    EXPECT_NE(warnings_[0].find("messages to peer 0000000000000001 go over rail "
                                "tcp/eth0 now"), std::string::npos);
    EXPECT_EQ(last_.state, NicState::Silent);
    traffic_.sent.add(10); /* of another peer, perhaps from before */
    health_.look(at(1500));
    health_.look(at(2100));
    health_.look(at(3000));
    EXPECT_EQ(last_.state, NicState::Silent);
    traffic_.sent.add(10);
    health_.look(at(4000));
    EXPECT_EQ(last_.state, NicState::Up);
    EXPECT_EQ(last_.out, uint64_t{3'000'000'000});
    ASSERT_EQ(warnings_.size(), 2u);
    EXPECT_NE(warnings_[1].find("rail tcp/eth3 carries data again"),
              std::string::npos);
}

TEST_F(RailHealths, WhatIsSentAgainIsShown)
{
    health_.chunks_resent(1000);
    EXPECT_EQ(last_.resent, 1000u);
    health_.messages_resent().add(10);
    EXPECT_EQ(last_.resent, 1000u);
    health_.look(at(1000));
    EXPECT_EQ(last_.resent, 1010u);
}

/* Peers are counted; one line is said for all, by the caller. */
TEST_F(RailHealths, IsSilentWhileAPeerIsNotHeard)
{
    EXPECT_TRUE(health_.peer_unheard(at(1000)));
    EXPECT_FALSE(health_.peer_unheard(at(1500)));
    EXPECT_EQ(last_.state, NicState::Silent);
    EXPECT_EQ(last_.since, 1'000'000'000);
    health_.peer_heard(at(1000), at(7000));
    EXPECT_EQ(last_.state, NicState::Silent);
    health_.peer_heard(at(1500), at(8000));
    EXPECT_EQ(last_.state, NicState::Up);
    EXPECT_EQ(last_.out, uint64_t{7'000'000'000});
    EXPECT_EQ(last_.longest, uint64_t{6'500'000'000});
    EXPECT_TRUE(health_.peer_unheard(at(9000))) << "what comes now is said anew";
    EXPECT_TRUE(warnings_.empty());
}

/* A line of one NIC was for all of them: those that carry again had none. */
TEST_F(RailHealths, ThatPeersAreNotHeardSaysNothingOfFailures)
{
    EXPECT_TRUE(health_.peer_unheard(at(1000)));
    health_.path_broke(far(1), NicState::Silent, at(1000));
    health_.path_drained(far(1), NicState::Silent, kTimeout, at(1000), false, at(7000));
    health_.peer_heard(at(1000), at(7000));
    health_.path_works(far(1), NicState::Silent, at(7200));
    EXPECT_TRUE(warnings_.empty());
    EXPECT_EQ(last_.state, NicState::Up);
}

TEST_F(RailHealths, MessagesThatMovedAfterASilenceOfAllAreNobodysFault)
{
    health_.messages_moved({1, 0, "tcp/eth0"}, kTimeout, true, at(1000), at(9000));
    EXPECT_TRUE(warnings_.empty());
    EXPECT_EQ(last_.moves, 1u);
    EXPECT_EQ(last_.state, NicState::Up);
}

TEST_F(RailHealths, WhatIsReplacedCountsAndIsNotOut)
{
    health_.path_replaced(far(1), kTimeout, at(1000), at(1100));
    EXPECT_EQ(last_.breaks, 1u);
    EXPECT_EQ(last_.state, NicState::Up);
    EXPECT_TRUE(warnings_.empty());
    EXPECT_EQ(traced(Trace::Kind::PathDrained), 1u);
}

/* What is out when the interface closes. */
TEST_F(RailHealths, TheEndEndsAll)
{
    fail(1, 1000);
    health_.close(at(5000));
    EXPECT_EQ(health_.outages().out.value(), uint64_t{4'000'000'000});
    EXPECT_EQ(health_.outages().since.value(), 0u);
}

} // namespace
} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "transfer/path_health.h"

#include "../watch/warnings.h"

#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace fuselink {
namespace {

sched::Nanos at(int64_t ms)
{
    return sched::Nanos::millis(ms);
}

class PathHealths : public testing::Test, private RailHealth::Listener {
protected:
    void SetUp() override
    {
        nic_.begin(0, "tcp/eth0", traffic_);
        nic_.tell(this);
        remote_.index = 1;
        remote_.name  = "tcp/far1";
        path_.emplace(nic_, remote_);
    }
    void on_health(unsigned, const NicHealth &health) override { last_ = health; }

    /* And the peer confirms it. */
    void breaks(int64_t ms, bool chance, bool lost = false, bool away = false,
                int64_t answer = 1)
    {
        path_->broke(7, UCS_ERR_ENDPOINT_TIMEOUT, true, chance, at(ms));
        path_->drained(true, lost, away, at(ms + answer));
        path_->rests(7, at(ms + answer + 100), at(ms + answer));
    }

    Traffic                   traffic_;
    RailHealth                nic_;
    wire::RailRecord          remote_;
    std::optional<PathHealth> path_;
    NicHealth                 last_;
    Warnings                  warnings_;
};

TEST_F(PathHealths, AFailureIsOneUntilItWorks)
{
    breaks(1000, false);
    breaks(2000, false); /* a try */
    EXPECT_EQ(last_.breaks, 1u);
    EXPECT_EQ(last_.state, NicState::Silent);
    path_->works(at(3000));
    EXPECT_EQ(last_.state, NicState::Up);
    EXPECT_EQ(last_.out, static_cast<uint64_t>(at(2000).count()));
    breaks(4000, false);
    EXPECT_EQ(last_.breaks, 2u);
}

TEST_F(PathHealths, ATryThatLosesSomethingCounts)
{
    path_->rests(7, at(1100), at(1000));
    breaks(1200, false);
    EXPECT_EQ(last_.breaks, 0u);
    breaks(1400, false, true);
    breaks(1600, false, true);
    EXPECT_EQ(last_.breaks, 1u);
}

/* What asked for a connection was lost, over a wire that carries. */
TEST_F(PathHealths, OnceItMayFailToConnectByChance)
{
    breaks(1000, true);
    EXPECT_EQ(last_.breaks, 0u);
    EXPECT_EQ(last_.state, NicState::Up);
    path_->works(at(1500));
    EXPECT_EQ(last_.out, 0u);
    breaks(2000, true);
    EXPECT_EQ(last_.breaks, 0u);
    breaks(3000, true); /* that is no chance any more */
    EXPECT_EQ(last_.breaks, 1u);
    EXPECT_EQ(last_.state, NicState::Silent);
    breaks(4000, true);
    EXPECT_EQ(last_.breaks, 1u);
    path_->linked(at(5000));
    breaks(6000, true);
    path_->linked(at(6500));
    breaks(7000, true);
    EXPECT_EQ(last_.breaks, 1u);
}

TEST_F(PathHealths, AfterAFailureNothingIsByChance)
{
    breaks(1000, false);
    breaks(2000, true);
    breaks(2500, false, true);
    EXPECT_EQ(last_.breaks, 1u);
    path_->works(at(3000));
    EXPECT_EQ(last_.out, static_cast<uint64_t>(at(2000).count()));
}

/* What has waited for a peer that is heard again is no news; what does not connect then is. */
TEST_F(PathHealths, AnAnswerAfterASilenceOfAllIsNotSaid)
{
    breaks(1000, false, true, true, 8000);
    EXPECT_TRUE(warnings_.empty());
    EXPECT_EQ(last_.breaks, 1u);
    breaks(9100, false, false, true);
    EXPECT_TRUE(warnings_.empty());
    breaks(11000, false);
    ASSERT_EQ(warnings_.size(), 1u);
    EXPECT_NE(warnings_[0].find("has failed"), std::string::npos);
    EXPECT_EQ(last_.breaks, 1u);
    breaks(12000, false);
    EXPECT_EQ(warnings_.size(), 1u);
    path_->works(at(13000));
    ASSERT_EQ(warnings_.size(), 2u);
    EXPECT_NE(warnings_[1].find("carries data again"), std::string::npos);
}

TEST_F(PathHealths, WhatWorksAfterASilenceOfAllHasNoLine)
{
    breaks(1000, false, true, true, 8000);
    path_->works(at(9500));
    EXPECT_EQ(last_.state, NicState::Up);
    EXPECT_TRUE(warnings_.empty());
    breaks(10000, true, true, true); /* left behind */
    EXPECT_EQ(last_.breaks, 2u);
    EXPECT_EQ(last_.state, NicState::Up);
    EXPECT_TRUE(warnings_.empty());
    path_->works(at(10500));
    breaks(11000, false, true);
    EXPECT_EQ(warnings_.size(), 1u);
}

} // namespace
} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "uct/fuselink/transfer/receiver_view.h"

#include <gtest/gtest.h>

namespace fuselink {
namespace {

using sched::Bytes;
using sched::Nanos;
using sched::PathView;

wire::LoadGrant grant_of(uint32_t load0, uint16_t rails = 0xffff,
                         uint32_t microseconds = 20'000)
{
    wire::LoadGrant grant{};
    grant.load[0]      = load0;
    grant.rails        = rails;
    grant.microseconds = microseconds;
    return grant;
}

PathView shown(const ReceiverView &receiver, uint8_t rail, Bytes ahead = {})
{
    PathView view{};
    view.ahead = ahead;
    receiver.show(rail, sched::Limits{}, view);
    return view;
}

TEST(ReceiverView, TheBusierEndCounts)
{
    ReceiverView receiver;
    receiver.take(grant_of(3), Nanos());
    EXPECT_EQ(shown(receiver, 0).ahead, Bytes::kib(3));
    EXPECT_EQ(shown(receiver, 0, Bytes::kib(2)).ahead, Bytes::kib(3));
    EXPECT_EQ(shown(receiver, 0, Bytes::kib(4)).ahead, Bytes::kib(4));
    EXPECT_EQ(shown(receiver, 1).ahead, Bytes());
}

TEST(ReceiverView, RailsThatAreNotGrantedAreLeftAlone)
{
    using Standing = PathView::Standing;
    ReceiverView receiver;
    receiver.take(grant_of(0, 0x8001), Nanos());
    EXPECT_EQ(shown(receiver, 0).standing, Standing::Free);
    EXPECT_EQ(shown(receiver, 1).standing, Standing::Taken);
    EXPECT_EQ(shown(receiver, 15).standing, Standing::Free);
    /* None at all is nonsense, and no reason to stop. */
    receiver.take(grant_of(0, 0), Nanos());
    EXPECT_EQ(shown(receiver, 1).standing, Standing::Free);
}

/* Little may be on its way to what belongs to somebody who may come back. */
TEST(ReceiverView, OfOthersRailsLittleIsUsed)
{
    using Standing = PathView::Standing;
    const sched::Limits limits;
    auto grant = grant_of(0, 0b0111);
    grant.lent = 0b1010;
    for (const uint16_t senders : {0, 1, 5, 65535}) {
        grant.senders = senders;
        ReceiverView receiver;
        receiver.take(grant, Nanos());
        PathView views[4];
        for (unsigned rail = 0; rail < 4; ++rail) {
            views[rail].rate     = sched::Rate::mbit(10'000);
            views[rail].window   = Bytes::mib(64);
            views[rail].standing = Standing::Own;
            receiver.show(static_cast<uint8_t>(rail), limits, views[rail]);
        }
        EXPECT_EQ(views[0].window, Bytes::mib(64));
        EXPECT_EQ(views[1].window,
                  sched::lent_window(views[1].rate, std::max<uint32_t>(senders, 1), limits));
        EXPECT_GE(views[1].window, limits.min_chunk);
        EXPECT_EQ(views[1].standing, Standing::Own); /* our end's */
        EXPECT_EQ(views[3].standing, Standing::Taken);
        PathView view;
        receiver.show(1, limits, view);
        EXPECT_EQ(view.standing, Standing::Lent);
    }
}

TEST(ReceiverView, HoldsForItsTimeAndNeverLong)
{
    ReceiverView receiver;
    EXPECT_FALSE(receiver.valid(Nanos::millis(1)));
    const Nanos now = Nanos::millis(1000);
    receiver.take(grant_of(1), now);
    EXPECT_TRUE(receiver.valid(now + Nanos::millis(19)));
    EXPECT_FALSE(receiver.valid(now + Nanos::millis(20)));
    receiver.take(grant_of(UINT32_MAX, 0xffff, UINT32_MAX), now);
    EXPECT_TRUE(receiver.valid(now + ReceiverView::kLongest - Nanos(1)));
    EXPECT_FALSE(receiver.valid(now + ReceiverView::kLongest));
    EXPECT_EQ(shown(receiver, 0).ahead, Bytes(uint64_t{UINT32_MAX} << 10));
}

TEST(ReceiverView, ARailThatCannotBeChangesNothing)
{
    ReceiverView receiver;
    receiver.take(grant_of(7, 1), Nanos());
    for (unsigned rail = 16; rail < 256; ++rail) {
        const PathView view = shown(receiver, static_cast<uint8_t>(rail));
        EXPECT_EQ(view.ahead, Bytes());
        EXPECT_EQ(view.standing, PathView::Standing::Free);
    }
}

} // namespace
} // namespace fuselink

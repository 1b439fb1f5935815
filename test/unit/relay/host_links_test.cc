/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "relay/host_links.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

using fuselink::choose_link;
using fuselink::LinkView;

size_t choose(std::vector<LinkView> links, uint64_t length)
{
    return choose_link(links, length);
}

TEST(Lanes, TheOwnIfThereIsNoOther)
{
    EXPECT_EQ(choose({{1000, true}}, 100), 0u);
}

TEST(Lanes, TheOwnWhileItHasLittleToDo)
{
    EXPECT_EQ(choose({{0, true}, {0, true}}, 100), 0u);
    EXPECT_EQ(choose({{100, true}, {0, true}}, 100), 0u);
}

TEST(Lanes, AnotherIfItIsDoneEarlier)
{
    EXPECT_EQ(choose({{101, true}, {0, true}}, 100), 1u);
    EXPECT_EQ(choose({{201, true}, {100, true}}, 100), 1u);
}

TEST(Lanes, TheOneWithLeastToDo)
{
    EXPECT_EQ(choose({{900, true}, {300, true}, {200, true}, {400, true}},
                     100), 2u);
}

TEST(Lanes, NoneThatIsNotOpen)
{
    EXPECT_EQ(choose({{900, true}, {0, false}, {200, true}}, 100), 2u);
    EXPECT_EQ(choose({{900, true}, {0, false}}, 100), 0u);
}

/* Pieces of one length, and links that are equally fast: the work is spread. */
TEST(Lanes, SpreadsWork)
{
    std::vector<LinkView> links(4, {0, true});
    for (int i = 0; i < 400; ++i) {
        links[choose(links, 10)].waiting += 10;
    }
    for (const LinkView &link : links) {
        EXPECT_GE(link.waiting, 980u);
        EXPECT_LE(link.waiting, 1030u);
    }
}

} // namespace

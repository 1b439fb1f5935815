/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "tools/common/number_list.h"

#include <gtest/gtest.h>

namespace {

using Numbers = std::vector<unsigned>;

Numbers parsed(std::string_view text)
{
    Numbers numbers;
    return fuselink::parse_numbers(text, 31, numbers) ? numbers : Numbers{};
}

TEST(NumberList, AsPeopleWriteThem)
{
    EXPECT_EQ(parsed("0"), Numbers{0});
    EXPECT_EQ(parsed("5,0,2-4"), (Numbers{0, 2, 3, 4, 5}));
    EXPECT_EQ(parsed("1-2,2-3,2"), (Numbers{1, 2, 3}));
    EXPECT_EQ(parsed("31"), Numbers{31});
}

TEST(NumberList, NothingElse)
{
    for (const char *text : {"", ",", "1,", "a", "-1", "1-", "-", "3-2", "1--2", "32",
                             "0-32", "0x1", " 1", "1;2", "99999999999"}) {
        EXPECT_EQ(parsed(text), Numbers{}) << text;
    }
}

} // namespace

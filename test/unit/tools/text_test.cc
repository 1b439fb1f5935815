/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/json.h"
#include "ucs_ext/text_table.h"

#include "json_check.h"

#include <cmath>
#include <gtest/gtest.h>

namespace fuselink {
namespace {

TEST(Json, WritesNestedValues)
{
    Json json;
    json.begin_object().field("name", "eth0").key("ports").begin_array();
    json.value(1).value(2.5).value(true).null();
    json.end_array().key("none").begin_object().end_object().end_object();
    EXPECT_EQ(json.text(), "{\"name\": \"eth0\", \"ports\": [1, 2.5, true, "
                           "null], \"none\": {}}");
    EXPECT_TRUE(JsonCheck::valid(json.text()));
}

TEST(Json, WhateverTextItIsGiven)
{
    std::string all;
    for (int c = 0; c < 256; ++c) {
        all += static_cast<char>(c);
    }
    Json json;
    json.begin_object().field(all, all).end_object();
    EXPECT_TRUE(JsonCheck::valid(json.text())) << json.text();

    Json quotes;
    quotes.value("a\"b\\c\n");
    EXPECT_EQ(quotes.text(), "\"a\\\"b\\\\c\\u000a\"");
}

TEST(Json, NumbersThatItLacksAreNull)
{
    Json json;
    json.begin_array().value(NAN).value(INFINITY).value(1e300);
    json.value(uint64_t{UINT64_MAX}).end_array();
    EXPECT_EQ(json.text(), "[null, null, 1e+300, 18446744073709551615]");
}

/* The judge of the tests above, too, must be able to say no. */
TEST(Json, TheCheckRefusesWhatIsNone)
{
    for (const char *text : {"", "{", "[1,]", "{\"a\" 1}", "\"\x01\"", "01",
                             "nul", "[1] 2", "\"\\x\"", "{1: 2}", "1."}) {
        EXPECT_FALSE(JsonCheck::valid(text)) << text;
    }
}

TEST(TextTable, AlignsColumns)
{
    using enum TextTable::Align;
    TextTable table({{"NIC", Left}, {"MB/s"}, {"WHO", Left}});
    table.add({"nic10", "1.5", "a"});
    table.add({"n", "12345.6"});
    EXPECT_EQ(table.text("  "), "  NIC       MB/s  WHO\n"
                                "  nic10      1.5  a\n"
                                "  n      12345.6\n");
}

TEST(TextTable, NoEscapesOfOthersReachTheTerminal)
{
    EXPECT_EQ(printable("a b\033[2J\n\x80\x7f", 99), "a b?[2J???");
    EXPECT_EQ(printable("123456", 4), "1234");
}

TEST(TextTable, BytesForPeople)
{
    EXPECT_EQ(format_bytes(0), "0");
    EXPECT_EQ(format_bytes(999), "999 B");
    EXPECT_EQ(format_bytes(1500), "1.5 kB");
    EXPECT_EQ(format_bytes(999'999), "1.0 MB");
    EXPECT_EQ(format_bytes(UINT64_MAX), "18446.7 PB");
}

} // namespace
} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "wire/cm_data.h"

#include "wire/address.h"

#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>

namespace fuselink::wire {
namespace {

std::vector<uint8_t> some(size_t length)
{
    std::vector<uint8_t> data(length);
    for (size_t i = 0; i < length; ++i) {
        data[i] = static_cast<uint8_t>(i * 7 + 1);
    }
    return data;
}

/* What UCP gave is there, and zeros behind it. */
void expect_data(const CmData &got, const std::vector<uint8_t> &data)
{
    ASSERT_EQ(got.data.size(), data.size() + kMaxIfaceAddress);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), got.data.begin()));
    for (size_t i = data.size(); i < got.data.size(); ++i) {
        EXPECT_EQ(got.data[i], 0);
    }
}

TEST(CmData, ComesBackWithTheVersion)
{
    for (size_t length : {0, 1, 8, 100, 2000}) {
        const auto data = some(length);
        const auto sent = with_cm_trailer(data);
        EXPECT_EQ(sent.size(), length + sizeof(CmTrailer));
        const CmData got = read_cm_data(sent);
        EXPECT_EQ(got.version, kProtocolVersion);
        expect_data(got, data);
    }
}

TEST(CmData, OfUcxAloneStaysAsItIs)
{
    for (size_t length : {0, 1, 7, 8, 100}) {
        const auto   data = some(length);
        const CmData got  = read_cm_data(data);
        EXPECT_EQ(got.version, 0);
        expect_data(got, data);
    }
}

TEST(CmData, AnotherVersionIsSeen)
{
    auto sent = with_cm_trailer(some(50));
    sent[50 + offsetof(CmTrailer, version)] = kProtocolVersion + 1;
    EXPECT_EQ(read_cm_data(sent).version, kProtocolVersion + 1);
}

} // namespace
} // namespace fuselink::wire

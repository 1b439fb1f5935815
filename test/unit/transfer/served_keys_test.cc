/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "transfer/served_keys.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

using fuselink::NicKeys;
using fuselink::RegionKey;
using fuselink::ServedKeys;

/* Who asks, and keeps what was asked for until it is answered. */
struct Source final : fuselink::KeySource {
    uint32_t request_keys(const RegionKey &, const std::shared_ptr<NicKeys> &keys) override
    {
        open.push_back(keys);
        return static_cast<uint32_t>(open.size());
    }
    void drop_key_request(uint32_t token) override { dropped.push_back(token); }

    std::vector<std::shared_ptr<NicKeys>> open;
    std::vector<uint32_t>                 dropped;
};

RegionKey region(uint32_t number)
{
    return {number, 1000 + number};
}

TEST(ServedKeys, AreTheSameForTheSameRegion)
{
    Source     source;
    ServedKeys served(source);
    const auto one = served.find(region(1));
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(served.find(region(1)), one);
    EXPECT_NE(served.find(region(2)), one);
    EXPECT_NE(served.find({1, 7}), one); /* another registration */
}

TEST(ServedKeys, TheOldestIsForgotten)
{
    Source     source;
    ServedKeys served(source);
    const NicKeys *first = served.find(region(0)).get();
    auto           asked = served.find(region(1));
    EXPECT_TRUE(served.asked(asked, source.request_keys(region(1), asked)));
    asked.reset();
    for (uint32_t i = 2; i < ServedKeys::kMost; ++i) {
        served.find(region(i));
    }
    EXPECT_EQ(served.find(region(0)).get(), first); /* the last used now */
    served.find(region(1000));
    EXPECT_EQ(source.dropped, std::vector<uint32_t>{1}); /* the question for region 1 */
    EXPECT_EQ(served.find(region(0)).get(), first);
}

TEST(ServedKeys, WhatIsInUseStays)
{
    Source                                source;
    ServedKeys                            served(source);
    std::vector<std::shared_ptr<NicKeys>> used;
    for (uint32_t i = 0; i < ServedKeys::kMost; ++i) {
        used.push_back(served.find(region(i)));
        EXPECT_TRUE(served.asked(used.back(), source.request_keys(region(i), used.back())));
    }
    const auto other = served.find(region(1000));
    ASSERT_NE(other, nullptr);
    EXPECT_FALSE(served.asked(other, 77)); /* his who asked */
    EXPECT_NE(served.find(region(1000)), other);
    EXPECT_TRUE(source.dropped.empty());
    for (uint32_t i = 0; i < ServedKeys::kMost; ++i) {
        EXPECT_EQ(served.find(region(i)), used[i]);
    }
}

} // namespace

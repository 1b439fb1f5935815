/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/epochs.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace {

using fuselink::Epochs;

TEST(Epochs, NothingOutstandingPassesAtOnce)
{
    Epochs epochs;
    EXPECT_TRUE(epochs.passed(epochs.boundary()));
    Epochs::Id op = epochs.begin();
    epochs.end(op);
    EXPECT_TRUE(epochs.passed(epochs.boundary()));
}

TEST(Epochs, LaterOperationsDoNotDelay)
{
    Epochs epochs;
    Epochs::Id first    = epochs.begin();
    Epochs::Id boundary = epochs.boundary();
    Epochs::Id later    = epochs.begin();
    EXPECT_FALSE(epochs.passed(boundary));
    EXPECT_TRUE(epochs.end(first));
    EXPECT_TRUE(epochs.passed(boundary));
    epochs.end(later);
}

TEST(Epochs, EarlierEpochsCount)
{
    Epochs epochs;
    Epochs::Id first = epochs.begin();
    epochs.boundary();
    Epochs::Id second   = epochs.begin();
    Epochs::Id boundary = epochs.boundary();
    epochs.end(second);
    EXPECT_FALSE(epochs.passed(boundary));
    epochs.end(first);
    EXPECT_TRUE(epochs.passed(boundary));
}

/* Against the definition: a boundary has passed when all operations begun
 * before it have ended. */
TEST(Epochs, AgreesWithTheDefinition)
{
    struct Boundary {
        Epochs::Id          id;
        std::vector<size_t> before;
    };
    std::mt19937 random(1);
    for (int run = 0; run < 50; ++run) {
        Epochs epochs;
        std::vector<Epochs::Id> ops;
        std::vector<size_t>     live;
        std::vector<bool>       ended;
        std::vector<Boundary>   boundaries;
        for (int step = 0; step < 300; ++step) {
            switch (random() % 4) {
            case 0:
            case 1:
                live.push_back(ops.size());
                ops.push_back(epochs.begin());
                ended.push_back(false);
                break;
            case 2:
                if (!live.empty()) {
                    size_t k = random() % live.size();
                    epochs.end(ops[live[k]]);
                    ended[live[k]] = true;
                    live.erase(live.begin() + static_cast<long>(k));
                }
                break;
            default:
                boundaries.push_back({epochs.boundary(), live});
            }
            EXPECT_EQ(epochs.outstanding(), live.size());
            for (const auto &boundary : boundaries) {
                bool expected = true;
                for (size_t op : boundary.before) {
                    expected = expected && ended[op];
                }
                ASSERT_EQ(epochs.passed(boundary.id), expected);
            }
        }
    }
}

} // namespace

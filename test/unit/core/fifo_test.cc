/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "fifo.h"

#include <deque>
#include <gtest/gtest.h>
#include <random>

namespace fuselink {
namespace {

/* Whatever is done to it in whatever order, it has what a std::deque has. */
TEST(Fifo, IsAQueue)
{
    std::mt19937    random(1);
    Fifo<int>       fifo;
    std::deque<int> same;
    for (int i = 0; i < 200000; ++i) {
        /* Long phases in which it grows, and in which it becomes empty. */
        const unsigned grows = i / 1000 % 2 != 0 ? 6 : 3;
        const unsigned what  = random() % 10;
        if (what < grows && random() % 50 == 0) {
            fifo.push_front(i);
            same.push_front(i);
        } else if (what < grows && random() % 50 == 0) {
            const auto index = static_cast<std::ptrdiff_t>(random() % (same.size() + 1));
            fifo.insert(fifo.begin() + index, i);
            same.insert(same.begin() + index, i);
        } else if (what < grows) {
            fifo.push_back(i);
            same.push_back(i);
        } else if (what < 9 && !same.empty()) {
            fifo.pop_front();
            same.pop_front();
        } else if (!same.empty() && random() % 20 == 0) {
            const auto index = static_cast<std::ptrdiff_t>(random() % same.size());
            fifo.erase(fifo.begin() + index);
            same.erase(same.begin() + index);
        } else if (random() % 500 == 0) {
            fifo.erase_if([](int one) { return one % 3 == 0; });
            std::erase_if(same, [](int one) { return one % 3 == 0; });
        } else if (random() % 2000 == 0) {
            fifo.clear();
            same.clear();
        }
        ASSERT_EQ(fifo.empty(), same.empty());
        ASSERT_EQ(fifo.size(), same.size());
        if (!same.empty()) {
            ASSERT_EQ(fifo.front(), same.front());
            ASSERT_EQ(fifo.back(), same.back());
            ASSERT_EQ(fifo[same.size() / 2], same[same.size() / 2]);
        }
        if (i % 997 == 0) {
            ASSERT_TRUE(std::equal(fifo.begin(), fifo.end(), same.begin(), same.end()));
        }
    }
}

/* One of its own, when it has to be moved for that. */
TEST(Fifo, TakesWhatItHas)
{
    Fifo<int> fifo;
    for (int i = 0; i < 1000; ++i) {
        fifo.push_back(i);
        fifo.push_back(fifo.front());
        EXPECT_EQ(fifo.back(), fifo.front());
        fifo.pop_front();
    }
}

/* One that goes in and out all the time needs no more than a few. */
TEST(Fifo, StaysSmall)
{
    Fifo<int> fifo;
    fifo.push_back(0);
    const int *least = &fifo.front(), *most = least;
    for (int i = 1; i < 100000; ++i) {
        fifo.push_back(i);
        fifo.pop_front();
        if (i == 100) { /* it has grown by then */
            least = most = &fifo.front();
        } else if (i > 100) {
            least = std::min<const int *>(least, &fifo.front());
            most  = std::max<const int *>(most, &fifo.front());
        }
    }
    EXPECT_LT(most - least, 8);
}

TEST(Fifo, Swaps)
{
    Fifo<int> one, other;
    one.push_back(1);
    one.push_back(2);
    one.pop_front();
    one.swap(other);
    EXPECT_TRUE(one.empty());
    ASSERT_EQ(other.size(), 1u);
    EXPECT_EQ(other.front(), 2);
}

} // namespace
} // namespace fuselink

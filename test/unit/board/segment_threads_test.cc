/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/shared_segment.h"

#include <atomic>
#include <barrier>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using fuselink::SharedSegment;

struct Contents {
    SharedSegment::Header header;
    std::atomic<uint64_t> visitors;
};

/* Whoever asks first makes it; all have the same, each time anew. */
TEST(SharedSegmentThreads, AllWhoAskAtOnceHaveTheSame)
{
    constexpr unsigned    kThreads = 4, kRounds = 50;
    const uint64_t        magic = 0x7465737400000000u +
                                  static_cast<uint64_t>(getpid());
    std::barrier          all(kThreads);
    std::atomic<unsigned> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            for (unsigned round = 0; round < kRounds; ++round) {
                all.arrive_and_wait();
                std::string error;
                auto segment = SharedSegment::open(magic, sizeof(Contents),
                                                   error);
                if (segment == nullptr) {
                    ++wrong;
                    all.arrive_and_wait();
                    all.arrive_and_wait();
                    continue;
                }
                auto *contents = static_cast<Contents *>(segment->memory());
                wrong += contents->header.magic.load() != magic;
                ++contents->visitors;
                all.arrive_and_wait();
                wrong += contents->visitors.load() != kThreads;
                all.arrive_and_wait();
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong.load(), 0u);
}

} // namespace

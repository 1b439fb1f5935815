/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sim/faults.h"

using namespace cudasim;

namespace {

TEST(Faults, NoneUnlessAskedFor)
{
    Faults faults;
    EXPECT_FALSE(faults.hits(Fault::Alloc, 0));
    EXPECT_FALSE(faults.hits(Fault::Peer, 0, 1));
}

TEST(Faults, FromACallOnAndOnOneGpu)
{
    Faults      faults;
    std::string error;
    ASSERT_TRUE(faults.set("alloc@1#2x1, copy", error)) << error;
    EXPECT_FALSE(faults.hits(Fault::Alloc, 0));
    EXPECT_FALSE(faults.hits(Fault::Alloc, 1)); /* the first */
    EXPECT_TRUE(faults.hits(Fault::Alloc, 1));
    EXPECT_FALSE(faults.hits(Fault::Alloc, 1)); /* one only */
    EXPECT_TRUE(faults.hits(Fault::Copy, 0, 1));
    EXPECT_TRUE(faults.hits(Fault::Copy, 0, 1));
}

TEST(Faults, BetweenTwoGpusEitherWay)
{
    Faults      faults;
    std::string error;
    ASSERT_TRUE(faults.set("peer@0-2", error)) << error;
    EXPECT_TRUE(faults.hits(Fault::Peer, 0, 2));
    EXPECT_TRUE(faults.hits(Fault::Peer, 2, 0));
    EXPECT_FALSE(faults.hits(Fault::Peer, 0, 1));
    EXPECT_FALSE(faults.hits(Fault::Peer, 1, 2));
}

TEST(Faults, WrongListsAreNamed)
{
    for (const char *bad : {"frob", "alloc@", "alloc#0", "alloc#x", "alloc@a",
                            "copy#1x", "peer@1-"}) {
        Faults      faults;
        std::string error;
        EXPECT_FALSE(faults.set(bad, error)) << bad;
        EXPECT_NE(error.find("accepted"), std::string::npos) << error;
    }
}

TEST(Faults, FileIsReadAgainWhenItChanges)
{
    std::string file = testing::TempDir() + "cudasim-faults-" +
                       std::to_string(getpid());
    auto write = [&](const char *list) {
        std::ofstream(file + ".new") << list;
        ASSERT_EQ(rename((file + ".new").c_str(), file.c_str()), 0);
    };
    Faults      faults;
    std::string error;
    ASSERT_TRUE(faults.set("@" + file, error));
    EXPECT_FALSE(faults.hits(Fault::IpcOpen, 0));
    write("ipc-open");
    EXPECT_TRUE(faults.hits(Fault::IpcOpen, 0));
    write("");
    EXPECT_FALSE(faults.hits(Fault::IpcOpen, 0));
    unlink(file.c_str());
}

} // namespace

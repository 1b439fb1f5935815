/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/topology/visible.h"

#include <gtest/gtest.h>

namespace fuselink::topology {
namespace {

using Numbers = std::vector<size_t>;

Devices four(bool alike = true)
{
    Devices devices;
    for (unsigned i = 0; i < 4; ++i) {
        Gpu gpu;
        gpu.address = {0, 0x10 + i, 0, 0};
        gpu.uuid    = "GPU-ab" + std::to_string(i) + "0-1234";
        gpu.cuda    = true;
        gpu.name    = alike || i == 0 ? "H100" : "T4";
        devices.add(std::move(gpu));
    }
    devices.number();
    return devices;
}

TEST(Visible, AllWithoutTheVariable)
{
    auto all = visible(four(), {});
    EXPECT_EQ(all.gpus, (Numbers{0, 1, 2, 3}));
    EXPECT_TRUE(all.certain);
}

TEST(Visible, NumbersAndUuidsInTheirOrder)
{
    EXPECT_EQ(visible(four(), {"2,0"}).gpus, (Numbers{2, 0}));
    EXPECT_EQ(visible(four(), {" 3 , GPU-ab10 "}).gpus, (Numbers{3, 1}));
    EXPECT_EQ(visible(four(), {"GPU-ab30-1234"}).gpus, (Numbers{3}));
    EXPECT_EQ(visible(four(), {""}).gpus, Numbers{});
    EXPECT_EQ(visible(four(), {""}).note, "");
}

TEST(Visible, EndsAtTheFirstThatIsNotThere)
{
    for (const char *text : {"1,4,2", "1,-1,2", "1,x,2", "1,,2", "1,GPU-c",
                             "1,GPU-ab,2", "1,0x2",
                             "1,99999999999999999999"}) {
        auto seen = visible(four(), {text});
        EXPECT_EQ(seen.gpus, Numbers{1}) << text;
        EXPECT_NE(seen.note.find("is no GPU here"), std::string::npos) << text;
    }
}

TEST(Visible, TwiceIsNone)
{
    auto seen = visible(four(), {"1,GPU-ab1"});
    EXPECT_EQ(seen.gpus, Numbers{});
    EXPECT_NE(seen.note.find("twice"), std::string::npos);
}

TEST(Visible, SaysThatMigIsNotSupported)
{
    auto seen = visible(four(), {"MIG-GPU-ab00-1234/1/0"});
    EXPECT_EQ(seen.gpus, Numbers{});
    EXPECT_NE(seen.note.find("MIG), which is not supported"),
              std::string::npos);
    EXPECT_EQ(visible(four(), {"\x1b[2J"}).note.find('\x1b'),
              std::string::npos);
}

/* CUDA puts the fastest first. */
TEST(Visible, NumbersOfGpusOfSeveralKindsAreUncertain)
{
    auto mixed = four(false);
    EXPECT_FALSE(visible(mixed, {}).certain);
    EXPECT_FALSE(visible(mixed, {"1,2"}).certain);
    EXPECT_TRUE(visible(mixed, {nullptr, "PCI_BUS_ID"}).certain);
    EXPECT_TRUE(visible(mixed, {"1,2", "PCI_BUS_ID"}).certain);
    EXPECT_FALSE(visible(mixed, {"1,2", "FASTEST_FIRST"}).certain);
    EXPECT_TRUE(visible(mixed, {"GPU-ab3,GPU-ab1"}).certain);
}

/* A GPU that is on the bus only is none of CUDA's. */
TEST(Visible, OthersHaveNoNumber)
{
    auto devices        = four();
    devices.gpu(0).cuda = devices.gpu(2).cuda = false;
    EXPECT_EQ(visible(devices, {}).gpus, (Numbers{1, 3}));
    EXPECT_EQ(visible(devices, {"1,0,2"}).gpus, (Numbers{3, 1}));
    EXPECT_EQ(visible(devices, {"GPU-ab2"}).gpus, Numbers{});
}

/* Schedulers set the variable on every node. */
TEST(Visible, NothingToSayWithoutGpus)
{
    Devices none;
    none.number();
    auto seen = visible(none, {"0,1"});
    EXPECT_TRUE(seen.gpus.empty());
    EXPECT_EQ(seen.note, "");
    EXPECT_TRUE(seen.certain);
}

} // namespace
} // namespace fuselink::topology

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/process.h"

#include "child.h"

#include <gtest/gtest.h>

namespace fuselink {
namespace {

TEST(ProcessId, SelfRuns)
{
    ProcessId self = ProcessId::self();
    EXPECT_NE(self.word(), 0u);
    EXPECT_EQ(self.pid(), getpid());
    EXPECT_EQ(self.life(), ProcessId::Life::Running);
    EXPECT_TRUE(self.may_run());
    EXPECT_EQ(self, ProcessId::self());
}

TEST(ProcessId, AChildIsAnother)
{
    ProcessId parent = ProcessId::self();
    Child child([&] {
        return ProcessId::self() != parent &&
               ProcessId::self().pid() == getpid() &&
               parent.life() == ProcessId::Life::Running;
    });
    EXPECT_TRUE(child.ok());
}

TEST(ProcessId, KnowsTheDeadAndZombies)
{
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    Child child([&] {
        uint64_t word = ProcessId::self().word();
        return write(ends[1], &word, sizeof(word)) == sizeof(word);
    });
    uint64_t word = 0;
    ASSERT_EQ(read(ends[0], &word, sizeof(word)), ssize_t(sizeof(word)));
    close(ends[0]);
    close(ends[1]);
    ProcessId id(word);
    EXPECT_EQ(id.life(), ProcessId::Life::Running);

    child.kill(false);
    EXPECT_EQ(id.life(), ProcessId::Life::Gone);
    EXPECT_TRUE(id.may_run()); /* the cheap question does not see it */
    child.kill(true);
    EXPECT_EQ(id.life(), ProcessId::Life::Gone);
    EXPECT_FALSE(id.may_run());
}

TEST(ProcessId, WhoStartedLaterWasNotThereThen)
{
    const int32_t self = getpid();
    EXPECT_TRUE(ProcessId::runs_since(self, time(nullptr)));
    EXPECT_TRUE(ProcessId::runs_since(self, time(nullptr) + 1000));
    EXPECT_FALSE(ProcessId::runs_since(self, 1000)); /* of 1970 */

    Child child([] { return true; });
    EXPECT_TRUE(ProcessId::runs_since(child.pid(), time(nullptr)));
    const int32_t pid = child.pid();
    child.kill(false);
    EXPECT_FALSE(ProcessId::runs_since(pid, time(nullptr)));
    child.kill(true);
    EXPECT_FALSE(ProcessId::runs_since(pid, time(nullptr)));
}

TEST(ProcessId, APidThatIsUsedAgainIsAnother)
{
    uint64_t earlier = ProcessId::self().word() ^ (uint64_t{1} << 30);
    EXPECT_EQ(ProcessId(earlier).life(), ProcessId::Life::Gone);
}

TEST(ProcessId, SaysNothingOfOtherNamespaces)
{
    uint64_t elsewhere = ProcessId::self().word() ^ (uint64_t{1} << 60);
    EXPECT_EQ(ProcessId(elsewhere).life(), ProcessId::Life::Unknown);
    EXPECT_TRUE(ProcessId(elsewhere).may_run());
    EXPECT_EQ(ProcessId(0).life(), ProcessId::Life::Unknown);
}

} // namespace
} // namespace fuselink

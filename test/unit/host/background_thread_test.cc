/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "host/background_thread.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fuselink {
namespace {

/* Rounds without end, each with something half done in the middle. */
class Work : public Background {
public:
    explicit Work(bool to_the_end = false) : to_the_end_(to_the_end) {}
    ~Work() = default;

    const char *name() const override { return "test"; }
    void begin() override { sigprocmask(SIG_SETMASK, nullptr, &mask); }
    bool step() override
    {
        half = true;
        usleep(200);
        half = false;
        ++rounds;
        return true;
    }
    bool over() const override { return stop_; }
    sched::Nanos next_due() const override { return {}; }
    void wait(sched::Nanos) override {}
    void end() override { ended = true; }
    void stop() override { stop_ = true; }
    bool ends_at_exit() const override { return to_the_end_; }
    void on_fork() override { ++forks; }

    std::unique_ptr<AtWork> start()
    {
        std::string error;
        auto work = BackgroundThread::start(*this, error);
        EXPECT_NE(work, nullptr) << error;
        for (const unsigned seen = rounds; work && rounds == seen;) {
            std::this_thread::yield();
        }
        return work;
    }

    std::atomic<bool>     half{false}, ended{false};
    std::atomic<unsigned> rounds{0}, forks{0};
    sigset_t              mask{};

private:
    const bool        to_the_end_;
    std::atomic<bool> stop_{false};
};

/* What a child that runs `what` ends with. */
template <typename What> int status_of_child(What &&what)
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(what() ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

TEST(BackgroundThread, IsBetweenRoundsWhenTheProcessForks)
{
    Work work;
    auto at_work = work.start();
    for (unsigned i = 0; i < 50; ++i) {
        const int status = status_of_child([&] {
            /* Nobody is there, who would have to be waited for. */
            at_work.reset();
            return !work.half && work.forks == 1 && !work.ended;
        });
        ASSERT_EQ(status, 0) << i;
    }
    for (const unsigned seen = work.rounds; work.rounds == seen;) { /* goes on here */
        std::this_thread::yield();
    }
    EXPECT_EQ(work.forks, 0u);
    at_work.reset();
    EXPECT_TRUE(work.ended);
}

/* A child may have its own, and fork as well. */
TEST(BackgroundThread, IsInAChildAsInItsParent)
{
    Work of_parent;
    const auto at_work = of_parent.start();
    EXPECT_EQ(status_of_child([] {
                  Work work;
                  auto inner = work.start();
                  return status_of_child([&] { return work.forks == 1; }) == 0 &&
                         work.forks == 0;
              }), 0);
}

Work *left_behind;

/* Destroyed at exit, as objects of programs are, after what fuselink does there. */
struct OfProgram {
    ~OfProgram()
    {
        if (left_behind != nullptr) {
            _exit(left_behind->ended ? 0 : 1);
        }
    }
};

void end_without_goodbye(bool to_the_end)
{
    static OfProgram object;
    static Work      work(to_the_end);
    static auto      at_work = work.start();
    left_behind              = &work;
    exit(2);
}

TEST(BackgroundThread, EndsBeforeWhatTheProgramHas)
{
    /* Statics that a fork has copied would be destroyed, too: a process of its own. */
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(end_without_goodbye(true), testing::ExitedWithCode(0), "");
}

TEST(BackgroundThread, LeavesSignalsToTheProgramButItsOwn)
{
    Work work;
    work.start().reset();
    EXPECT_EQ(sigismember(&work.mask, SIGINT), 1);
    EXPECT_EQ(sigismember(&work.mask, SIGALRM), 1);
    EXPECT_EQ(sigismember(&work.mask, SIGSEGV), 0);
    EXPECT_EQ(sigismember(&work.mask, SIGBUS), 0);
}

} // namespace
} // namespace fuselink

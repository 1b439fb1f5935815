/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* A test that hangs ends the program, which says which one it was: whoever runs it
 * would only see that the time for all of them is over. */

#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace fuselink {
namespace {

/* Far more than the longest needs under the thread sanitizer beside other work. */
constexpr unsigned kSeconds = 300;

class TimeLimit : public testing::EmptyTestEventListener {
public:
    TimeLimit() { signal(SIGALRM, end); }

private:
    void OnTestStart(const testing::TestInfo &test) override
    {
        said() = std::string("the time limit of a test is over: ") +
                 test.test_suite_name() + "." + test.name() + "\n";
        alarm(kSeconds);
    }
    void OnTestEnd(const testing::TestInfo &) override { alarm(0); }

    static std::string &said()
    {
        static std::string text;
        return text;
    }
    /* By signal: only what is safe there. */
    static void end(int)
    {
        const std::string &text = said();
        if (write(STDERR_FILENO, text.data(), text.size()) < 0) {
            _exit(2);
        }
        signal(SIGALRM, SIG_DFL);
        raise(SIGALRM);
    }
};

/* Before main(), which is GoogleTest's own. */
const bool is_set = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new TimeLimit);
    return true;
}();

} // namespace
} // namespace fuselink

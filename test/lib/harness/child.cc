/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "child.h"

#include "failure.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <sstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fltest {
namespace {

std::string contents(int fd)
{
    std::string text;
    char buffer[4096];
    for (off_t at = 0;;) {
        ssize_t n = pread(fd, buffer, sizeof(buffer), at);
        if (n <= 0) {
            return text;
        }
        text.append(buffer, static_cast<size_t>(n));
        at += n;
    }
}

const char *name_of(Side side)
{
    return side == Side::Active ? "active side" : "passive side";
}

} // namespace

Child::Child(const Case &test, Side side, const std::function<void()> &body)
    : test_(test), side_(side), result_(memfd_create("result", MFD_CLOEXEC)),
      output_(memfd_create("output", MFD_CLOEXEC)),
      deadline_(Clock::now() + std::chrono::seconds(test.seconds))
{
    REQUIRE(result_ >= 0 && output_ >= 0, "memfd_create(): %s",
            strerror(errno));
    pid_ = fork();
    REQUIRE(pid_ >= 0, "fork(): %s", strerror(errno));
    if (pid_ == 0) {
        run(body);
    }
}

Child::~Child()
{
    close(result_);
    close(output_);
}

void Child::run(const std::function<void()> &body) const
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(output_, STDOUT_FILENO);
    dup2(output_, STDERR_FILENO);
    for (const Setting &setting : test_.settings) {
        if (setting.side == Side::Both || setting.side == side_) {
            setenv(setting.name.c_str(), setting.value.c_str(), 1);
        }
    }

    Outcome outcome;
    try {
        body();
    } catch (const Failed &failed) {
        outcome = {Outcome::Kind::Failed, failed.reason};
    } catch (const Skipped &skipped) {
        outcome = {Outcome::Kind::Skipped, skipped.reason};
    }
    std::string text(1, static_cast<char>(outcome.kind));
    text += outcome.reason;
    if (pwrite(result_, text.data(), text.size(), 0) < 0) {
        abort();
    }
    fflush(nullptr);
    /* Destructors of UCX's libraries run, as they would in any program. */
    exit(outcome.kind == Outcome::Kind::Failed ? 1 : 0);
}

Outcome Child::wait()
{
    int status;
    bool late = false;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
        if (!late && Clock::now() > deadline_) {
            late = true;
            kill(pid_, SIGKILL);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }

    std::string result = contents(result_);
    std::string output = contents(output_);
    Outcome outcome;
    if (!result.empty()) {
        outcome.kind   = static_cast<Outcome::Kind>(result[0]);
        outcome.reason = result.substr(1);
    }
    std::string ended = how_it_ended(status, late);
    if (!ended.empty() && outcome.kind != Outcome::Kind::Failed) {
        outcome = {Outcome::Kind::Failed, ended};
    }
    if (outcome.kind == Outcome::Kind::Passed) {
        std::string wrong = check_output(output);
        if (!wrong.empty()) {
            outcome = {Outcome::Kind::Failed, wrong};
        }
    }
    if (outcome.kind == Outcome::Kind::Failed) {
        outcome.reason = name_of(side_) + (": " + outcome.reason);
        if (!output.empty()) {
            outcome.reason += "\n" + output.substr(0, 6000);
        }
    }
    return outcome;
}

std::string Child::how_it_ended(int status, bool late) const
{
    if (late) {
        return format("not done after %u s", test_.seconds);
    }
    if (WIFSIGNALED(status)) {
        return format("died of signal %d", WTERMSIG(status));
    }
    if (WEXITSTATUS(status) != 0) {
        return format("exited with status %d", WEXITSTATUS(status));
    }
    return "";
}

std::string Child::check_output(const std::string &output) const
{
    std::vector<unsigned> seen(test_.log.size());
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        bool expected = line.empty();
        for (size_t i = 0; i < test_.log.size() && !expected; ++i) {
            const LogLine &log = test_.log[i];
            expected = (log.side == Side::Both || log.side == side_) &&
                       std::regex_search(line,
                                         std::regex(log.pattern,
                                                    std::regex::extended));
            seen[i] += expected;
        }
        if (!expected) {
            return "unexpected output: " + line;
        }
    }
    for (size_t i = 0; i < seen.size(); ++i) {
        const LogLine &log = test_.log[i];
        if ((log.side == Side::Both || log.side == side_) &&
            (seen[i] < log.least || seen[i] > log.most)) {
            return format("%u lines like '%s', want %u to %u", seen[i],
                          log.pattern.c_str(), log.least, log.most);
        }
    }
    return "";
}

} // namespace fltest

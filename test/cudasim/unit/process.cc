/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "process.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cudasim_test {

void Channel::send_bytes(const void *data, size_t size)
{
    ASSERT_EQ(::send(fd_, data, size, MSG_NOSIGNAL),
              static_cast<ssize_t>(size));
}

void Channel::receive_bytes(void *data, size_t size)
{
    if (recv(fd_, data, size, MSG_WAITALL) != static_cast<ssize_t>(size)) {
        ADD_FAILURE() << "the other process has ended";
    }
}

namespace {

/* The topology in a file: one for each text, so that all who have the same
 * share a node. */
std::string file_of(const std::string &topology)
{
    static const char *folder = getenv("TMPDIR");
    std::string path = std::string(folder != nullptr ? folder : "/tmp") +
                       "/cudasim-test-" + std::to_string(getpid());
    std::ofstream(path) << topology;
    return path;
}

} // namespace

Process::Process(const std::string &topology,
                 std::function<void(Channel &)> body, const Settings &settings)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        abort();
    }
    fflush(nullptr);
    pid_ = fork();
    if (pid_ != 0) {
        close(ends[1]);
        fd_      = ends[0];
        channel_ = Channel(fd_);
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    for (const char *name : {"CUDASIM_GPUS", "CUDASIM_FAULTS",
                             "CUDA_VISIBLE_DEVICES"}) {
        unsetenv(name);
    }
    std::string file = file_of(topology);
    setenv("CUDASIM_TOPOLOGY", file.c_str(), 1);
    for (const auto &[name, value] : settings) {
        setenv(name.c_str(), value.c_str(), 1);
    }
    Channel channel(ends[1]);
    body(channel);
    unlink(file.c_str());
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
}

Process::~Process()
{
    kill_9();
    wait();
    close(fd_);
}

void Process::kill_9()
{
    if (status_ == -1) {
        kill(pid_, SIGKILL);
    }
}

int Process::wait()
{
    if (status_ == -1) {
        waitpid(pid_, &status_, 0);
        unlink(("/tmp/cudasim-test-" + std::to_string(pid_)).c_str());
    }
    return status_;
}

bool Process::good()
{
    int status = wait();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int Process::signal()
{
    int status = wait();
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void run(const std::string &topology, std::function<void()> body,
         const Settings &settings)
{
    Process process(topology, [&](Channel &) { body(); }, settings);
    EXPECT_TRUE(process.good());
}

} // namespace cudasim_test

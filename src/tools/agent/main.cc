/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* fuselink_agent: lends the links of GPUs whose programs do not use fuselink. */

#include "../common/arguments.h"
#include "../common/number_list.h"
#include "../common/own_copy.h"
#include "cuda.h"
#include "fuselink_config.h"
#include "lender.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fuselink::agent {
namespace {

constexpr const char *kHelp =
    "usage: fuselink_agent [--gpus LIST]\n"
    "\n"
    "Lends GPUs' links to the host to jobs over fuselink of the same user and node,\n"
    "as each process that uses fuselink and a GPU does anyway. So it is for GPUs that\n"
    "are idle, or whose programs do not use fuselink. Runs until it is ended by\n"
    "SIGTERM or SIGINT; sleeps while nobody asks. It has a CUDA context on each of the\n"
    "GPUs, and takes up to UCX_FUSELINK_RELAY_MEMORY of each while somebody uses it.\n"
    "What other programs do on the link of the GPU it does not see.\n"
    "\n"
    "  --gpus LIST  only these, as CUDA counts them: 0,2-3 (all)\n"
    "  --version    print the version\n"
    "  --help       print this\n"
    "\n"
    "It says \"ready\" when each has been tried. Exit status: 0 after such a signal;\n"
    "1 if there is no GPU to lend, or all have failed; 2 for wrong arguments.\n";

constexpr unsigned kMostGpus = 63; /* as many entries as relays have on a node, but one */

int fail(int status, const std::string &error)
{
    fprintf(stderr, "fuselink_agent: %s\n", error.c_str());
    return status;
}

sigset_t ending_signals()
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    return signals;
}

/* A process of its own, as what opens CUDA must not fork, and one GPU is what a process
 * lends. Its exit status is that of `run`; -1 if there can be none. */
template <typename Run> pid_t in_child(Run &&run)
{
    const pid_t parent = getpid();
    const pid_t child  = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        _exit(getppid() == parent ? run() : 0);
    }
    return child;
}

/* How many there are; 0 with a line on standard error. */
unsigned count_gpus()
{
    const pid_t child = in_child([] {
        Cuda        cuda;
        std::string error;
        return cuda.open(error) ? static_cast<int>(std::min(cuda.count(), kMostGpus)) :
                                  fail(0, error);
    });
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ?
               static_cast<unsigned>(WEXITSTATUS(status)) : 0;
}

/* Says so in `tried` when it has begun, or cannot. */
int lend(unsigned gpu, int tried)
{
    const std::string label = "GPU " + std::to_string(gpu);
    const sigset_t    signals = ending_signals();
    Cuda              cuda;
    std::string       error;
    Lender            lender;
    const bool lends = cuda.open(error) && cuda.use(gpu, error) && lender.open(error);
    if (lends) {
        printf("%s (%s): its link is lent, with up to %zu kB of its memory\n",
               label.c_str(), cuda.name(gpu).c_str(), lender.memory() / 1024);
        fflush(stdout);
    } else {
        fail(1, label + ": " + error);
    }
    close(tried);
    int which;
    return lends && sigwait(&signals, &which) == 0 ? 0 : 1;
}

/* Returns when all have ended, which they do when this process is told to. */
int run(const std::vector<unsigned> &gpus)
{
    int tried[2];
    if (pipe(tried) != 0) {
        return fail(1, "no pipe");
    }
    /* Before there are threads, which would get them else. */
    const sigset_t ending = ending_signals();
    sigset_t       signals = ending;
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    std::map<pid_t, unsigned> children;
    for (unsigned gpu : gpus) {
        const pid_t child = in_child([&] {
            close(tried[0]);
            return lend(gpu, tried[1]);
        });
        if (child > 0) {
            children[child] = gpu;
        } else {
            fail(1, "no process for GPU " + std::to_string(gpu));
        }
    }
    close(tried[1]);
    char none;
    while (read(tried[0], &none, 1) < 0) { /* until all of them have closed it */
    }
    close(tried[0]);
    bool told = false, some = false;
    /* Who has failed is gone, or about to be. */
    printf("ready\n");
    fflush(stdout);
    while (!children.empty()) {
        int which = 0;
        if (sigwait(&signals, &which) != 0) {
            continue;
        }
        if (which != SIGCHLD) {
            told = true;
            for (const auto &[child, gpu] : children) {
                kill(child, SIGTERM);
            }
        }
        int status;
        for (pid_t child; (child = waitpid(-1, &status, WNOHANG)) > 0;) {
            const auto at = children.find(child);
            if (at == children.end()) {
                continue;
            }
            some = some || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
            if (WIFSIGNALED(status)) {
                fail(1, "GPU " + std::to_string(at->second) + ": its process was ended by "
                        "signal " + std::to_string(WTERMSIG(status)));
            }
            children.erase(at);
        }
    }
    return told && some ? 0 : 1;
}

int main(int argc, char **argv)
{
    Arguments   arguments;
    std::string error;
    if (!arguments.parse(argc, argv,
                         {{"gpus", true}, {"version", false}, {"help", false}}, error)) {
        return fail(2, error);
    }
    if (arguments.has("help") || arguments.has("version")) {
        fputs(arguments.has("help") ? kHelp : "fuselink_agent " FUSELINK_VERSION "\n", stdout);
        return 0;
    }
    std::vector<unsigned> gpus;
    if (arguments.has("gpus")) {
        const std::string list = arguments.value("gpus");
        if (!parse_numbers(list, kMostGpus - 1, gpus)) {
            return fail(2, "--gpus " + list + ": accepted: numbers like 0,2-3");
        }
        return run(gpus);
    }
    for (unsigned gpu = 0, count = count_gpus(); gpu < count; ++gpu) {
        gpus.push_back(gpu);
    }
    return gpus.empty() ? 1 : run(gpus);
}

} // namespace
} // namespace fuselink::agent

int main(int argc, char **argv)
{
    fuselink::use_own_copy(argv);
    return fuselink::agent::main(argc, argv);
}

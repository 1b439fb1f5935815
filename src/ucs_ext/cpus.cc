/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "cpus.h"

#include "split.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <unistd.h>

namespace fuselink {
namespace {

static_assert(CpuSet().size() == CPU_SETSIZE);

CpuSet from_kernel(const cpu_set_t &cpus)
{
    CpuSet result;
    for (size_t i = 0; i < result.size(); ++i) {
        result[i] = CPU_ISSET(i, &cpus);
    }
    return result;
}

bool bind_thread(const CpuSet &cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < cpus.size(); ++i) {
        if (cpus[i]) {
            CPU_SET(i, &set);
        }
    }
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

CpuSet of_thread()
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? from_kernel(set) : CpuSet();
}

/* A thread that asks for all gets what its cgroup has, whichever version that is, and
 * whatever its process is bound to. */
void *ask_for_all(void *result)
{
    if (bind_thread(~CpuSet())) {
        *static_cast<CpuSet *>(result) = of_thread();
    }
    return nullptr;
}

std::string line_of(const std::string &path)
{
    std::ifstream file(path);
    std::string   line;
    std::getline(file, line);
    return line;
}

/* "QUOTA PERIOD" in microseconds, or "max PERIOD". */
double quota_in(const std::string &line)
{
    double quota = 0, period = 0;
    return sscanf(line.c_str(), "%lf %lf", &quota, &period) == 2 && quota > 0 &&
                   period > 0 ?
               quota / period : std::numeric_limits<double>::infinity();
}

class RealCpus final : public Cpus {
public:
    CpuSet own() override { return of_thread(); }

    CpuSet allowed() override
    {
        CpuSet    result;
        pthread_t thread;
        if (pthread_create(&thread, nullptr, ask_for_all, &result) == 0) {
            pthread_join(thread, nullptr);
        }
        const CpuSet others = result & ~cpus_in(line_of("/sys/devices/system/cpu/isolated"));
        return others.any() ? others : result;
    }

    CpuSet with_siblings(const CpuSet &cpus) override
    {
        CpuSet result = cpus;
        for (size_t i = 0; i < cpus.size(); ++i) {
            if (cpus[i]) {
                result |= cpus_in(line_of("/sys/devices/system/cpu/cpu" +
                                          std::to_string(i) +
                                          "/topology/thread_siblings_list"));
            }
        }
        return result;
    }

    CpuSet near(const CpuSet &cpus) override
    {
        CpuSet       result;
        const CpuSet nodes = cpus_in(line_of("/sys/devices/system/node/online"));
        for (size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i]) {
                const CpuSet node = cpus_in(line_of("/sys/devices/system/node/node" +
                                                    std::to_string(i) + "/cpulist"));
                result |= (node & cpus).any() ? node : CpuSet();
            }
        }
        return result.any() ? result : ~CpuSet();
    }

    /* Of a container, whose own cgroup is the root of what it sees; and of a job's or a
     * service's, each of whose parents may have a limit, too. */
    double quota() override
    {
        constexpr std::string_view kUnified = "0::";
        const std::string          root     = "/sys/fs/cgroup";
        double        least = quota_in(line_of(root + "/cpu.max"));
        std::ifstream file("/proc/self/cgroup");
        for (std::string line; std::getline(file, line);) {
            if (!line.starts_with(kUnified)) {
                continue;
            }
            std::string group = line.substr(kUnified.size());
            while (group.size() > 1) {
                least = std::min(least, quota_in(line_of(root + group + "/cpu.max")));
                group.resize(group.rfind('/'));
            }
        }
        return least;
    }

    bool bind(const CpuSet &cpus) override { return bind_thread(cpus); }
    /* Of the thread, on Linux; POSIX would have the whole process give way. */
    bool give_way(int steps) override
    {
        errno = 0;
        return nice(steps) != -1 || errno == 0;
    }

    unsigned launched() override
    {
        for (const char *name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                 "PALS_LOCAL_SIZE"}) {
            const char *value = getenv(name);
            unsigned    count = 0;
            if (value != nullptr &&
                std::from_chars(value, value + strlen(value), count).ec == std::errc()) {
                return count;
            }
        }
        const char *tasks = getenv("SLURM_STEP_TASKS_PER_NODE");
        const char *node  = getenv("SLURM_NODEID");
        return tasks != nullptr && node != nullptr ?
                   tasks_of_node(tasks, strtoul(node, nullptr, 10)) : 0;
    }
};

} // namespace

unsigned tasks_of_node(std::string_view list, size_t node)
{
    for (const std::string_view piece : split(list)) {
        const char *end   = piece.data() + piece.size();
        unsigned    tasks = 0;
        size_t      nodes = 1;
        const auto  read  = std::from_chars(piece.data(), end, tasks);
        if (read.ec != std::errc()) {
            break;
        }
        if (end - read.ptr > 2 && read.ptr[0] == '(' && read.ptr[1] == 'x') {
            std::from_chars(read.ptr + 2, end, nodes);
        }
        if (node < nodes) {
            return tasks;
        }
        node -= nodes;
    }
    return 0;
}

CpuSet cpus_in(std::string_view list)
{
    CpuSet result;
    for (const std::string_view piece : split(list)) {
        const char *end   = piece.data() + piece.size();
        size_t      first = 0;
        auto        read  = std::from_chars(piece.data(), end, first);
        size_t      last  = first;
        if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') {
            read = std::from_chars(read.ptr + 1, end, last);
        }
        if (read.ec == std::errc()) {
            for (size_t i = first; i <= std::min(last, result.size() - 1); ++i) {
                result.set(i);
            }
        }
    }
    return result;
}

Cpus &Cpus::real()
{
    static RealCpus cpus;
    return cpus;
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "job.h"

#include "hash.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

namespace fuselink {
namespace {

/* The launcher's name for the run first: a batch job may have several. */
constexpr const char *kJobNames[] = {
    "PMIX_NAMESPACE", "OMPI_MCA_orte_ess_jobid", "PMI_JOBID",
    "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
};

constexpr const char *kRankNames[] = {
    "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
};

/* The first of the variables that has a value; `get` looks one up. */
template <typename Get>
std::string first_of(std::span<const char *const> names, Get &&get)
{
    for (const char *name : names) {
        std::string value = get(name);
        if (!value.empty()) {
            return value;
        }
    }
    return {};
}

std::string own_variable(const char *name)
{
    const char *value = getenv(name);
    return value != nullptr ? value : "";
}

} // namespace

uint64_t job_number()
{
    std::string job = first_of(kJobNames, own_variable);
    if (job.empty()) {
        return static_cast<uint64_t>(getsid(0)) + 1;
    }
    Hash hash;
    hash.add(std::string_view(job));
    return hash.nonzero();
}

JobPlace own_job_place()
{
    return {first_of(kJobNames, own_variable),
            first_of(kRankNames, own_variable)};
}

JobPlace job_place(int32_t pid, uid_t owner)
{
    const std::string folder = "/proc/" + std::to_string(pid);
    struct stat state{};
    if (stat(folder.c_str(), &state) != 0 || state.st_uid != owner) {
        return {};
    }
    std::ifstream file(folder + "/environ", std::ios::binary);
    /* "NAME=VALUE" and a null byte, over and over; one in front, so that a name
     * is found at its beginning only. */
    std::string all(1, '\0');
    all.append(std::istreambuf_iterator<char>(file), {});
    auto get = [&](const char *name) {
        std::string key = std::string(1, '\0') + name + '=';
        size_t at       = all.find(key);
        return at != std::string::npos ?
                   std::string(all.c_str() + at + key.size()) :
                   std::string();
    };
    return {first_of(kJobNames, get), first_of(kRankNames, get)};
}

} // namespace fuselink

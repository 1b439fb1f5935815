/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "job.h"

#include "hash.h"

#include <cstdlib>
#include <unistd.h>

namespace fuselink {

uint64_t job_number()
{
    /* The launcher's name for the run first: a batch job may have several. */
    static constexpr const char *kNames[] = {
        "PMIX_NAMESPACE", "OMPI_MCA_orte_ess_jobid", "PMI_JOBID",
        "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
    };
    for (const char *name : kNames) {
        const char *value = getenv(name);
        if (value != nullptr && *value != '\0') {
            Hash hash;
            hash.add(std::string_view(value));
            return hash.nonzero();
        }
    }
    return static_cast<uint64_t>(getsid(0)) + 1;
}

} // namespace fuselink

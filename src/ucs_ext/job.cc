/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "job.h"

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
    uint64_t number = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *name : kNames) {
        const char *value = getenv(name);
        if (value != nullptr && *value != '\0') {
            for (const char *c = value; *c != '\0'; ++c) {
                number = (number ^ static_cast<uint8_t>(*c)) * 0x100000001b3u;
            }
            return number != 0 ? number : 1;
        }
    }
    return static_cast<uint64_t>(getsid(0)) + 1;
}

} // namespace fuselink

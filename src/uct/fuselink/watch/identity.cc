/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "identity.h"

#include "../../../ucs_ext/hash.h"
#include "../../../ucs_ext/job.h"
#include "../../../ucs_ext/process.h"
#include "../../../ucs_ext/text_table.h"

#include <cerrno>
#include <unistd.h>

namespace fuselink {

Identity Identity::own()
{
    char name[256] = {};
    if (gethostname(name, sizeof(name) - 1) != 0) {
        name[0] = '?';
    }
    JobPlace place = own_job_place();
    Identity self;
    self.program = program_invocation_short_name;
    self.host    = name;
    self.job     = place.job;
    self.rank    = place.rank;
    self.pid     = getpid();
    Hash hash;
    hash.add(std::string_view(name));
    hash.add(ProcessId::self().word());
    self.number = (hash.value() >> 33) + 1;
    return self;
}

std::string Identity::text() const
{
    return program + (rank.empty() ? "" : " rank " + rank) +
           format(" (pid %d on %s)", pid, host.c_str());
}

} // namespace fuselink

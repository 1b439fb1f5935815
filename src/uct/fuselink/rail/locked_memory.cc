/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "locked_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

namespace fuselink {
namespace {

rlim_t limit()
{
    struct rlimit memlock;
    return getrlimit(RLIMIT_MEMLOCK, &memlock) == 0 ? memlock.rlim_cur :
                                                      RLIM_INFINITY;
}

} // namespace

bool can_lock(const LowerMd &md, size_t bytes)
{
    if (limit() == RLIM_INFINITY) {
        return true;
    }
    /* By trying: whoever may exceed the limit is known to the kernel only, and
     * so is what was locked before. */
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    uct_mem_h memh;
    ucs_status_t status = uct_md_mem_reg(md.handle(), memory, bytes,
                                         UCT_MD_MEM_ACCESS_ALL |
                                         UCT_MD_MEM_FLAG_HIDE_ERRORS, &memh);
    if (status == UCS_OK) {
        uct_md_mem_dereg(md.handle(), memh);
    }
    munmap(memory, bytes); /* ends what UCX's cache keeps of it */
    return status == UCS_OK;
}

std::string locked_memory_limit()
{
    rlim_t bytes = limit();
    return bytes == RLIM_INFINITY ? "unlimited" :
                                    std::to_string(bytes >> 10) + " kB";
}

} // namespace fuselink

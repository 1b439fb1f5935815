/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "locked_memory.h"

#include <sys/mman.h>

namespace fuselink {
bool can_lock(Host &host, const UctMd &md, size_t bytes)
{
    if (host.locked_memory_limit() == Host::kUnlimited) {
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

} // namespace fuselink

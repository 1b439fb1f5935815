/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "mapping.h"

#include <sys/mman.h>

namespace cudasim {

bool Mapping::nics_ = false;

std::shared_ptr<Mapping> Mapping::make(int fd, size_t offset, size_t size)
{
    void *base =
        nics_ ? mmap(nullptr, size, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE, fd,
                     static_cast<off_t>(offset)) :
                mmap(nullptr, size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return nullptr;
    }
    void *alias = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE, fd,
                       static_cast<off_t>(offset));
    if (alias == MAP_FAILED) {
        munmap(base, size);
        return nullptr;
    }
    /* A core dump is not to hold the memory of all GPUs. */
    madvise(alias, size, MADV_DONTDUMP);
    madvise(base, size, MADV_DONTDUMP);
    return std::shared_ptr<Mapping>(
        new Mapping(static_cast<char *>(base), static_cast<char *>(alias), size));
}

Mapping::~Mapping()
{
    munmap(base_, size_);
    munmap(alias_, size_);
}

} // namespace cudasim

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* What UCX's modules register is known by the functions below, see verbs.h. */

#include "registrations.h"

#if __has_include(<infiniband/verbs.h>)

#include "harness/verbs.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <infiniband/verbs.h>
#include <string>

#undef ibv_reg_mr

namespace {

struct Range {
    std::string nic; /* how its name ends */
    uintptr_t   base;
    size_t      length;
};

Range               refused_range{};
std::atomic<size_t> refused;

bool refuses(const ibv_pd *pd, const void *address, size_t length)
{
    const std::string name  = pd->context->device->name;
    const uintptr_t   begin = reinterpret_cast<uintptr_t>(address);
    const Range      &range = refused_range;
    if (!name.ends_with(range.nic) || begin >= range.base + range.length ||
        range.base >= begin + length) {
        return false;
    }
    ++refused;
    errno = ENOMEM;
    return true;
}

} // namespace

extern "C" ibv_mr *ibv_reg_mr(ibv_pd *pd, void *address, size_t length,
                              int access)
{
    static auto *reg =
        fltest::verbs_function<ibv_mr *(ibv_pd *, void *, size_t, int)>(
            "ibv_reg_mr");
    return refuses(pd, address, length) ? nullptr :
                                          reg(pd, address, length, access);
}

extern "C" ibv_mr *ibv_reg_mr_iova2(ibv_pd *pd, void *address, size_t length,
                                    uint64_t iova, unsigned access)
{
    static auto *reg = fltest::verbs_function<ibv_mr *(
        ibv_pd *, void *, size_t, uint64_t, unsigned)>("ibv_reg_mr_iova2");
    return refuses(pd, address, length) ?
               nullptr :
               reg(pd, address, length, iova, access);
}

void fltest::refuse_registrations(unsigned nic, const void *base, size_t length)
{
    refused_range = {"n" + std::to_string(nic),
                     reinterpret_cast<uintptr_t>(base), length};
}

size_t fltest::refused_registrations()
{
    return refused;
}

#else

void fltest::refuse_registrations(unsigned, const void *, size_t)
{
}

size_t fltest::refused_registrations()
{
    return 0;
}

#endif

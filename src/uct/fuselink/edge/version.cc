/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "version.h"

#include "../ucx.h"

#include <dlfcn.h>

namespace fuselink {
namespace {

/* Functions of libuct by which minor versions differ: each exists since the
 * minor version beside it. Read off the sources of the releases 1.13 to
 * 1.22; what they cannot tell apart, libucp's own version does later. */
struct Milestone {
    int         from;
    const char *symbol;
};

constexpr Milestone kMilestones[] = {
    {14, "uct_ep_connect_to_ep_v2"},
    {16, "uct_base_rkey_compare"},
    {19, "uct_rkey_unpack_v2"},
    {21, "uct_md_mem_elem_pack"},
};

bool refuse(const char *running)
{
    ucs_warn("fuselink was built for UCX %d.%d and this is UCX %s: transport "
             "'fuselink' is not available; build it for this version",
             FUSELINK_UCX_MAJOR, FUSELINK_UCX_MINOR, running);
    return false;
}

/* The version that libucp reports, if it is loaded. */
bool running_version(unsigned &major, unsigned &minor)
{
    using get_version_t = void (*)(unsigned *, unsigned *, unsigned *);
    auto *symbol = dlsym(RTLD_DEFAULT, "ucp_get_version");
    if (symbol == nullptr) {
        /* Open MPI loads libucp privately; it is still the same file. */
        void *ucp = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
        if (ucp == nullptr) {
            return false;
        }
        symbol = dlsym(ucp, "ucp_get_version");
        dlclose(ucp); /* somebody else's reference keeps it */
        if (symbol == nullptr) {
            return false;
        }
    }
    unsigned release;
    reinterpret_cast<get_version_t>(symbol)(&major, &minor, &release);
    return true;
}

} // namespace

bool version_layout_matches()
{
    unsigned major, minor;
    if (running_version(major, minor)) {
        return version_matches_exactly();
    }
    for (const auto &milestone : kMilestones) {
        bool exists   = dlsym(RTLD_DEFAULT, milestone.symbol) != nullptr;
        bool expected = FUSELINK_UCX_MINOR >= milestone.from;
        if (exists != expected) {
            char text[32];
            snprintf(text, sizeof(text), exists ? "1.%d or later" :
                                                  "older than 1.%d",
                     milestone.from);
            return refuse(text);
        }
    }
    return true;
}

bool version_matches_exactly()
{
    unsigned major, minor;
    if (!running_version(major, minor) ||
        (major == FUSELINK_UCX_MAJOR && minor == FUSELINK_UCX_MINOR)) {
        return true;
    }
    char text[32];
    snprintf(text, sizeof(text), "%u.%u", major, minor);
    return refuse(text);
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "version.h"

#include "../ucx.h"

#include <climits>
#include <cstdio>
#include <dlfcn.h>

namespace fuselink {
namespace {

/* Functions of libuct that exist since the minor version beside them, without
 * a break. Read off the sources of the releases 1.12 to 1.22 and of what
 * follows 1.22. */
struct Milestone {
    int         from;
    const char *symbol;
};

constexpr Milestone kMilestones[] = {
    {13, "uct_component_register"},
    {14, "uct_ep_connect_to_ep_v2"},
    {16, "uct_base_rkey_compare"},
    {19, "uct_rkey_unpack_v2"},
    {20, "uct_ep_get_device_ep"},
    {21, "uct_md_mem_elem_pack"},
    {23, "uct_iface_query_v2_init"},
};

/* Went away in 1.21 and came back in 1.22: tells the two apart. */
constexpr const char *kNotIn21 = "uct_iface_base_query_v2";

bool exists(const char *symbol)
{
    return dlsym(RTLD_DEFAULT, symbol) != nullptr;
}

/* Minor versions of which libuct can be, as far as its functions tell. */
struct MinorRange {
    int from = 0;
    int to   = INT_MAX;

    bool holds(int minor) const { return from <= minor && minor <= to; }

    void print(char *text, size_t size) const
    {
        if (to == INT_MAX) {
            snprintf(text, size, "1.%d or later", from);
        } else if (from == 0) {
            snprintf(text, size, "1.%d or older", to);
        } else if (from == to) {
            snprintf(text, size, "1.%d", from);
        } else {
            snprintf(text, size, "1.%d to 1.%d", from, to);
        }
    }
};

MinorRange minor_range()
{
    MinorRange range;
    for (const auto &milestone : kMilestones) {
        if (!exists(milestone.symbol)) {
            range.to = milestone.from - 1;
            break;
        }
        range.from = milestone.from;
    }
    if (range.from == 21) {
        bool is_21 = !exists(kNotIn21);
        range      = is_21 ? MinorRange{21, 21} : MinorRange{22, range.to};
    }
    return range;
}

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
    MinorRange range = minor_range();
    if (FUSELINK_UCX_MAJOR == 1 && range.holds(FUSELINK_UCX_MINOR)) {
        return true;
    }
    char text[32];
    range.print(text, sizeof(text));
    return refuse(text);
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

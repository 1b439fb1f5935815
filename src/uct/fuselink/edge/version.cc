/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "version.h"

#include "../ucx.h"

#include <climits>
#include <cstdio>
#include <dlfcn.h>

/* The one function of libucp in use: a public one, in every release. libuct
 * has no version to ask for. */
extern "C" void ucp_get_version(unsigned *major, unsigned *minor,
                                unsigned *release);

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

MinorRange libuct_range()
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

} // namespace

bool version_matches()
{
    unsigned major, minor, release;
    char text[64];
    ucp_get_version(&major, &minor, &release);
    if (major != FUSELINK_UCX_MAJOR || minor != FUSELINK_UCX_MINOR) {
        snprintf(text, sizeof(text), "%u.%u", major, minor);
        return refuse(text);
    }
    /* A program that has only libuct of a private UCX got libucp from this
     * library, which may have found another UCX's. */
    MinorRange libuct = libuct_range();
    if (!libuct.holds(FUSELINK_UCX_MINOR)) {
        char range[32];
        libuct.print(range, sizeof(range));
        snprintf(text, sizeof(text), "%u.%u with libuct of UCX %s", major,
                 minor, range);
        return refuse(text);
    }
    return true;
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_VERBS_H
#define FUSELINK_TEST_VERBS_H

#include <dlfcn.h>

namespace fltest {

/** UCX's modules call libibverbs by name, and the program's own functions come
 *  first (it is linked with -rdynamic): those of queue_pairs.cc and
 *  registrations.cc see the calls, and go on to libibverbs's own. Nothing is linked
 *  to that library, which is there where UCX has loaded it; nullptr if not. */
template <typename Function> Function *verbs_function(const char *name)
{
    void *library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return library == nullptr ? nullptr :
                                reinterpret_cast<Function *>(
                                    dlsym(library, name));
}

} // namespace fltest

#endif

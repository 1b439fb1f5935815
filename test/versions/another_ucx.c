/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * Preloaded before fuselink, makes it believe that it met another release of
 * UCX, while UCX itself and the program see what is really there:
 *
 *     ANOTHER_UCX=1.14    what libucp says that it is
 *
 * Built with -DLATER_LIBUCT=NAME it also has that function, which libuct got in a later
 * release than the one at hand. Nobody calls it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{
    void (*real)(unsigned *, unsigned *, unsigned *);
    const char *version = getenv("ANOTHER_UCX");
    Dl_info caller;

    real = (void (*)(unsigned *, unsigned *, unsigned *))
            dlsym(RTLD_NEXT, "ucp_get_version");
    if (real == NULL) { /* called before libucp is there: by nobody known */
        abort();
    }
    real(major, minor, release);
    if (version != NULL && dladdr(__builtin_return_address(0), &caller) &&
        strstr(caller.dli_fname, "libuct_fuselink") != NULL &&
        sscanf(version, "%u.%u", major, minor) != 2) {
        fprintf(stderr, "ANOTHER_UCX=%s: accepted: MAJOR.MINOR\n", version);
        abort();
    }
}

#ifdef LATER_LIBUCT
void LATER_LIBUCT(void)
{
    abort();
}
#endif

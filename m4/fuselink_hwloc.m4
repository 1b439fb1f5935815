# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.

# FL_HWLOC: hwloc 2, for the locality of NICs and GPUs. Used where found;
# --with-hwloc makes it required, --without-hwloc leaves it out.
AC_DEFUN([FL_HWLOC], [
    AC_ARG_WITH([hwloc],
        [AS_HELP_STRING([--with-hwloc],
            [require hwloc 2 (found by pkg-config) @<:@used if found@:>@])],
        [], [with_hwloc=auto])
    AS_CASE([$with_hwloc], [yes|no|auto], [],
        [AC_MSG_ERROR([--with-hwloc takes yes or no, not "$with_hwloc"; set PKG_CONFIG_PATH to choose a hwloc])])

    fuselink_hwloc=no
    AS_IF([test $with_hwloc != no], [
        PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [
            fuselink_hwloc=$($PKG_CONFIG --modversion hwloc)
            AC_DEFINE([FUSELINK_HAVE_HWLOC], [1], [hwloc 2 is available])
        ], [
            AS_IF([test $with_hwloc = yes],
                  [AC_MSG_ERROR([--with-hwloc: pkg-config finds no hwloc >= 2.0; install libhwloc-dev])])
        ])
    ])
    AM_CONDITIONAL([HAVE_HWLOC], [test "$fuselink_hwloc" != no])
])

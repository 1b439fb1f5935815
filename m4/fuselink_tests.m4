# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.

# FL_TEST_LIBRARIES: what `make check` and `make bench` need. Not needed
# to build and install, so their absence is only reported.
AC_DEFUN([FL_TEST_LIBRARIES], [
    PKG_CHECK_MODULES([GTEST], [gtest_main],
        [fuselink_gtest=$($PKG_CONFIG --modversion gtest_main)],
        [fuselink_gtest=no])
    AM_CONDITIONAL([HAVE_GTEST], [test "$fuselink_gtest" != no])

    PKG_CHECK_MODULES([BENCHMARK], [benchmark],
        [fuselink_benchmark=$($PKG_CONFIG --modversion benchmark)],
        [fuselink_benchmark=no])
    AM_CONDITIONAL([HAVE_BENCHMARK], [test "$fuselink_benchmark" != no])
])

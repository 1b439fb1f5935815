# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.

# FL_HWLOC: hwloc 2, for the locality of NICs and GPUs.
AC_DEFUN([FL_HWLOC], [
    PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0],
        [fuselink_hwloc=$($PKG_CONFIG --modversion hwloc)],
        [AC_MSG_ERROR([pkg-config finds no hwloc >= 2.0; install libhwloc-dev, or set PKG_CONFIG_PATH to where hwloc.pc is])])
])

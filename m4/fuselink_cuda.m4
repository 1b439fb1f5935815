# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.

# FL_CUDA: headers of the CUDA driver API. The driver library itself is
# never linked: a node without a GPU has none.
AC_DEFUN([FL_CUDA], [
    AC_ARG_WITH([cuda],
        [AS_HELP_STRING([--with-cuda=DIR],
            [CUDA toolkit in DIR @<:@/usr/local/cuda if present@:>@])],
        [], [with_cuda=auto])

    fuselink_cuda=no
    AS_IF([test "x$with_cuda" != xno], [
        AS_CASE([$with_cuda], [yes|auto], [fuselink_cuda_dir=/usr/local/cuda],
                [fuselink_cuda_dir=$with_cuda])
        AC_MSG_CHECKING([for CUDA in $fuselink_cuda_dir])
        AS_IF([test -r "$fuselink_cuda_dir/include/cuda.h"], [
            fuselink_cuda=$fuselink_cuda_dir
            CUDA_CPPFLAGS="-isystem $fuselink_cuda_dir/include"
            AC_DEFINE([FUSELINK_HAVE_CUDA], [1], [CUDA headers are available])
        ])
        AC_MSG_RESULT([$fuselink_cuda])
        AS_IF([test "$fuselink_cuda" = no && test "x$with_cuda" != xauto],
              [AC_MSG_ERROR([--with-cuda: no include/cuda.h in $fuselink_cuda_dir])])
    ])
    AC_SUBST([CUDA_CPPFLAGS])
    AM_CONDITIONAL([HAVE_CUDA], [test "$fuselink_cuda" != no])
])

# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.

# FL_TRY_CXXFLAGS(FLAGS, THEN, ELSE): does the compiler accept and link
# with FLAGS?
AC_DEFUN([FL_TRY_CXXFLAGS], [
    fuselink_save_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS $1"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[]], [[]])],
                   [fuselink_flags_ok=yes], [fuselink_flags_ok=no])
    CXXFLAGS=$fuselink_save_CXXFLAGS
    AS_IF([test $fuselink_flags_ok = yes], [$2], [$3])
])

# FL_COMPILER: C++20, with the flags of the library and of the tests.
AC_DEFUN([FL_COMPILER], [
    AC_LANG_ASSERT([C++])

    # gnu++20, not c++20: macros of UCX's headers use the typeof keyword.
    AC_MSG_CHECKING([whether $CXX supports C++20])
    CXX="$CXX -std=gnu++20"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
            #include <bit>
            #include <concepts>
            #include <span>
            struct point { int x, y; };
            template<std::integral T> T twice(T value) { return value * 2; }
        ]], [[
            int values[4] = {};
            std::span<int> view(values);
            point p{.x = twice(1), .y = static_cast<int>(view.size())};
            return std::bit_width(static_cast<unsigned>(p.x + p.y)) == 0;
        ]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([$CXX has no C++20; use g++ 11 or clang++ 14 or newer (CXX=...)])])

    FUSELINK_WARNINGS="-Wall -Wextra"
    AC_ARG_ENABLE([werror],
        [AS_HELP_STRING([--enable-werror], [make compiler warnings errors])])
    AS_IF([test "x$enable_werror" = xyes],
          [FUSELINK_WARNINGS="$FUSELINK_WARNINGS -Werror"])

    # UCX's structures grow from release to release; members that an initialiser
    # does not name are meant to be zero.
    FUSELINK_WARNINGS="$FUSELINK_WARNINGS -Wno-missing-field-initializers"

    # No exception and no C++ type crosses a UCT callback; nothing of the
    # library is to be seen by the program it is preloaded into.
    FUSELINK_CXXFLAGS="-fno-exceptions -fno-rtti -fvisibility=hidden"
    FUSELINK_CXXFLAGS="$FUSELINK_CXXFLAGS -fvisibility-inlines-hidden"
    FUSELINK_CXXFLAGS="$FUSELINK_CXXFLAGS $FUSELINK_WARNINGS"

    # A build takes a quarter to a half less; but a source that forgets an include compiles.
    AC_ARG_ENABLE([precompiled],
        [AS_HELP_STRING([--enable-precompiled],
            [compile what many sources include once, and not with each])])
    AM_CONDITIONAL([ENABLE_PRECOMPILED], [test "x$enable_precompiled" = xyes])

    AC_SUBST([FUSELINK_WARNINGS])
    AC_SUBST([FUSELINK_CXXFLAGS])
    AC_DEFINE_UNQUOTED([FUSELINK_VERSION], ["$PACKAGE_VERSION"],
                       [Version of fuselink])
])

# FL_SANITIZERS: --enable-asan, --enable-tsan, --enable-fuzzers, and what else the
# compiler adds to what is built: --enable-coverage.
AC_DEFUN([FL_SANITIZERS], [
    AC_ARG_ENABLE([asan],
        [AS_HELP_STRING([--enable-asan],
            [build with the address and undefined-behaviour sanitizers])])
    AC_ARG_ENABLE([tsan],
        [AS_HELP_STRING([--enable-tsan], [build with the thread sanitizer])])
    AC_ARG_ENABLE([fuzzers],
        [AS_HELP_STRING([--enable-fuzzers],
            [build the fuzzers of test/fuzz (needs clang++)])])
    AC_ARG_ENABLE([coverage],
        [AS_HELP_STRING([--enable-coverage],
            [count what runs, for contrib/coverage (needs g++)])])

    FUSELINK_SANITIZE=
    fuselink_sanitizers=none
    AS_IF([test "x$enable_asan" = xyes], [
        AS_IF([test "x$enable_tsan" = xyes],
              [AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other])])
        # A finding of UBSan must fail the test; its check of virtual tables
        # needs the RTTI that the library is built without, and UCX counts the
        # offsets of members from null, which ASan would catch where it is used.
        FUSELINK_SANITIZE="-fsanitize=address,undefined -fno-sanitize=vptr,null,object-size -fno-sanitize-recover=all -fno-omit-frame-pointer"
        fuselink_sanitizers="address, undefined behaviour"
        # clang++ looks at the type of a function that is called by address, and
        # UCX calls through others.
        FL_TRY_CXXFLAGS([-fno-sanitize=function],
            [FUSELINK_SANITIZE="$FUSELINK_SANITIZE -fno-sanitize=function"])
    ])
    AS_IF([test "x$enable_tsan" = xyes], [
        FUSELINK_SANITIZE="-fsanitize=thread -fno-omit-frame-pointer"
        fuselink_sanitizers=thread
    ])
    # Threads count, too, and programs that end by a signal write nothing.
    AS_IF([test "x$enable_coverage" = xyes], [
        AS_IF([test -n "$FUSELINK_SANITIZE"],
              [AC_MSG_ERROR([--enable-coverage and sanitizers exclude each other])])
        FUSELINK_SANITIZE="--coverage -fprofile-update=atomic"
        fuselink_sanitizers=coverage
    ])
    AS_IF([test -n "$FUSELINK_SANITIZE"], [
        AC_MSG_CHECKING([whether $CXX links with $FUSELINK_SANITIZE])
        FL_TRY_CXXFLAGS([$FUSELINK_SANITIZE],
            [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no])
             AC_MSG_ERROR([$CXX cannot build with the $fuselink_sanitizers sanitizer])])
    ])
    # The fuzzer needs to see which branches of the library are taken.
    AS_IF([test "x$enable_fuzzers" = xyes], [
        AC_MSG_CHECKING([whether $CXX has a fuzzer library])
        FL_TRY_CXXFLAGS([-fsanitize=fuzzer-no-link],
            [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no])
             AC_MSG_ERROR([--enable-fuzzers needs clang++; run configure with CXX=clang++ CC=clang])])
        FUSELINK_SANITIZE="$FUSELINK_SANITIZE -fsanitize=fuzzer-no-link"
    ])
    AC_SUBST([FUSELINK_SANITIZE])

    AM_CONDITIONAL([ENABLE_FUZZERS], [test "x$enable_fuzzers" = xyes])
])

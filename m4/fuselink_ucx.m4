# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# UCX comes in two parts that must be of one release: the installed library,
# which is loaded, and its source tree, whose internal headers (uct/base) no
# package installs. Every release has the same soname while internal structures
# change, so nothing but the checks here would notice a mix.

# FL_UCX_LIBRARY: the installed library. Sets UCX_LIBDIR, UCX_INCLUDEDIR,
# UCX_INFO, UCX_LIBS, UCX_LDFLAGS, UCP_LIBS.
AC_DEFUN([FL_UCX_LIBRARY], [
    AC_ARG_WITH([ucx],
        [AS_HELP_STRING([--with-ucx=PREFIX],
            [UCX installed in PREFIX @<:@the one pkg-config finds@:>@])],
        [], [with_ucx=yes])

    fuselink_save_PKG_CONFIG_PATH=$PKG_CONFIG_PATH
    AS_CASE([$with_ucx],
        [yes], [fuselink_where="by pkg-config"],
        [/*], [
            fuselink_where="in $with_ucx"
            fuselink_pc_dirs=
            for fuselink_pc in "$with_ucx"/lib*/pkgconfig/ucx.pc \
                               "$with_ucx"/lib/*/pkgconfig/ucx.pc; do
                AS_IF([test -r "$fuselink_pc"],
                      [fuselink_pc_dirs="$fuselink_pc_dirs${fuselink_pc%/ucx.pc}:"])
            done
            AS_IF([test -z "$fuselink_pc_dirs"],
                  [AC_MSG_ERROR([--with-ucx: no UCX in $with_ucx (no lib*/pkgconfig/ucx.pc there)])])
            PKG_CONFIG_PATH=$fuselink_pc_dirs$PKG_CONFIG_PATH
            export PKG_CONFIG_PATH
        ],
        [AC_MSG_ERROR([--with-ucx needs the absolute path of an installed UCX, not "$with_ucx"])])

    AC_MSG_CHECKING([for UCX])
    AS_IF([$PKG_CONFIG --exists ucx], [],
          [AC_MSG_RESULT([no])
           AC_MSG_ERROR([no UCX found $fuselink_where; install libucx-dev or use --with-ucx=PREFIX])])
    UCX_LIBDIR=$($PKG_CONFIG --variable=libdir ucx)
    UCX_INCLUDEDIR=$($PKG_CONFIG --variable=includedir ucx)
    UCX_PREFIX=$($PKG_CONFIG --variable=prefix ucx)
    PKG_CONFIG_PATH=$fuselink_save_PKG_CONFIG_PATH
    AC_MSG_RESULT([$UCX_LIBDIR])

    UCX_INFO=$UCX_PREFIX/bin/ucx_info
    AS_IF([test -x "$UCX_INFO"], [],
          [AC_MSG_ERROR([no $UCX_INFO; it tells how this UCX was configured (Debian package ucx-utils)])])
    AS_IF([test -r "$UCX_INCLUDEDIR/uct/api/version.h"], [],
          [AC_MSG_ERROR([no uct/api/version.h in $UCX_INCLUDEDIR; install the headers of UCX (Debian package libucx-dev)])])

    # The library is linked to UCX although the process has it already: a
    # preloaded library comes into processes that do not use UCX (a launcher, a
    # shell), where its references to UCX's data would be fatal without it, and
    # where UCX was loaded privately (RTLD_LOCAL) its symbols are found only
    # this way.
    #
    # It names libucp alone, and not libuct and libucs, whose functions it calls.
    # libucp brings them, from its own folder. If the library named them itself,
    # then with two releases of UCX on a machine they could come from one and
    # the program's libucp from the other, since the loader looks for them
    # before it looks for those that libucp names; that ends in a crash before
    # the check of the version is reached. So all are of one release, and if it
    # is not the one that the library was built for, it declines.
    #
    # -Wl keeps libtool from adding what a libucp.la depends on.
    #
    # The search path is recorded only where the loader would not look by
    # itself: a build for a private UCX is to find that one.
    UCX_LIBS="-Wl,-L$UCX_LIBDIR -Wl,-lucp"
    UCP_LIBS="-L$UCX_LIBDIR -lucp -luct -lucs -lucm"
    AS_CASE([$UCX_LIBDIR],
        [/lib|/lib64|/lib/*|/usr/lib|/usr/lib64|/usr/lib/*], [UCX_LDFLAGS=],
        [UCX_LDFLAGS="-R $UCX_LIBDIR"])
    AC_SUBST([UCX_LIBDIR])
    AC_SUBST([UCX_PREFIX])
    AC_SUBST([UCX_LIBS])
    AC_SUBST([UCX_LDFLAGS])
    AC_SUBST([UCP_LIBS])
])

# FL_UCX_VERSION: ask the library itself, at run time, what it is. Sets
# UCX_VERSION (1.13.1), UCX_MAJOR, UCX_MINOR.
AC_DEFUN([FL_UCX_VERSION], [
    AC_MSG_CHECKING([the version of the UCX library])
    AS_IF([test "$cross_compiling" = yes],
          [AC_MSG_RESULT([unknown])
           AC_MSG_ERROR([fuselink cannot be cross-compiled: the UCX library has to be run to learn its version and configuration])])
    fuselink_save_LIBS=$LIBS
    fuselink_save_LD_LIBRARY_PATH=$LD_LIBRARY_PATH
    LIBS="$UCP_LIBS $LIBS"
    LD_LIBRARY_PATH=$UCX_LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    AC_RUN_IFELSE([AC_LANG_PROGRAM([[
            #include <cstdio>
            extern "C" const char *ucp_get_version_string(void);
        ]], [[
            FILE *file = fopen("conftest.version", "w");
            if (file == nullptr) {
                return 1;
            }
            fputs(ucp_get_version_string(), file);
            return fclose(file);
        ]])],
        [UCX_VERSION=$(cat conftest.version)], [UCX_VERSION=], [UCX_VERSION=])
    LIBS=$fuselink_save_LIBS
    AS_IF([test -z "$UCX_VERSION"],
          [AC_MSG_RESULT([unknown])
           AC_MSG_ERROR([a program linked to the UCX library in $UCX_LIBDIR does not run; see config.log])])
    AC_MSG_RESULT([$UCX_VERSION])

    UCX_MAJOR=${UCX_VERSION%%.*}
    UCX_MINOR=${UCX_VERSION#*.}
    UCX_MINOR=${UCX_MINOR%%.*}
    # Those whose interface src/uct/fuselink/edge was written for.
    AC_ARG_ENABLE([any-ucx],
        [AS_HELP_STRING([--enable-any-ucx],
            [try releases of UCX that nobody has tried])],
        [], [enable_any_ucx=no])
    AS_IF([test "$UCX_MAJOR" = 1 && test "$UCX_MINOR" -ge 13 && test "$UCX_MINOR" -le 22], [],
          [test "$enable_any_ucx" = yes],
          [AC_MSG_WARN([nobody has tried fuselink with UCX $UCX_VERSION])],
          [AC_MSG_ERROR([the library in $UCX_LIBDIR is UCX $UCX_VERSION; fuselink supports UCX 1.13 to 1.22: choose one with --with-ucx=PREFIX, or try it all the same with --enable-any-ucx])])

    # Which library ucx_info belongs to decides whose configuration it prints.
    fuselink_info_version=$("$UCX_INFO" -v | $SED -n '1s/.* //p')
    fuselink_ucx_config=$("$UCX_INFO" -b)
    LD_LIBRARY_PATH=$fuselink_save_LD_LIBRARY_PATH
    AS_IF([test "$fuselink_info_version" != "$UCX_VERSION"],
          [AC_MSG_ERROR([$UCX_INFO is of UCX $fuselink_info_version and the library in $UCX_LIBDIR of UCX $UCX_VERSION; install both of one release])])
    AS_CASE([$fuselink_ucx_config], [*UCX_MODULE_SUBDIR*], [],
        [AC_MSG_ERROR([$UCX_INFO -b does not print how UCX was configured])])

    AC_SUBST([UCX_VERSION])
    AC_DEFINE_UNQUOTED([FUSELINK_UCX_MAJOR], [$UCX_MAJOR], [UCX major version])
    AC_DEFINE_UNQUOTED([FUSELINK_UCX_MINOR], [$UCX_MINOR], [UCX minor version])
    AC_DEFINE_UNQUOTED([FUSELINK_UCX_VERSION], ["$UCX_VERSION"], [UCX version])
])

# FL_UCX_TREE_VERSION(DIR): set fuselink_tree_version to the version of the UCX
# source tree in DIR, or to nothing if it is none.
AC_DEFUN([FL_UCX_TREE_VERSION], [
    fuselink_tree_version=$("$srcdir/contrib/lib/ucx-tree-version" "$1")
])

# FL_UCX_SOURCE: the matching source tree. Sets UCX_SOURCE.
AC_DEFUN([FL_UCX_SOURCE], [
    # Not UCX_SOURCE: UCX warns about variables UCX_* that it does not know.
    AC_ARG_VAR([FUSELINK_UCX_SOURCE],
        [source tree of the installed UCX, as --with-ucx-source])
    AC_ARG_WITH([ucx-source],
        [AS_HELP_STRING([--with-ucx-source=DIR],
            [source tree of the installed UCX @<:@$FUSELINK_UCX_SOURCE, ./ucx-source or ../ucx-*@:>@])],
        [], [with_ucx_source=])
    AS_CASE([$with_ucx_source], [yes|no],
        [AC_MSG_ERROR([--with-ucx-source needs the path of the source tree of UCX $UCX_VERSION])])

    AC_MSG_CHECKING([for the source tree of UCX $UCX_VERSION])
    fuselink_how="use --with-ucx-source=DIR, or let contrib/get-ucx-source fetch it"
    # A tree that is named has to be the right one; one that merely lies around
    # is passed over if it is not.
    AS_IF([test -n "$with_ucx_source$FUSELINK_UCX_SOURCE"], [
        AS_IF([test -n "$with_ucx_source"],
              [fuselink_setting=--with-ucx-source
               fuselink_tree=$with_ucx_source],
              [fuselink_setting=FUSELINK_UCX_SOURCE
               fuselink_tree=$FUSELINK_UCX_SOURCE])
        FL_UCX_TREE_VERSION([$fuselink_tree])
        AS_IF([test -z "$fuselink_tree_version"],
              [AC_MSG_RESULT([no])
               AC_MSG_ERROR([$fuselink_setting: $fuselink_tree is not a UCX source tree; $fuselink_how])])
        AS_IF([test "$fuselink_tree_version" != "$UCX_VERSION"],
              [AC_MSG_RESULT([no])
               AC_MSG_ERROR([$fuselink_setting: $fuselink_tree is the source of UCX $fuselink_tree_version, but the library in $UCX_LIBDIR is UCX $UCX_VERSION; $fuselink_how])])
    ], [
        fuselink_tree=
        fuselink_other=
        for fuselink_dir in "$srcdir"/ucx-source ./ucx-source \
                            "$srcdir"/../ucx-* ../ucx-*; do
            FL_UCX_TREE_VERSION([$fuselink_dir])
            AS_IF([test "$fuselink_tree_version" = "$UCX_VERSION"],
                  [fuselink_tree=$fuselink_dir
                   break])
            AS_IF([test -n "$fuselink_tree_version"],
                  [fuselink_other="$fuselink_other $fuselink_dir ($fuselink_tree_version)"])
        done
        AS_IF([test -z "$fuselink_tree"], [
            AC_MSG_RESULT([no])
            AS_IF([test -n "$fuselink_other"],
                  [AC_MSG_ERROR([no source tree of UCX $UCX_VERSION, the version of the library in $UCX_LIBDIR, only$fuselink_other; $fuselink_how])],
                  [AC_MSG_ERROR([no source tree of UCX $UCX_VERSION, the version of the library in $UCX_LIBDIR; $fuselink_how])])
        ])
    ])
    UCX_SOURCE=$(cd "$fuselink_tree" && pwd)
    AC_MSG_RESULT([$UCX_SOURCE])

    # A vendor's build may carry changes under an unchanged version number.
    for fuselink_header in "$UCX_INCLUDEDIR"/uct/api/*.h; do
        fuselink_name=uct/api/${fuselink_header##*/}
        AS_IF([test -r "$UCX_SOURCE/src/$fuselink_name" &&
               test "$fuselink_name" != uct/api/version.h],
              [AS_IF([cmp -s "$fuselink_header" "$UCX_SOURCE/src/$fuselink_name"], [],
                     [AC_MSG_ERROR([$UCX_SOURCE is not the source of the installed UCX $UCX_VERSION: $fuselink_name differs from the one in $UCX_INCLUDEDIR; $fuselink_how])])])
    done
    AC_SUBST([UCX_SOURCE])
])

# FL_UCX_CONFIG_H: the headers that are neither in the source tree nor
# installed, in the build folder's ucx_config. Sets UCX_CPPFLAGS.
AC_DEFUN([FL_UCX_CONFIG_H], [
    AC_MSG_CHECKING([how UCX was configured])
    AS_MKDIR_P([ucx_config/uct/api])
    # UCX's headers take optional members and checks from config.h, so it has
    # to be the one of the library. Each file is replaced only if it changed,
    # or every configure would rebuild everything.
    {
        echo "/* What ucx_info -b printed for $UCX_LIBDIR. */"
        echo "#ifndef FUSELINK_UCX_CONFIG_H"
        echo "#define FUSELINK_UCX_CONFIG_H"
        AS_ECHO(["$fuselink_ucx_config"])
        echo "#endif"
    } >conftest.config.h
    AS_IF([cmp -s conftest.config.h ucx_config/config.h], [],
          [cp conftest.config.h ucx_config/config.h])
    AS_IF([cmp -s "$UCX_INCLUDEDIR/uct/api/version.h" ucx_config/uct/api/version.h],
          [], [cp "$UCX_INCLUDEDIR/uct/api/version.h" ucx_config/uct/api/version.h])
    AC_MSG_RESULT([ucx_config/config.h])

    # All of UCX's headers come from the source tree, internal and public ones;
    # the installed ones are not on the path (but for a system folder, which is
    # searched last), so that no mix is possible. -isystem: their warnings are
    # not ours.
    UCX_CPPFLAGS='-isystem $(abs_top_builddir)/ucx_config'
    UCX_CPPFLAGS="$UCX_CPPFLAGS -isystem $UCX_SOURCE/src"

    fuselink_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="-DHAVE_CONFIG_H -isystem $(pwd)/ucx_config -isystem $UCX_SOURCE/src $CPPFLAGS"
    AC_MSG_CHECKING([whether UCX's internal headers can be used])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
            #include "config.h"
            extern "C" {
            #include <uct/base/uct_component.h>
            #include <uct/base/uct_iface.h>
            #include <uct/base/uct_md.h>
            #include <uct/base/uct_worker.h>
            }
        ]], [[return sizeof(uct_base_iface_t) == 0;]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([uct/base of $UCX_SOURCE does not compile with $CXX; see config.log])])
    CPPFLAGS=$fuselink_save_CPPFLAGS
    AC_SUBST([UCX_CPPFLAGS])
])

# Includes of the checks below, which are in double quotes there. Nothing is linked, so
# that C or C++ does not matter.
m4_define([FL_UCX_INCLUDES], [[
    #include <config.h>
    #include <ucs/config/parser.h>
    #include <uct/api/v2/uct_v2.h>
    #include <uct/base/uct_component.h>
    #include <uct/base/uct_iface.h>
    #include <uct/base/uct_md.h>
]])

# FL_UCX_HAS(NAME): define FUSELINK_HAS_NAME.
m4_define([FL_UCX_HAS],
    [AC_DEFINE([FUSELINK_HAS_]m4_translit([[$1]], [a-z.], [A-Z_]), [1],
               [UCX has $1])])

# FL_UCX_INTERFACE: what this release has of the interface between UCT and its
# components, which is no public one and changes with each minor release.
AC_DEFUN([FL_UCX_INTERFACE], [
    fuselink_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="-DHAVE_CONFIG_H -isystem $(pwd)/ucx_config -isystem $UCX_SOURCE/src $CPPFLAGS"
    m4_foreach_w([fuselink_name], [
        uct_ep_params_t.dev_addr_length
        uct_iface_internal_ops_t.ep_connect_to_ep_v2
        uct_iface_internal_ops_t.ep_get_device_ep
        uct_iface_internal_ops_t.ep_is_connected
        uct_iface_internal_ops_t.ep_put_sgl_zcopy
        uct_iface_internal_ops_t.iface_is_reachable_v2
        uct_iface_internal_ops_t.iface_mem_element_pack
        uct_iface_internal_ops_t.iface_query_v2
        uct_iface_is_reachable_params_t.device_addr_length
        uct_md_attr_v2_t.reg_alignment
        uct_md_ops_t.is_sockaddr_accessible
        uct_md_ops_t.mem_attach
        uct_md_ops_t.mem_elem_pack
        uct_md_ops_t.mem_elem_release
        uct_perf_attr_t.path_bandwidth
    ], [AC_CHECK_MEMBER(fuselink_name, [FL_UCX_HAS(fuselink_name)], [], [FL_UCX_INCLUDES])
])
    m4_foreach_w([fuselink_name], [
        uct_md_attr_v2_t
        uct_rkey_compare_params_t
        uct_rkey_unpack_params_t
    ], [AC_CHECK_TYPE(fuselink_name, [FL_UCX_HAS(fuselink_name)], [], [FL_UCX_INCLUDES])
])
    m4_foreach_w([fuselink_name], [
        UCT_IFACE_FLAG_INTER_NODE
        UCT_MD_FLAG_INVALIDATE_RMA
        ucs_config_doc_nop
        uct_base_ep_is_connected
        uct_base_iface_is_reachable_v2
        uct_iface_base_query_v2
        uct_iface_scope_is_reachable
        uct_md_base_md_query
    ], [AC_CHECK_DECL(fuselink_name, [FL_UCX_HAS(fuselink_name)], [], [FL_UCX_INCLUDES])
])
    CPPFLAGS=$fuselink_save_CPPFLAGS
])

# FL_UCX: everything above.
AC_DEFUN([FL_UCX], [
    FL_UCX_LIBRARY
    FL_UCX_VERSION
    FL_UCX_SOURCE
    FL_UCX_CONFIG_H
    FL_UCX_INTERFACE
])

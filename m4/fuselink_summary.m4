# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.

# FL_SUMMARY: what was found, printed as the last thing configure does.
AC_DEFUN([FL_SUMMARY], [
    AS_IF([test "$fuselink_gtest" = no],
          [fuselink_unit="not built (GoogleTest not found; install libgtest-dev)"],
          [fuselink_unit="make check (GoogleTest $fuselink_gtest)"])
    AS_IF([test "$fuselink_benchmark" = no],
          [fuselink_bench="not built (Google Benchmark not found; install libbenchmark-dev)"],
          [fuselink_bench="make bench (Google Benchmark $fuselink_benchmark)"])
    AS_IF([test "x$enable_fuzzers" = xyes], [fuselink_fuzzers=yes],
          [fuselink_fuzzers=no])
    # ${libdir}/ucx in terms of ${exec_prefix} in terms of ${prefix}
    fuselink_module_dir=$moduledir
    for fuselink_round in 1 2 3; do
        eval fuselink_module_dir="$fuselink_module_dir"
    done
    cat <<EOF

fuselink $PACKAGE_VERSION
  UCX                   $UCX_VERSION, $UCX_LIBDIR
  UCX source tree       $UCX_SOURCE
  hwloc                 $fuselink_hwloc
  CUDA                  $fuselink_cuda
  compiler              $CXX $CXXFLAGS
  sanitizers            $fuselink_sanitizers
  unit tests            $fuselink_unit
  benchmarks            $fuselink_bench
  fuzzers               $fuselink_fuzzers
  library goes to       $fuselink_module_dir/libuct_fuselink.so.0

EOF
])

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PRECOMPILED_H
#define FUSELINK_PRECOMPILED_H

/*
 * What many sources include, and most of the time that they take to compile. No source
 * includes this file: with --enable-precompiled the compiler reads it once and begins
 * each source with what it has read.
 */

#include "ucx.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#endif

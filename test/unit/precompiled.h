/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_PRECOMPILED_H
#define FUSELINK_TEST_PRECOMPILED_H

/* The same for the unit tests. */

#include "precompiled.h"

#include <gtest/gtest.h>

#endif

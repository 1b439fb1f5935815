/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCX_H
#define FUSELINK_UCX_H

/*
 * The one place where UCX's internal C headers enter C++. They come from the
 * source tree that matches the installed library (see configure), together
 * with that library's own configuration in config.h.
 */

#include "fuselink_config.h" /* FUSELINK_UCX_MAJOR, FUSELINK_UCX_MINOR */

#ifdef HAVE_CONFIG_H
#include "config.h" /* of the installed UCX */
#endif

extern "C" {
#include <ucs/async/async.h>
#include <ucs/config/parser.h>
#include <ucs/debug/log.h>
#include <ucs/sys/string.h>
#include <ucs/sys/sys.h>
#include <ucs/sys/uid.h>
#include <ucs/time/time.h>
#include <uct/api/uct.h>
#include <uct/api/v2/uct_v2.h>
#include <uct/base/uct_component.h>
#include <uct/base/uct_iface.h>
#include <uct/base/uct_md.h>
#include <uct/base/uct_worker.h>
}

#endif

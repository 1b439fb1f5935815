/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCX_H
#define FUSELINK_UCX_H

/*
 * The one place where UCX's internal C headers enter C++. They come from the
 * source tree that matches the installed library (see configure), together
 * with that library's own configuration in config.h.
 */

/* Structs that a component fills and functions that it calls differ between minor
 * versions of UCX. configure asks these headers which they have (FL_UCX_INTERFACE):
 * what is written for which is found by searching for FUSELINK_HAS_. */
#include "fuselink_config.h"

#ifdef HAVE_CONFIG_H
#include "config.h" /* of the installed UCX */
#endif

extern "C" {
#include <ucs/async/async.h>
#include <ucs/config/parser.h>
#include <ucs/debug/log.h>
#include <ucs/sys/sock.h>
#include <ucs/sys/string.h>
#include <ucs/sys/sys.h>
#include <ucs/sys/uid.h>
#include <ucs/time/time.h>
#include <uct/api/uct.h>
#include <uct/api/v2/uct_v2.h>
#include <uct/base/uct_cm.h>
#include <uct/base/uct_component.h>
#include <uct/base/uct_iface.h>
#include <uct/base/uct_md.h>
#include <uct/base/uct_worker.h>
}

/* Functions in use that not every release has. Where one is missing the loader
 * then leaves its address empty, instead of ending the process before the
 * check of the version (edge/version.h) can decline. */
#ifdef FUSELINK_HAS_UCS_CONFIG_DOC_NOP
#pragma weak ucs_config_doc_nop
#endif
#ifdef FUSELINK_HAS_UCT_BASE_EP_IS_CONNECTED
#pragma weak uct_base_ep_is_connected
#endif
#ifdef FUSELINK_HAS_UCT_BASE_IFACE_IS_REACHABLE_V2
#pragma weak uct_base_iface_is_reachable_v2
#endif
#ifdef FUSELINK_HAS_UCT_IFACE_BASE_QUERY_V2
#pragma weak uct_iface_base_query_v2
#endif
#ifdef FUSELINK_HAS_UCT_IFACE_SCOPE_IS_REACHABLE
#pragma weak uct_iface_scope_is_reachable
#endif
#ifdef FUSELINK_HAS_UCT_MD_BASE_MD_QUERY
#pragma weak uct_md_base_md_query
#endif

namespace fuselink {

/** Before it is given to one operation: func(comp) when that has ended. */
inline void arm(uct_completion_t &comp, uct_completion_callback_t func)
{
    comp.func   = func;
    comp.count  = 1;
    comp.status = UCS_OK;
}

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_MD_OPS_H
#define FUSELINK_EDGE_MD_OPS_H

#include "../ucx.h"

namespace fuselink {

/* The MD's operation table. Its functions' signatures differ between minor
 * versions of UCX; md_ops.cc is where those differences stay. */
extern uct_md_ops_t md_ops;

void md_close(uct_md_h md);

} // namespace fuselink

#endif

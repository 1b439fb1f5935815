/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_COMMON_OWN_COPY_H
#define FUSELINK_TOOLS_COMMON_OWN_COPY_H

namespace fuselink {

/** First of all, for a program that has the transport built in. UCX takes the first of two
 *  copies of the transport, and the program asks its own. So without the one that is
 *  preloaded, it starts once more with these arguments. */
void use_own_copy(char **argv);

} // namespace fuselink

#endif

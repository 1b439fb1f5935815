/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_INFO_SHOW_H
#define FUSELINK_TOOLS_INFO_SHOW_H

#include "facts.h"

namespace fuselink::info {

/** For people. */
std::string show_text(const Facts &facts);

/** All of it as one JSON object in one line. */
std::string show_json(const Facts &facts);

} // namespace fuselink::info

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_INFO_SHOW_GPUS_H
#define FUSELINK_TOOLS_INFO_SHOW_GPUS_H

#include "../../ucs_ext/json.h"
#include "facts.h"

#include <string>

namespace fuselink::info {

/** The way between the GPU's memory and the rail that is taken: direct, relay, or host. */
const char *used_way(const topology::NicPath &path, const Facts::Rail &rail);

/** What is between GPUs and rails, and which ways GPU memory would go, as tables. */
std::string show_gpus_text(const Facts &facts);

/** The same as a list of objects. */
void show_gpus_json(Json &json, const Facts &facts);

} // namespace fuselink::info

#endif

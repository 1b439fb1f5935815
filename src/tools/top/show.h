/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_TOP_SHOW_H
#define FUSELINK_TOOLS_TOP_SHOW_H

#include "traffic.h"

#include <string>

namespace fuselink::top {

/** Tables for people; `reading` is the later one of `traffic`. */
std::string show_text(const Reading &reading, const Traffic &traffic);

/** The same and more as one JSON object in one line. */
std::string show_json(const Reading &reading, const Traffic &traffic);

/** Counters and gauges in the text exposition format of Prometheus. */
std::string show_prometheus(const Reading &reading);

} // namespace fuselink::top

#endif

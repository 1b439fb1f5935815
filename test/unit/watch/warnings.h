/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_UNIT_WATCH_WARNINGS_H
#define FUSELINK_TEST_UNIT_WATCH_WARNINGS_H

#include "ucx.h"

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace fuselink {

/** What UCX's log gets of warnings and errors while this lives; nothing of it is printed.
 *  One at a time. */
class Warnings {
public:
    Warnings()
    {
        said_ = &lines_;
        ucs_log_push_handler(on_log);
    }
    ~Warnings() { ucs_log_pop_handler(); }
    Warnings(const Warnings &)            = delete;
    Warnings &operator=(const Warnings &) = delete;

    bool               empty() const { return lines_.empty(); }
    size_t             size() const { return lines_.size(); }
    const std::string &operator[](size_t i) const { return lines_[i]; }

private:
    static ucs_log_func_rc_t on_log(const char *, unsigned, const char *,
                                    ucs_log_level_t level,
                                    const ucs_log_component_config_t *, const char *format,
                                    va_list arguments)
    {
        if (level <= UCS_LOG_LEVEL_WARN) {
            char text[512];
            vsnprintf(text, sizeof(text), format, arguments);
            said_->push_back(text);
        }
        return UCS_LOG_FUNC_RC_STOP;
    }

    static inline std::vector<std::string> *said_;
    std::vector<std::string>                lines_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_FAILURE_H
#define FUSELINK_TEST_FAILURE_H

#include <cstdarg>
#include <cstdio>
#include <string>

namespace fltest {

/** Ends a case: thrown by fail(), caught by the driver. Never through UCX:
 *  callbacks note what they find and the case's own code looks at it. */
struct Failed {
    std::string reason;
};

/** Ends a case that this machine cannot run. */
struct Skipped {
    std::string reason;
};

[[gnu::format(printf, 1, 0)]] inline std::string vformat(const char *format,
                                                         va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof(text), format, args);
    return text;
}

[[gnu::format(printf, 1, 2)]] inline std::string format(const char *format,
                                                        ...)
{
    va_list args;
    va_start(args, format);
    std::string text = vformat(format, args);
    va_end(args);
    return text;
}

[[noreturn, gnu::format(printf, 1, 2)]] inline void fail(const char *format,
                                                         ...)
{
    va_list args;
    va_start(args, format);
    std::string text = vformat(format, args);
    va_end(args);
    throw Failed{text};
}

/** The rest says, like printf, what was expected and what was found. */
#define REQUIRE(condition, ...)          \
    do {                                 \
        if (!(condition)) {              \
            ::fltest::fail(__VA_ARGS__); \
        }                                \
    } while (0)

} // namespace fltest

#endif

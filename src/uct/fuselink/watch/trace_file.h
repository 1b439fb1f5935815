/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WATCH_TRACE_FILE_H
#define FUSELINK_WATCH_TRACE_FILE_H

#include "trace_lines.h"

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

namespace fuselink {

/**
 * A trace in the JSON format of Chrome's tracing, which Perfetto opens too.
 *
 * The file is valid from open() on, and after each add(): if the process is
 * killed it has the engines that were closed before. Thread-safe.
 */
class TraceFile {
public:
    /** The file of this name, for all engines of the process and until it ends;
     *  what somebody else left there is gone. nullptr, with a line, if it
     *  cannot be made. */
    static TraceFile *open(const std::string &path, std::string &error);

    /** Adds the trace of an engine. False, with a line, if it cannot be
     *  written. */
    bool add(const Trace &trace, const TraceNames &names, int64_t now,
             std::string &error);

private:
    TraceFile() = default;

    struct Closer {
        void operator()(FILE *file) const { fclose(file); }
    };

    void begin();
    void line(const std::string &event);
    bool finish();

    std::mutex  lock_;
    std::string path_;
    std::unique_ptr<FILE, Closer> file_;
    bool        empty_   = true; /* no event yet */
    unsigned    engines_ = 0;
};

} // namespace fuselink

#endif

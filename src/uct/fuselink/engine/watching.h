/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_WATCHING_H
#define FUSELINK_ENGINE_WATCHING_H

#include "../rail/rails.h"
#include "../relay/gpu_copies.h"
#include "../watch/exit_report.h"
#include "../watch/trace.h"
#include "../watch/trace_file.h"

#include <memory>
#include <string>

namespace fuselink {

/** What an interface leaves for people to look at: its part of the report at the
 *  end of the process, and its trace. One thread at a time (the worker's). */
class Watching {
public:
    struct Settings {
        std::string report;         /* destination; empty: none */
        std::string trace;          /* file; empty: none */
        size_t      trace_size = 0; /* bytes */
    };

    /** Begins. What the user asked for and cannot have stops the transport, as
     *  any setting does, with one line: the job would be for nothing. */
    ucs_status_t start(const Settings &settings, const Rails &rails);
    /** A rail that has come later. */
    void add(Rail &rail);
    /** The links of GPUs as well. */
    void add(const GpuCopies &copies);
    /** The last figures, and the trace into its file. `policy`: its name. */
    void end(const Rails &rails, const GpuCopies &copies,
             const std::string &policy, sched::Nanos now);

    /** nullptr unless the user asked for one. */
    Trace *trace() const { return trace_.get(); }

private:
    ExitReport            *report_ = nullptr;
    std::unique_ptr<Trace> trace_;
    TraceFile             *trace_file_ = nullptr;
};

} // namespace fuselink

#endif

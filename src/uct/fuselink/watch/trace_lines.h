/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WATCH_TRACE_LINES_H
#define FUSELINK_WATCH_TRACE_LINES_H

#include "identity.h"
#include "trace.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fuselink {

/** What the numbers of a trace's events mean. */
struct TraceNames {
    std::vector<std::string> rails; /* ours, by index */
    std::string              policy;
    uint64_t                 interface = 0; /* what peers call us */
    std::map<unsigned, std::string> relays; /* of this node, by number: whose GPU */
};

/** The trace of one engine as events of Chrome's tracing, one JSON object each.
 *  A process is a process there, a rail a thread, or as many as it has chunks
 *  on the way at a time. */
class TraceLines {
public:
    using Line = std::function<void(const std::string &event)>;

    /** @param engine of the process, from 0 up: each has threads of its own */
    TraceLines(const Trace &trace, const TraceNames &names, unsigned engine,
               Line line);

    /** @param now what is not over lasts until now */
    void write(int64_t now);

private:
    class Threads;

    void event(const char *phase, const std::string &name, unsigned tid,
               const std::string &rest);
    void metadata(const char *name, unsigned tid, const char *argument,
                  const std::string &value);
    void name_thread(unsigned tid, const std::string &name);
    void write_process();
    void write_events(int64_t now, std::vector<Threads> &threads);
    void write_chunk(const Trace::Event &chunk, int64_t now, Threads &rail);
    void write_failure(const Trace::Event &event);

    const Trace      &trace_;
    const TraceNames &names_;
    const unsigned    base_; /* of the threads' numbers */
    const Identity    who_;
    Line              line_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "watch_check.h"

#include "edge/rails_iface.h"
#include "engine/engine.h"
#include "memory_file.h"
#include "program.h"
#include "watch/exit_report.h"

#include <cstdlib>
#include <sstream>

namespace fuselink::sim {
namespace {

constexpr char kFoot[] = "\n]}\n"; /* of a trace */

/* The transport writes a report when the process ends: so they are there until
 * then. */
MemoryFile &trace_file()
{
    static auto &file = *new MemoryFile("trace");
    return file;
}

MemoryFile &report_file()
{
    static auto &file = *new MemoryFile("report");
    return file;
}

/* Of a line the text behind `name`, up to the next of `ends`. */
std::string value(const std::string &line, const std::string &name,
                  const char *ends)
{
    const size_t at = line.find(name);
    if (at == std::string::npos) {
        return {};
    }
    const size_t from = at + name.size();
    return line.substr(from, line.find_first_of(ends, from) - from);
}

} // namespace

const std::string &WatchCheck::trace_path()
{
    return trace_file().path();
}

const std::string &WatchCheck::report_path()
{
    return report_file().path();
}

WatchCheck::Sums WatchCheck::reported()
{
    Sums        sums;
    std::string error;
    /* That of this process, if there is one. */
    const ExitReport *report = ExitReport::start(report_path(), error);
    if (report != nullptr) {
        for (const Totals::Line &line : report->totals().lines) {
            if (line.peers == Totals::Peers::OtherNodes) {
                sums[line.name] = {line.sent.bytes, line.received.bytes};
            }
        }
    }
    return sums;
}

void WatchCheck::begin()
{
    if (scenario_.reports) {
        before_ = reported();
    }
}

void WatchCheck::note_traffic()
{
    for (const auto &program : programs_) {
        if (program->gone() || program->rails() == nullptr) {
            gone_ = true;
            continue;
        }
        for (const auto &rail : program->rails()->engine().rails()) {
            Sum &sum      = carried_[rail->name()];
            sum.sent     += rail->traffic.sent.bytes.value();
            sum.received += rail->traffic.received.bytes.value();
        }
    }
}

void WatchCheck::check(bool calm)
{
    const bool all = calm && !gone_ && scenario_.fair;
    if (scenario_.reports) {
        check_report(all);
    }
    if (scenario_.traces) {
        check_trace(all);
    }
}

void WatchCheck::check_report(bool all)
{
    world_.count(Count::Reports);
    Sums now = reported();
    for (const auto &[name, sum] : carried_) {
        const Sum grown{now[name].sent - before_[name].sent,
                        now[name].received - before_[name].received};
        if (all ? grown != sum :
                  grown.sent < sum.sent || grown.received < sum.received) {
            world_.journal().violate(
                "the report has " + std::to_string(grown.sent) +
                " bytes out and " + std::to_string(grown.received) +
                " in on " + name + ", which has carried " +
                std::to_string(sum.sent) + " and " +
                std::to_string(sum.received));
        }
    }
}

/* Whatever was carried is in the trace, and is over. */
void WatchCheck::check_trace(bool all)
{
    static size_t     kept = 0; /* of the first run; then the foot */
    const size_t      foot = sizeof(kFoot) - 1;
    const std::string text = trace_file().text(kept == 0 ? 0 : kept - foot);
    if (!text.ends_with(kFoot)) {
        world_.journal().violate("the trace has no end");
    }
    if (kept == 0) {
        kept = text.size();
    } else if (!trace_file().cut(kept - foot) ||
               !trace_file().append(kFoot)) {
        world_.journal().violate("the trace cannot be cut");
    }
    Sum                trace, sum;
    bool               whole = true; /* nothing was forgotten */
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::string name   = value(line, "\"name\": \"", " \"");
        const std::string state  = value(line, "\"state\": \"", "\"");
        const uint64_t    length = strtoull(
            value(line, "\"bytes\": ", ",}").c_str(), nullptr, 10);
        whole = whole && name != "process_labels";
        if (name == "landed") {
            trace.received += length;
        } else if (state == "done") {
            (name == "get" ? trace.received : trace.sent) += length;
        } else if (state == "not" && all) {
            world_.journal().violate("a chunk is not over in the trace: " +
                                     line);
        } else if (state.empty()) {
            continue;
        }
        world_.count(Count::Traced);
    }
    for (const auto &[name, one] : carried_) {
        sum.sent     += one.sent;
        sum.received += one.received;
    }
    if (all && whole && trace != sum) {
        world_.journal().violate(
            "the trace has " + std::to_string(trace.sent) + " bytes out and " +
            std::to_string(trace.received) + " in, of " +
            std::to_string(sum.sent) + " and " + std::to_string(sum.received));
    }
}

} // namespace fuselink::sim

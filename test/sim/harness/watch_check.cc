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
                sums[line.name] = {line.sent.bytes, line.received.bytes,
                                   line.failures.breaks, line.failures.moves,
                                   line.failures.resent};
            }
        }
    }
    return sums;
}

std::string WatchCheck::Sum::text() const
{
    return std::to_string(sent) + " bytes out, " + std::to_string(received) +
           " in, " + std::to_string(breaks) + " breaks, " +
           std::to_string(moves) + " moves, " + std::to_string(resent) +
           " bytes sent again";
}

/* All of it, and perhaps more. */
bool WatchCheck::Sum::covers(const Sum &other) const
{
    return sent >= other.sent && received >= other.received &&
           breaks >= other.breaks && moves >= other.moves &&
           resent >= other.resent;
}

void WatchCheck::begin()
{
    if (scenario_.reports) {
        before_ = reported();
    }
}

bool WatchCheck::was_late(Program &program, const Rail &rail) const
{
    const unsigned node = scenario_.node_of(program.process().index());
    return std::any_of(scenario_.faults.begin(), scenario_.faults.end(),
                       [&](const Fault &fault) {
                           return fault.kind == Fault::Kind::Late &&
                                  scenario_.node_of(fault.process) == node &&
                                  rail.control().device() ==
                                      world_.nics(node)[fault.nic].ip_device;
                       });
}

void WatchCheck::note_traffic()
{
    for (const auto &program : programs_) {
        if (program->gone() || program->rails() == nullptr) {
            gone_ = true;
            continue;
        }
        for (const auto &rail : program->rails()->engine().rails()) {
            const Outages &outages = rail->health.outages();
            Sum           &sum     = carried_[rail->name()];
            if (was_late(*program, *rail)) {
                world_.count(Count::LateBytes, rail->traffic.sent.bytes.value());
                world_.count(Count::LateReceived, rail->traffic.received.bytes.value());
            }
            sum.sent     += rail->traffic.sent.bytes.value();
            sum.received += rail->traffic.received.bytes.value();
            sum.breaks   += outages.breaks.value();
            sum.moves    += outages.moves.value();
            sum.resent   += outages.resent();
            if (rail->traits().stream) {
                note_stream(*program, *rail);
            }
        }
    }
}

void WatchCheck::check(bool calm)
{
    const bool all = calm && !gone_ && scenario_.fair;
    if (calm && !gone_) {
        check_streams();
        check_lags();
    }
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
        const Sum &was = before_[name], &is = now[name];
        const Sum grown{is.sent - was.sent, is.received - was.received,
                        is.breaks - was.breaks, is.moves - was.moves,
                        is.resent - was.resent};
        if (all ? grown != sum : !grown.covers(sum)) {
            world_.journal().violate("the report says of " + name + ": " +
                                     grown.text() + ", which has " +
                                     sum.text());
        }
    }
}

void WatchCheck::note_stream(Program &program, const Rail &rail)
{
    const Outages &outages = rail.health.outages();
    const auto    &uses    = program.process().streams_of;
    const auto     use     = uses.find(rail.control().device());
    Broken        &broken  = streams_[rail.name()];
    broken.sent   += rail.traffic.sent.bytes.value();
    broken.breaks += outages.breaks.value();
    broken.moves  += outages.moves.value();
    broken.resent += outages.chunks_resent.value();
    if (use != uses.end()) {
        broken.use.given    += use->second.given;
        broken.use.executed += use->second.executed;
        broken.use.given_up += use->second.given_up;
    }
}

/* Bytes that streams were given and did not acknowledge broke with them. Those that
 * nobody has executed were sent again, if no operation was given up, but for those of
 * operations whose endpoint was closed meanwhile, which nobody wants any more; of the
 * others the peer may have said on another way that it has them. What is copied for a
 * GPU is acknowledged before it is there. */
void WatchCheck::check_streams()
{
    const auto &counts = world_.counts();
    const auto  none   = [&](Count count) {
        return counts[static_cast<size_t>(count)] == 0;
    };
    /* What is of a GPU goes by messages, also over streams, and so do puts by keys that may
     * end. */
    const bool puts  = none(Count::CheckedPuts) && none(Count::GpuPuts) && none(Count::GpuGets) &&
                       none(Count::GpuMessages);
    const bool whole = none(Count::Cancels) && none(Count::OpsFailed) &&
                       none(Count::PeersFailed);
    const uint64_t unwanted = counts[static_cast<size_t>(Count::BytesDropped)];
    for (const auto &[name, stream] : streams_) {
        const StreamUse &use  = stream.use;
        const uint64_t   lost = use.given - stream.sent;
        std::string      wrong;
        if (stream.breaks + stream.moves > use.given_up) {
            wrong = "more has failed there than was given up";
        } else if (puts && stream.resent > lost) {
            wrong = "more is sent again than was lost";
        } else if (whole && stream.resent + use.executed + unwanted <
                                use.given) {
            wrong = "less is sent again than was lost";
        } else if (stream.resent != 0 && stream.breaks == 0) {
            wrong = "what did not break is sent again";
        }
        world_.count(Count::BytesResent, stream.resent);
        if (!wrong.empty()) {
            world_.journal().violate(
                wrong + ": " + name + " says " +
                std::to_string(stream.breaks) + " breaks, " +
                std::to_string(stream.moves) + " moves, " +
                std::to_string(stream.sent) + " bytes sent and " +
                std::to_string(stream.resent) + " again; its NICs have " +
                std::to_string(use.given_up) + " given up, " +
                std::to_string(use.given) + " bytes given and " +
                std::to_string(use.executed) + " executed");
        }
    }
}

/* A queue pair that gets through late may be left, by both its ends, and nobody else is.
 * Whoever takes its wire for a silent one leaves all that is there. */
void WatchCheck::check_lags()
{
    if (!scenario_.lags) {
        return;
    }
    Sum sum;
    for (const auto &[name, one] : carried_) {
        sum.breaks += one.breaks;
        sum.moves  += one.moves;
    }
    const uint64_t lags = world_.counts()[static_cast<size_t>(Count::Lags)];
    world_.count(Count::LagsLeft, sum.breaks);
    if (sum.moves != 0 || sum.breaks > 2 * lags) {
        world_.journal().violate(
            std::to_string(lags) + " queue pairs got through late, and " +
            std::to_string(sum.breaks) + " were given up; messages moved " +
            std::to_string(sum.moves) + " times");
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
    Sum                trace, sum; /* of all rails */
    bool               whole = true; /* nothing was forgotten */
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::string name   = value(line, "\"name\": \"", " \"");
        const std::string state  = value(line, "\"state\": \"", "\"");
        const uint64_t    length = strtoull(
            value(line, "\"bytes\": ", ",}").c_str(), nullptr, 10);
        whole = whole && name != "process_labels";
        trace.breaks += line.find("\"path drained\"") != std::string::npos;
        trace.moves  += line.find("\"messages moved\"") != std::string::npos;
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
        sum.breaks   += one.breaks;
        sum.moves    += one.moves;
    }
    if (whole && (all ? trace != sum : trace.breaks < sum.breaks ||
                                           trace.moves < sum.moves)) {
        world_.journal().violate("the trace has " + trace.text() + ", of " +
                                 sum.text());
    }
}

} // namespace fuselink::sim

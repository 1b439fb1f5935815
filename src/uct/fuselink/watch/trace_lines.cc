/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "trace_lines.h"

#include "../../../ucs_ext/json.h"
#include "../../../ucs_ext/text_table.h"

#include <algorithm>
#include <cstdlib>

namespace fuselink {
namespace {

/* Threads of one engine, of which a rail may have so many; of these, the last but one
 * is for what fails, and the last for what comes in. */
constexpr unsigned kPerRail   = 1000;
constexpr unsigned kPerEngine = 1'000'000;

const char *kind_name(Trace::Kind kind)
{
    switch (kind) {
    case Trace::Kind::Put:
        return "put";
    case Trace::Kind::Get:
        return "get";
    case Trace::Kind::Serve:
        return "serve";
    case Trace::Kind::PathBroke:
        return "path broke";
    case Trace::Kind::PathDrained:
        return "path drained";
    case Trace::Kind::PathWorks:
        return "path works again";
    case Trace::Kind::MessagesMoved:
        return "messages moved";
    case Trace::Kind::CarrierLost:
        return "carrier lost";
    case Trace::Kind::CarrierBack:
        return "carrier back";
    case Trace::Kind::Landed:
        break;
    }
    return "landed";
}

const char *standing_name(sched::PathView::Standing standing)
{
    using Standing = sched::PathView::Standing;
    return standing == Standing::Own  ? "own" :
           standing == Standing::Lent ? "lent" :
           standing == Standing::Taken ? "taken" : "free";
}

/* Microseconds, as the format wants them. */
std::string micros(int64_t ns)
{
    return format("%ld.%03ld", ns / 1000, ns % 1000);
}

std::string reason(const Trace::Event &event, const std::string &policy)
{
    std::string text = policy + ": " + format_bytes(event.in_flight) +
                       " on the path";
    if (event.ahead != 0) {
        text += ", " + format_bytes(event.ahead) + " of others ahead";
    }
    text += format(", at %.1f MB/s", event.rate * 1e-6);
    text += event.probe ? ", to try it" : "";
    text += event.planned ? ", with a plan" : "";
    return text + ", NIC " + standing_name(event.standing);
}

/* `relays`: names of those there, where they are known. */
std::string place_name(uint8_t place, const std::map<unsigned, std::string> &relays)
{
    if (place < Trace::kGpu) {
        return place == Trace::kMessages ? "messages" : "a slot of the host's memory";
    }
    const unsigned relay = place - Trace::kGpu;
    const auto     it    = relays.find(relay);
    return it != relays.end() ? "a slot of the GPU of " + it->second :
                                format("a slot of another GPU (relay %u)", relay);
}

std::string describe(const Trace::Event &event, const TraceNames &names)
{
    Json json;
    json.begin_object().field("bytes", event.length);
    json.field("peer", format("%016lx", event.peer));
    if (event.kind != Trace::Kind::Landed) {
        json.field("peer_rail", unsigned{event.remote});
        json.field("why", reason(event, names.policy));
        if (event.from != Trace::kItself) {
            json.field("from", place_name(event.from, names.relays));
        }
        if (event.to != Trace::kItself) {
            json.field("to", place_name(event.to, {}));
        }
        json.field("in_flight", event.in_flight).field("ahead", event.ahead);
        json.field("rate", event.rate);
        json.field("standing", standing_name(event.standing));
        json.field("probe", bool{event.probe}).field("planned", bool{event.planned});
        json.field("state", event.end == 0 ? "not over" :
                            event.failed   ? "failed" : "done");
    }
    json.end_object();
    return json.text();
}

std::string describe_failure(const Trace::Event &event, const TraceNames &names)
{
    using Kind = Trace::Kind;
    Json json;
    json.begin_object();
    if (event.kind != Kind::CarrierLost && event.kind != Kind::CarrierBack) {
        json.field("peer", format("%016lx", event.peer));
        json.field("why", nic_state_name(event.state));
        if (event.kind != Kind::MessagesMoved) {
            json.field("peer_rail", unsigned{event.remote});
        } else if (event.remote < names.rails.size()) {
            json.field("to", names.rails[event.remote]);
        }
    }
    if (event.kind == Kind::PathDrained || event.kind == Kind::MessagesMoved) {
        json.field("waited_ms", static_cast<double>(event.length) * 1e-6);
    }
    json.end_object();
    return json.text();
}

std::string quoted(const std::string &text)
{
    Json json;
    json.value(text);
    return json.text();
}

} // namespace

/* Threads of one rail: slices of a thread must not overlap unless one lies in
 * the other, so each chunk goes to the first that is free. */
class TraceLines::Threads {
public:
    unsigned place(int64_t start, int64_t end)
    {
        size_t i = 0;
        while (i < busy_until_.size() && busy_until_[i] > start) {
            ++i;
        }
        i = std::min<size_t>(i, kPerRail - 3);
        busy_until_.resize(std::max(busy_until_.size(), i + 1));
        busy_until_[i] = end;
        return static_cast<unsigned>(i);
    }
    unsigned size() const { return static_cast<unsigned>(busy_until_.size()); }

    bool receives = false;
    bool fails    = false;

private:
    std::vector<int64_t> busy_until_;
};

TraceLines::TraceLines(const Trace &trace, const TraceNames &names,
                       unsigned engine, Line line)
    : trace_(trace), names_(names), base_(kPerEngine * engine + 1),
      who_(Identity::own()), line_(std::move(line))
{
}

void TraceLines::write(int64_t now)
{
    std::vector<Threads> threads(names_.rails.size());
    write_process();
    write_events(now, threads);
    for (unsigned rail = 0; rail < names_.rails.size(); ++rail) {
        const std::string &name  = names_.rails[rail];
        unsigned           first = base_ + kPerRail * rail;
        for (unsigned i = 0; i < threads[rail].size(); ++i) {
            name_thread(first + i, i == 0 ? name :
                                            name + format(" (%u)", i + 1));
        }
        if (threads[rail].fails) {
            name_thread(first + kPerRail - 2, name + " failures");
        }
        if (threads[rail].receives) {
            name_thread(first + kPerRail - 1, name + " in");
        }
    }
}

void TraceLines::event(const char *phase, const std::string &name,
                       unsigned tid, const std::string &rest)
{
    line_(format("{\"ph\": \"%s\", \"name\": ", phase) + quoted(name) +
          format(", \"pid\": %u, \"tid\": %u, ", who_.number, tid) + rest +
          "}");
}

void TraceLines::metadata(const char *name, unsigned tid, const char *argument,
                          const std::string &value)
{
    event("M", name, tid, "\"args\": {\"" + std::string(argument) + "\": " +
                              value + "}");
}

void TraceLines::name_thread(unsigned tid, const std::string &name)
{
    metadata("thread_name", tid, "name", quoted(name));
    metadata("thread_sort_index", tid, "sort_index", std::to_string(tid));
}

void TraceLines::write_process()
{
    metadata("process_name", 0, "name", quoted(who_.text()));
    metadata("process_sort_index", 0, "sort_index",
             std::to_string(atoi(who_.rank.c_str())));
    if (trace_.dropped() != 0) {
        metadata("process_labels", 0, "labels",
                 quoted(format("the first %lu of %lu events are missing",
                               trace_.dropped(), trace_.seen())));
    }
    Json facts;
    facts.begin_object().field("host", who_.host).field("pid", who_.pid);
    facts.field("job", who_.job).field("rank", who_.rank);
    facts.field("interface", format("%016lx", names_.interface));
    facts.field("policy", names_.policy).field("chunks", trace_.seen());
    facts.field("dropped", trace_.dropped());
    facts.field("room", trace_.capacity()).end_object();
    event("M", "fuselink", base_, "\"args\": " + facts.text());
}

void TraceLines::write_events(int64_t now, std::vector<Threads> &threads)
{
    /* In the order of their starts, but for what was posted from within a
     * completion. */
    std::vector<const Trace::Event *> events;
    for (size_t i = 0; i < trace_.size(); ++i) {
        if (trace_.at(i).rail < names_.rails.size()) {
            events.push_back(&trace_.at(i));
        }
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const Trace::Event *x, const Trace::Event *y) {
                         return x->start < y->start;
                     });
    for (const Trace::Event *one : events) {
        if (Trace::is_chunk(one->kind)) {
            write_chunk(*one, now, threads[one->rail]);
        } else {
            threads[one->rail].fails = true;
            write_failure(*one);
        }
    }
}

void TraceLines::write_chunk(const Trace::Event &chunk, int64_t now,
                             Threads &rail)
{
    unsigned    first = base_ + kPerRail * chunk.rail;
    std::string name  = kind_name(chunk.kind) + std::string(" ") +
                        format_bytes(chunk.length);
    std::string rest  = "\"cat\": \"chunk\", \"ts\": " + micros(chunk.start) +
                        ", ";
    std::string args  = "\"args\": " + describe(chunk, names_);
    if (chunk.kind == Trace::Kind::Landed) {
        rail.receives = true;
        event("i", name, first + kPerRail - 1,
              rest + "\"s\": \"t\", " + args);
        return;
    }
    int64_t  end    = std::max(chunk.end != 0 ? chunk.end : now, chunk.start);
    unsigned thread = rail.place(chunk.start, end);
    event("X", name, first + thread,
          rest + "\"dur\": " + micros(end - chunk.start) + ", " + args);
}

void TraceLines::write_failure(const Trace::Event &one)
{
    event("i", kind_name(one.kind), base_ + kPerRail * one.rail + kPerRail - 2,
          "\"cat\": \"failure\", \"ts\": " + micros(one.start) +
              ", \"s\": \"t\", \"args\": " + describe_failure(one, names_));
}

} // namespace fuselink

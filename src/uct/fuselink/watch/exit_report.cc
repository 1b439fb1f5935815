/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "exit_report.h"

#include "../host/native_clock.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace fuselink {
namespace {

/* Never freed: it is needed while the process's other objects go. */
ExitReport *process_report;
std::mutex  process_lock;

void add_up(Totals::Line &line, const Traffic &traffic, const Outages *outages)
{
    line.sent.bytes      += traffic.sent.bytes.value();
    line.sent.chunks     += traffic.sent.chunks.value();
    line.received.bytes  += traffic.received.bytes.value();
    line.received.chunks += traffic.received.chunks.value();
    if (outages != nullptr) {
        const auto now = native_now().count();
        line.failures.breaks += outages->breaks.value();
        line.failures.moves  += outages->moves.value();
        line.failures.resent += outages->resent();
        line.failures.out    += static_cast<double>(outages->out_until(now)) *
                             1e-9;
        line.failures.longest_wait =
            std::max(line.failures.longest_wait,
                     static_cast<double>(outages->longest.value()) * 1e-9);
    }
}

} // namespace

ExitReport::ExitReport(std::string destination)
    : destination_(std::move(destination)), pid_(getpid()),
      since_(native_now())
{
}

ExitReport *ExitReport::start(const std::string &destination,
                              std::string       &error)
{
    std::lock_guard<std::mutex> guard(process_lock);
    if (process_report != nullptr) {
        return process_report;
    }
    if (destination != "stdout" && destination != "stderr") {
        /* Better now than when the work is done. */
        FILE *file = fopen(destination.c_str(), "ae");
        if (file == nullptr) {
            error = destination + ": " + strerror(errno);
            return nullptr;
        }
        fclose(file);
    }
    process_report = new ExitReport(destination);
    atexit(at_exit);
    return process_report;
}

void ExitReport::at_exit()
{
    std::string error;
    if (process_report->pid_ == getpid() && !process_report->write(error)) {
        fprintf(stderr, "fuselink: UCX_FUSELINK_REPORT: %s\n", error.c_str());
    }
}

void ExitReport::add(const Source &source)
{
    std::lock_guard<std::mutex> guard(lock_);
    auto it = std::find_if(entries_.begin(), entries_.end(),
                           [&](const auto &entry) {
                               return entry->line.name == source.name &&
                                      entry->line.peers == source.peers;
                           });
    if (it == entries_.end()) {
        auto entry        = std::make_unique<Entry>();
        entry->line.name  = source.name;
        entry->line.peers = source.peers;
        entry->port       = source.port;
        entry->before     = read_nic_counters(source.port);
        it = entries_.insert(entries_.end(), std::move(entry));
    }
    (*it)->line.speed = source.speed;
    (*it)->open.push_back({source.traffic, source.outages});
}

void ExitReport::remove(const Traffic *traffic, double measured)
{
    std::lock_guard<std::mutex> guard(lock_);
    for (auto &entry : entries_) {
        auto it = std::find_if(entry->open.begin(), entry->open.end(),
                               [traffic](const Open &open) {
                                   return open.traffic == traffic;
                               });
        if (it != entry->open.end()) {
            add_up(entry->line, *traffic, it->outages);
            entry->line.measured = measured > 0 ? measured :
                                                  entry->line.measured;
            entry->open.erase(it);
        }
    }
}

Totals ExitReport::totals() const
{
    Totals totals;
    totals.who     = Identity::own();
    totals.seconds = (native_now() - since_).as_seconds();
    std::lock_guard<std::mutex> guard(lock_);
    for (const auto &entry : entries_) {
        Totals::Line line = entry->line;
        for (const Open &open : entry->open) {
            add_up(line, *open.traffic, open.outages);
        }
        auto now = read_nic_counters(entry->port);
        if (now && entry->before) {
            line.nic = {now->sent - entry->before->sent,
                        now->received - entry->before->received};
        }
        totals.lines.push_back(std::move(line));
    }
    std::stable_sort(totals.lines.begin(), totals.lines.end(),
                     [](const Totals::Line &x, const Totals::Line &y) {
                         return x.peers < y.peers;
                     });
    return totals;
}

bool ExitReport::write(std::string &error) const
{
    bool  to_out = destination_ == "stdout", to_err = destination_ == "stderr";
    FILE *file   = to_out ? stdout : to_err ? stderr :
                   fopen(destination_.c_str(), "ae");
    if (file == nullptr) {
        error = destination_ + ": " + strerror(errno);
        return false;
    }
    /* At once, so that the reports of several processes do not mix. */
    Totals      all  = totals();
    std::string text = destination_.ends_with(".json") ? all.json() :
                                                         all.text();
    fflush(file);
    bool ok = ::write(fileno(file), text.data(), text.size()) ==
              static_cast<ssize_t>(text.size());
    if (!ok) {
        error = destination_ + ": " + strerror(errno);
    }
    if (!to_out && !to_err) {
        fclose(file);
    }
    return ok;
}

} // namespace fuselink

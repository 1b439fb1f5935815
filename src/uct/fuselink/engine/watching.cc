/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "watching.h"

namespace fuselink {

ucs_status_t Watching::start(const Settings &settings, const Rails &rails)
{
    std::string error;
    if (!settings.report.empty()) {
        report_ = ExitReport::start(settings.report, error);
        if (report_ == nullptr) {
            ucs_error("UCX_FUSELINK_REPORT: %s", error.c_str());
            return UCS_ERR_IO_ERROR;
        }
    }
    if (!settings.trace.empty()) {
        trace_file_ = TraceFile::open(settings.trace, error);
        if (trace_file_ == nullptr) {
            ucs_error("UCX_FUSELINK_TRACE: %s", error.c_str());
            return UCS_ERR_IO_ERROR;
        }
        trace_ = std::make_unique<Trace>(settings.trace_size);
    }
    for (const auto &rail : rails.list()) {
        add(*rail);
    }
    return UCS_OK;
}

void Watching::add(Rail &rail)
{
    if (report_ != nullptr) {
        report_->add({.name = rail.name(),
                      .port = rail.control().device(),
                      .speed = rail.speed(), .traffic = &rail.traffic,
                      .outages = &rail.health.outages()});
    }
    if (trace_ != nullptr) {
        rail.health.trace_to(trace_.get());
    }
}

void Watching::add(const GpuCopies &copies)
{
    if (report_ == nullptr) {
        return;
    }
    constexpr auto kGpu = Totals::Peers::Gpu;
    report_->add({.name = "own link", .peers = kGpu, .traffic = &copies.own()});
    if (copies.relayed() != nullptr) {
        report_->add({.name = "other GPUs' links", .peers = kGpu,
                      .traffic = copies.relayed()});
        report_->add({.name = "own link, lent to others", .peers = kGpu,
                      .traffic = copies.lent()});
    }
    if (copies.to_near() != nullptr) {
        report_->add({.name = "other GPUs' NICs", .peers = kGpu,
                      .traffic = copies.to_near()});
    }
}

void Watching::end(const Rails &rails, const GpuCopies &copies,
                   const std::string &policy, sched::Nanos now)
{
    if (report_ != nullptr) {
        if (copies.there()) {
            report_->remove(&copies.own());
        }
        if (copies.there() && copies.relayed() != nullptr) {
            report_->remove(copies.relayed());
            report_->remove(copies.lent());
        }
        if (copies.there() && copies.to_near() != nullptr) {
            report_->remove(copies.to_near());
        }
        for (const auto &rail : rails.list()) {
            const auto &meter = rail->nic.meter();
            rail->health.close(now);
            report_->remove(&rail->traffic,
                            meter.known() ? meter.rate().bytes_per_second() :
                                            0);
        }
    }
    if (trace_ == nullptr) {
        return;
    }
    TraceNames names;
    names.interface = rails.uuid();
    names.policy    = policy;
    for (const auto &rail : rails.list()) {
        names.rails.push_back(rail->name());
    }
    if (const NearSlots *near = copies.known_near()) {
        for (const auto &lender : near->lenders()) {
            names.relays[lender->entry] =
                "process " + std::to_string(ProcessId(lender->offer.process).pid());
        }
    }
    std::string error;
    if (!trace_file_->add(*trace_, names, now.count(), error)) {
        ucs_warn("UCX_FUSELINK_TRACE: %s", error.c_str());
    }
}

} // namespace fuselink

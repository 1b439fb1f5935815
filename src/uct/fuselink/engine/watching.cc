/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Engine: what it leaves for people to look at. */

#include "engine.h"

namespace fuselink {

/* What the user asked for and cannot have stops the transport, as any setting
 * does: the job would be for nothing. */
ucs_status_t Engine::start_watching()
{
    std::string error;
    if (!settings_.report.empty()) {
        report_ = ExitReport::start(settings_.report, error);
        if (report_ == nullptr) {
            ucs_error("UCX_FUSELINK_REPORT: %s", error.c_str());
            return UCS_ERR_IO_ERROR;
        }
        for (const auto &rail : rails_) {
            report_->add({.name = rail->name(),
                          .port = rail->control().device(),
                          .speed = rail->speed(), .traffic = &rail->traffic});
        }
    }
    if (!settings_.trace.empty()) {
        trace_file_ = TraceFile::open(settings_.trace, error);
        if (trace_file_ == nullptr) {
            ucs_error("UCX_FUSELINK_TRACE: %s", error.c_str());
            return UCS_ERR_IO_ERROR;
        }
        trace_ = std::make_unique<Trace>(settings_.trace_size);
    }
    return UCS_OK;
}

/* Links of GPUs, when it is known which there are. */
void Engine::watch_copies()
{
    if (report_ == nullptr) {
        return;
    }
    constexpr auto kGpu = Totals::Peers::Gpu;
    report_->add({.name = "own link", .peers = kGpu,
                  .traffic = &hop_->traffic()});
    if (relay_) {
        report_->add({.name = "other GPUs' links", .peers = kGpu,
                      .traffic = &relay_->relayed()});
        report_->add({.name = "own link, lent to others", .peers = kGpu,
                      .traffic = &relay_->lent()});
    }
}

void Engine::end_watching()
{
    if (report_ != nullptr) {
        if (hop_) {
            report_->remove(&hop_->traffic());
        }
        if (relay_) {
            report_->remove(&relay_->relayed());
            report_->remove(&relay_->lent());
        }
        for (const auto &rail : rails_) {
            const auto &meter = rail->nic.meter();
            report_->remove(&rail->traffic,
                            meter.known() ? meter.rate().bytes_per_second() :
                                            0);
        }
    }
    if (trace_ == nullptr) {
        return;
    }
    TraceNames names;
    names.interface = uuid();
    names.policy    = settings_.policy->name();
    for (const auto &rail : rails_) {
        names.rails.push_back(rail->name());
    }
    std::string error;
    if (!trace_file_->add(*trace_, names, now().count(), error)) {
        ucs_warn("UCX_FUSELINK_TRACE: %s", error.c_str());
    }
}

} // namespace fuselink

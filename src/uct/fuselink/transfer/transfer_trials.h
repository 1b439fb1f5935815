/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_TRANSFER_TRIALS_H
#define FUSELINK_TRANSFER_TRANSFER_TRIALS_H

#include "../host/host.h"
#include "../sched/bulk_trials.h"
#include "../ucx.h"

#include <memory>

namespace fuselink {

/**
 * How bulk data to one peer goes, and what was found out by trying (sched::BulkTrials).
 *
 * One thread at a time (the worker's).
 */
class TransferTrials {
public:
    /** Outlives this. */
    explicit TransferTrials(const Host &host) : host_(host) {}
    TransferTrials(const TransferTrials &)            = delete;
    TransferTrials &operator=(const TransferTrials &) = delete;

    /** A transfer begins, and ends. */
    void begin()
    {
        if (ucs_unlikely(!trials_)) { /* once: idle peers, of which there are many, have none */
            trials_ = std::make_unique<sched::BulkTrials>();
        }
        trials_->begin(host_.now());
    }
    void end() { trials_->end(host_.now()); }

    /** So much is given to a path now, while a transfer is open, */
    void sends(size_t length) { trials_->sent(sched::Bytes(length)); }
    /** and is not on its way any more. */
    void ended(size_t length) { trials_->arrived(sched::Bytes(length)); }

    /** What to do now, while a transfer is open: see sched::BulkTrials. */
    bool many() { return trials_->many(host_.now()); }
    bool long_chunks(sched::Nanos now, bool matters)
    {
        return trials_->long_chunks(now, matters);
    }

private:
    const Host                        &host_;
    std::unique_ptr<sched::BulkTrials> trials_;
};

} // namespace fuselink

#endif

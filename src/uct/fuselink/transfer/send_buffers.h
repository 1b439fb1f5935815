/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_SEND_BUFFERS_H
#define FUSELINK_TRANSFER_SEND_BUFFERS_H

#include "../host/host.h"
#include "path.h"
#include "transfer_trials.h"

namespace fuselink {

/**
 * How much the kernel may take of bulk data to one peer, on paths that are streams. A user
 * who sets UCX_TCP_SNDBUF has decided that.
 *
 * One thread at a time (the worker's).
 */
class SendBuffers {
public:
    /** Both outlive this. */
    SendBuffers(Host &host, TransferTrials &trials) : host_(host), trials_(trials) {}
    SendBuffers(const SendBuffers &)            = delete;
    SendBuffers &operator=(const SendBuffers &) = delete;

    /** A chunk is given to a stream next. Two system calls if its kernel does not know yet
     *  how much it may take. */
    void prepare(Path &path)
    {
        const auto wanted = wants(path, trials_.many());
        if (ucs_unlikely(path.stream.keeps != wanted)) {
            path.stream.keeps = wanted;
            host_.streams().bound(path.ep, wanted == Path::Keeps::Many ?
                                               sched::Bytes::max() :
                                               sched::BulkTrials::kFew);
        }
    }

private:
    /* A slow path is left to its kernel: a processor has time for that, and what waits
     * there goes on while none of this process's is to be had. */
    static Path::Keeps wants(const Path &path, bool many)
    {
        using Keeps       = Path::Keeps;
        const Keeps keeps = path.stream.keeps;
        const auto  least = keeps == Keeps::Few ? sched::BulkTrials::kSlow :
                                                  sched::BulkTrials::kFast;
        if (!many && path.meter.known() && path.meter.rate() > least) {
            return Keeps::Few;
        }
        return keeps == Keeps::Kernel ? Keeps::Kernel : Keeps::Many;
    }

    Host           &host_;
    TransferTrials &trials_;
};

} // namespace fuselink

#endif

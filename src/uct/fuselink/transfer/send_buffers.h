/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_SEND_BUFFERS_H
#define FUSELINK_TRANSFER_SEND_BUFFERS_H

#include "../host/host.h"
#include "../sched/buffer_trial.h"
#include "path.h"

#include <memory>

namespace fuselink {

/**
 * How much the kernel may take of bulk data to one peer, on paths that are streams
 * (sched::BufferTrial). A user who sets UCX_TCP_SNDBUF has decided that.
 *
 * One thread at a time (the worker's).
 */
class SendBuffers {
public:
    /** Outlives this. */
    explicit SendBuffers(Host &host) : host_(host) {}
    SendBuffers(const SendBuffers &)            = delete;
    SendBuffers &operator=(const SendBuffers &) = delete;

    /** A transfer begins, and ends. */
    void begin()
    {
        if (ucs_unlikely(!trial_)) { /* once: idle peers, of which there are many, have none */
            trial_ = std::make_unique<sched::BufferTrial>();
        }
        trial_->begin(host_.now());
    }
    void end() { trial_->end(host_.now()); }

    /** So much is given to a stream now. Two system calls if its kernel does not know yet
     *  how much it may take. */
    void sends(Path &path, size_t length)
    {
        const auto wanted = wants(path, trial_->look(host_.now()));
        trial_->sent(sched::Bytes(length));
        if (ucs_unlikely(path.stream.keeps != wanted)) {
            path.stream.keeps = wanted;
            host_.streams().bound(path.ep, wanted == Path::Keeps::Many ?
                                               sched::Bytes::max() :
                                               sched::BufferTrial::kFew);
        }
    }
    /** It is not on its way any more. */
    void ended(size_t length) { trial_->arrived(sched::Bytes(length)); }

private:
    /* A slow path is left to its kernel: a processor has time for that, and what waits
     * there goes on while none of this process's is to be had. */
    static Path::Keeps wants(const Path &path, bool many)
    {
        using Keeps       = Path::Keeps;
        const Keeps keeps = path.stream.keeps;
        const auto  least = keeps == Keeps::Few ? sched::BufferTrial::kSlow :
                                                  sched::BufferTrial::kFast;
        if (!many && path.meter.known() && path.meter.rate() > least) {
            return Keeps::Few;
        }
        return keeps == Keeps::Kernel ? Keeps::Kernel : Keeps::Many;
    }

    Host &host_;
    std::unique_ptr<sched::BufferTrial> trial_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_AGENT_LENDER_H
#define FUSELINK_TOOLS_AGENT_LENDER_H

#include "../common/transport.h"
#include "uct/fuselink/relay/gpu_copies.h"

#include <string>

namespace fuselink::agent {

/** Lends the link of the GPU that the calling thread works with, as a program over
 *  fuselink does beside its work: by a thread of the transport's. It takes no part in
 *  anything else, and opens no NIC. */
class Lender {
public:
    Lender() = default;
    /** Ends what is under way, which takes up to two seconds. */
    ~Lender();
    Lender(const Lender &)            = delete;
    Lender &operator=(const Lender &) = delete;

    /** False with a line. */
    bool open(std::string &error);
    /** The most memory that it takes of the GPU, bytes; only then. */
    size_t memory() const { return memory_; }

private:
    Transport            transport_;
    ucs_async_context_t *async_  = nullptr;
    uct_worker_h         worker_ = nullptr;
    std::unique_ptr<GpuCopies> copies_;
    size_t               memory_ = 0;
};

} // namespace fuselink::agent

#endif

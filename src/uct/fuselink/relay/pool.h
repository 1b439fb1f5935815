/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_POOL_H
#define FUSELINK_RELAY_POOL_H

#include "../rail/uct_objects.h"
#include "../registry/relay_registry.h"

#include <memory>
#include <string>

namespace fuselink {

/** The slots of an agent, in its GPU's memory, which other processes reach. In the
 *  thread, and so with the GPU, in which it was allocated. */
class RelayPool {
public:
    /** With the offer's slots of its size; fills in the rest of what the offer
     *  says of memory. nullptr if it cannot be; `error` says why, for a log line. */
    static std::unique_ptr<RelayPool> allocate(UctMd &copies, UctMd &ipc,
                                               RelayRegistry::Offer &offer,
                                               std::string &error);
    /** Nobody may use it any more. */
    ~RelayPool();
    RelayPool(const RelayPool &)            = delete;
    RelayPool &operator=(const RelayPool &) = delete;

    char *memory() const { return static_cast<char *>(memory_.address); }

private:
    explicit RelayPool(UctMd &ipc) : ipc_(ipc) {}

    UctMd                 &ipc_;
    uct_allocated_memory_t memory_{};
    uct_mem_h              memh_ = nullptr;
};

} // namespace fuselink

#endif

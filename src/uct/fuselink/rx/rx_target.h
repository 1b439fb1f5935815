/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RX_RX_TARGET_H
#define FUSELINK_RX_RX_TARGET_H

#include "../rma/local_memory.h"
#include "../rma/open_gets.h"
#include "../wire/messages.h"

#include <cstring>

namespace fuselink {

/** Where bytes of bulk data belong. */
struct RxTarget {
    char      *to     = nullptr;
    bool       on_gpu = false;
    Get       *get    = nullptr; /* if they are of one of ours: `op` */
    wire::OpId op{};

    /** Null if they are of none. */
    const wire::OpId *op_of_get() const { return get != nullptr ? &op : nullptr; }
};

/**
 * Finds where bulk data of one peer belongs, if the peer may write there, and
 * puts it there. What the peer says of it is untrusted.
 *
 * One thread at a time (the worker's).
 */
class RxTargets {
public:
    RxTargets(OpenGets &gets, LocalMemory &memory)
        : gets_(gets), memory_(memory)
    {
    }

    /** False if the peer may not write there. */
    bool find(const wire::DataPart &part, size_t length, RxTarget &target)
    {
        if (part.kind == static_cast<uint8_t>(wire::DataKind::Put)) {
            RegionKey key{part.region_id, part.key};
            target.to     = reinterpret_cast<char *>(
                static_cast<uintptr_t>(part.target));
            target.on_gpu = memory_.on_gpu(key);
            return memory_.contains(key, part.target, length);
        }
        memcpy(&target.op, &part.key, sizeof(target.op));
        Get *get = gets_.find(target.op);
        if (get == nullptr || get->by_message || length > get->missing() ||
            length > get->length || part.target > get->length - length) {
            return false;
        }
        target.to     = get->buffer + part.target;
        target.on_gpu = get->to_gpu;
        target.get    = get;
        return true;
    }

    /** To memory of the host, which another worker may have deregistered since
     *  find(): false then. */
    bool write(const RxTarget &target, const wire::DataPart &part,
               const void *data, size_t length)
    {
        if (target.get == nullptr) {
            return memory_.write(RegionKey{part.region_id, part.key},
                                 part.target, data, length);
        }
        memcpy(target.to, data, length);
        return true;
    }

private:
    OpenGets    &gets_;
    LocalMemory &memory_;
};

} // namespace fuselink

#endif

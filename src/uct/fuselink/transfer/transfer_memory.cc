/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "transfer_memory.h"

#include "chunk.h"

namespace fuselink {

uct_mem_h TransferMemory::own_handle(const Transfer &transfer,
                                     const Path     &path) const
{
    uct_mem_h memh = nullptr;
    with_own_handle(transfer, path, [&](uct_mem_h own) { memh = own; });
    return memh;
}

uct_mem_h TransferMemory::gpu_handle(const Transfer &transfer,
                                     const Path     &path) const
{
    return path.rail.reads() && nics_.any_for_gpus() ?
               own_handle(transfer, path) : nullptr;
}

uct_mem_h TransferMemory::staging_handle(const Path &path) const
{
    return copies_.slots_out().ready() ?
               nics_.handle(copies_.slots_out().region(), path.rail.memory()) :
               nullptr;
}

uct_mem_h TransferMemory::staged_handle(const StagingSegment &segment,
                                        const Path &path) const
{
    return segment.near ? copies_.near()->handle(segment.near, path.rail.memory()) :
                          staging_handle(path);
}

bool TransferMemory::reads_source(const Transfer &transfer,
                                  const Path     &path) const
{
    if (!transfer.from_gpu) {
        return own_handle(transfer, path) != nullptr;
    }
    return gpu_handle(transfer, path) != nullptr ||
           staging_handle(path) != nullptr;
}

uct_rkey_t TransferMemory::remote_key(NicKeys &keys, const Path &path)
{
    return path.remote.memory < wire::kMaxRails ?
               keys.get(path.remote.memory, path.rail.control().md()) :
               UCT_INVALID_RKEY;
}

bool TransferMemory::opens(Transfer &transfer, const Path &path)
{
    unsigned slot = path.remote.memory;
    if (!path.rail.reads() || slot >= wire::kMaxRails ||
        transfer.remote_region.key == 0) {
        return false;
    }
    const bool serves = transfer.kind == Transfer::Kind::ServeGet;
    if (!transfer.keys) {
        if (transfer.to_gpu && !serves) {
            return false; /* that would have come with the region's */
        }
        transfer.keys = served_.find(transfer.remote_region);
    }
    if (transfer.keys->state(slot) == NicKeys::State::Unknown) {
        const uint32_t token = keys_.request_keys(transfer.remote_region,
                                                  transfer.keys);
        if (serves && !served_.asked(transfer.keys, token)) {
            transfer.key_token = token;
        }
        if (connection_.failed()) {
            return false; /* and the transfer may have ended */
        }
    }
    return remote_key(*transfer.keys, path) != UCT_INVALID_RKEY &&
           reads_source(transfer, path);
}

bool TransferMemory::awaits_key(const Transfer &transfer,
                                const Path     &path) const
{
    return transfer.keys && path.rail.reads() &&
           path.remote.memory < wire::kMaxRails &&
           transfer.keys->state(path.remote.memory) == NicKeys::State::Asked;
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_TRANSFER_MEMORY_H
#define FUSELINK_TRANSFER_TRANSFER_MEMORY_H

#include "../conn/connection.h"
#include "../memory/region.h"
#include "../memory/region_table.h"
#include "../memory/remote_key.h"
#include "../relay/gpu_copies.h"
#include "../ucx.h"
#include "key_source.h"
#include "path.h"
#include "served_keys.h"
#include "transfer.h"

namespace fuselink {

/**
 * The memory at both ends of transfers, as NICs know it: handles of ours, and keys
 * of the peer's, which are asked for when a transfer first wants them.
 *
 * One thread at a time (the worker's); memory may be deregistered by others at any
 * time, and is not while a handle of it is in use here.
 */
class TransferMemory {
public:
    /** All outlive this. */
    TransferMemory(const Connection &connection, RegionTable &regions,
                   NicMemory &nics, GpuCopies &copies, KeySource &keys)
        : connection_(connection), regions_(regions), nics_(nics),
          copies_(copies), keys_(keys), served_(keys)
    {
    }
    TransferMemory(const TransferMemory &)            = delete;
    TransferMemory &operator=(const TransferMemory &) = delete;

    /** Some NIC may reach memory of GPUs. */
    bool any_for_gpus() const { return nics_.any_for_gpus(); }

    /** The memory that a peer's get reads may be deregistered meanwhile. */
    bool still_there(const Transfer &transfer, size_t offset,
                     size_t length) const
    {
        auto at = reinterpret_cast<uintptr_t>(transfer.buffer);
        return transfer.kind != Transfer::Kind::ServeGet ||
               regions_.contains(transfer.own_region, at + offset, length);
    }
    /** The same of what is not given to a path. */
    bool still_there(const Transfer &transfer) const
    {
        return still_there(transfer, transfer.assigned, transfer.rest());
    }
    /** Copies what a peer's get reads from memory of the host; false if it is not there any
     *  more, and it does not go meanwhile. */
    bool copy_served(const Transfer &transfer, size_t offset, void *to,
                     size_t length) const
    {
        auto at = reinterpret_cast<uintptr_t>(transfer.buffer);
        return regions_.copy_out(transfer.own_region, at + offset, to, length);
    }

    /** Calls fn(uct_mem_h) with the memory that the transfer is from, or for, as
     *  the NIC of the path knows it (null: not), if it is there. Where only its
     *  key is known it is not deregistered meanwhile, under a lock: `fn` does not
     *  come back here. */
    template <typename Fn>
    void with_own_handle(const Transfer &transfer, const Path &path,
                         Fn &&fn) const
    {
        auto with = [&](Region &region) {
            fn(nics_.handle(region, path.rail.memory()));
        };
        if (transfer.region != nullptr) {
            with(*transfer.region);
        } else {
            regions_.with_region(transfer.own_region, with);
        }
    }
    /** That handle; null if the NIC does not reach it. */
    uct_mem_h own_handle(const Transfer &transfer, const Path &path) const;
    /** The same of a GPU's memory. */
    uct_mem_h gpu_handle(const Transfer &transfer, const Path &path) const;
    /** Of the bounce buffers that memory of a GPU is copied to. */
    uct_mem_h staging_handle(const Path &path) const;
    /** Of where the segment is. */
    uct_mem_h staged_handle(const StagingSegment &segment, const Path &path) const;

    /** Whose slots the NIC of the path reads; nullptr if there is nobody now. */
    Lender *lender_for(const Path &path) const
    {
        NearSlots *near = copies_.near();
        return near != nullptr ? near->lender_for(path.rail.memory()) : nullptr;
    }

    /** The NIC of the path can read what it is to send, or what is copied of
     *  it. */
    bool reads_source(const Transfer &transfer, const Path &path) const;

    /** The key by which the NIC of the path reaches memory of the peer;
     *  UCT_INVALID_RKEY if there is none. */
    static uct_rkey_t remote_key(NicKeys &keys, const Path &path);

    /** The NIC of the path can read or write both ends of the transfer. Asks for
     *  keys that are not known, which may fail the connection: then the transfer
     *  may have ended. */
    bool opens(Transfer &transfer, const Path &path);
    /** opens() has asked for the key, and is not answered. */
    bool awaits_key(const Transfer &transfer, const Path &path) const;

private:
    const Connection &connection_;
    RegionTable      &regions_;
    NicMemory        &nics_;
    GpuCopies        &copies_;
    KeySource        &keys_;
    ServedKeys        served_;
};

} // namespace fuselink

#endif

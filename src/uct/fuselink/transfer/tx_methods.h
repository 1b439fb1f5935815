/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_TX_METHODS_H
#define FUSELINK_TRANSFER_TX_METHODS_H

#include "../conn/connection.h"
#include "path_set.h"
#include "slot_borrowing.h"
#include "transfer.h"
#include "transfer_memory.h"

namespace fuselink {

/** How a chunk of a transfer would go on a path. */
enum class TxMethod : uint8_t {
    None,     /* it cannot */
    NotYet,   /* not known yet, or it waits for a slot */
    Rma,      /* by the rail's put, or get */
    Messages, /* by active messages, in parts */
    Slot      /* by a put into a slot that the peer has lent */
};

/**
 * Which method the next chunk of a transfer has on a path, and whether a NIC reads
 * memory of a GPU itself (GPUDirect) or has it copied to the host's.
 *
 * One thread at a time (the worker's).
 */
class TxMethods {
public:
    /** All outlive this. */
    TxMethods(const Connection &connection, const PathSet &paths,
              TransferMemory &memory, SlotBorrowing &slots)
        : connection_(connection), paths_(paths), memory_(memory), slots_(slots)
    {
    }
    TxMethods(const TxMethods &)            = delete;
    TxMethods &operator=(const TxMethods &) = delete;

    /** May ask for keys, and so fail the connection: then the transfer may have
     *  ended. */
    TxMethod method(Transfer &transfer, const Path &path);

    /** Some NIC may reach memory of GPUs. */
    bool any_for_gpus() const { return memory_.any_for_gpus(); }
    /** The NIC can read what is to be sent from the GPU's memory, now or soon. */
    bool may_read_gpu_soon(const Transfer &transfer, const Path &path,
                           TxMethod method) const
    {
        return method != TxMethod::Messages && method != TxMethod::None &&
               memory_.gpu_handle(transfer, path) != nullptr;
    }
    /** Now, and bytes are left of which no copy has begun. */
    bool may_read_gpu(const Transfer &transfer, const Path &path,
                      TxMethod method) const
    {
        return method != TxMethod::NotYet &&
               transfer.tail > transfer.staging.until &&
               may_read_gpu_soon(transfer, path, method);
    }
    /** What is copied to the host can go that way. */
    bool may_read_copy(const Path &path, TxMethod method) const
    {
        return method == TxMethod::Messages || !path.rail.reads() ||
               memory_.staging_handle(path) != nullptr;
    }
    /** What is in a slot of another GPU can, now or soon. */
    bool may_read_near(const StagingSegment &segment, const Path &path,
                       TxMethod method) const
    {
        return method != TxMethod::Messages && method != TxMethod::None &&
               path.rail.reads() && memory_.staged_handle(segment, path) != nullptr;
    }
    /** Whose slots the NIC could read to send the transfer, which it cannot read itself;
     *  nullptr if there is nobody. */
    Lender *lender_for(const Transfer &transfer, const Path &path, TxMethod method) const
    {
        return may_need_near(transfer, path, method) ? memory_.lender_for(path) : nullptr;
    }
    /** The NIC could read such slots, and not the memory that the transfer is from. */
    bool may_need_near(const Transfer &transfer, const Path &path, TxMethod method) const
    {
        return method != TxMethod::Messages && method != TxMethod::None &&
               path.rail.reads() && transfer.kind != Transfer::Kind::Get &&
               memory_.gpu_handle(transfer, path) == nullptr;
    }

    /** Bytes at the end of a transfer from a GPU that no copy is to begin of: what
     *  the NICs that need none, as they reach it or a slot of another GPU, are going to
     *  carry of the rest, as far as is known now. Copies begin at the front, and these NICs take from the end. So
     *  neither has to know how much the other will do, and they meet where each
     *  has done what it can. May fail the connection, as method(). */
    size_t left_to_gpu_readers(Transfer &transfer);

private:
    TxMethod to_gpu(Transfer &transfer, const Path &path);

    const Connection &connection_;
    const PathSet    &paths_;
    TransferMemory   &memory_;
    SlotBorrowing    &slots_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* BulkSender: NICs that read and write memory of GPUs themselves (GPUDirect), beside
 * others that have it copied to the host's.
 *
 * Copies begin at the front of a transfer, and the NICs that need none take from its
 * end. So neither has to know how much the other will do, and they meet where each
 * has done what it can. */

#include "bulk.h"


#include <algorithm>

namespace fuselink {

/* Calls fn(Region &) for the memory that the transfer is from, or for, if it is
 * there. Where only its key is known it is not deregistered meanwhile. */
template <typename Fn>
void BulkSender::with_own_region(const Transfer &transfer, Fn &&fn) const
{
    if (transfer.region != nullptr) {
        fn(*transfer.region);
    } else {
        env_.regions.with_region(transfer.own_region, fn);
    }
}

/* That memory, for the NIC of the path; null if that does not reach it. */
uct_mem_h BulkSender::own_handle(const Transfer &transfer,
                                 const Path     &path) const
{
    uct_mem_h memh = nullptr;
    with_own_region(transfer, [&](Region &region) {
        memh = env_.nics.handle(region, path.rail.memory());
    });
    return memh;
}

/* The same of a GPU. */
uct_mem_h BulkSender::gpu_handle(const Transfer &transfer,
                                 const Path     &path) const
{
    return path.rail.reads() && env_.nics.any_for_gpus() ?
               own_handle(transfer, path) : nullptr;
}

/* Where pieces are that were copied from a GPU, for the NIC of the path; null if it
 * does not reach them, or there is no memory for them. */
uct_mem_h BulkSender::slots_handle(const Path &path) const
{
    return env_.copies.slots_out().ready() ?
               env_.nics.handle(env_.copies.slots_out().region(),
                                    path.rail.memory()) :
               nullptr;
}

/* Puts the chunk's bytes to `to`. From inside of a put no NIC that has keys calls
 * back, which with_own_region() would not stand. */
ucs_status_t BulkSender::put_chunk(Chunk &chunk, uint64_t to, uct_rkey_t rkey)
{
    const Path  &path   = *chunk.path;
    ucs_status_t status = UCS_ERR_NO_MEMORY; /* of slots; or it is gone */
    auto         put    = [&](uct_mem_h memh) {
        if (memh != UCT_MEM_HANDLE_NULL || !path.rail.reads()) {
            uct_iov_t iov{const_cast<char *>(data(chunk)), chunk.length, memh,
                          0, 1};
            status = uct_ep_put_zcopy(path.ep, &iov, 1, to, rkey, &chunk.comp);
        }
    };
    if (!path.rail.reads()) {
        put(UCT_MEM_HANDLE_NULL);
    } else if (chunk.staged != nullptr) {
        put(slots_handle(path));
    } else {
        with_own_region(*chunk.transfer, [&](Region &region) {
            put(env_.nics.handle(region, path.rail.memory()));
        });
    }
    return status;
}

/* Can the NIC of the path read what it is to send, or what is copied of it? */
bool BulkSender::reads_source(const Transfer &transfer, const Path &path) const
{
    if (!transfer.from_gpu) {
        return own_handle(transfer, path) != nullptr;
    }
    return gpu_handle(transfer, path) != nullptr ||
           slots_handle(path) != nullptr;
}

/* What is copied can go that way. */
bool BulkSender::may_read_copy(const Path &path, Carry how) const
{
    return how == Carry::Messages || !path.rail.reads() ||
           slots_handle(path) != nullptr;
}

/* The key of them by which the NIC of the path reaches memory of the peer;
 * UCT_INVALID_RKEY if there is none. */
uct_rkey_t BulkSender::remote_key(NicKeys &keys, const Path &path)
{
    return path.remote.memory < wire::kMaxRails ?
               keys.get(path.remote.memory, path.rail.control().md()) :
               UCT_INVALID_RKEY;
}

/* Can the NIC of the path read or write both ends of the transfer? Asks for keys
 * that are not known. */
bool BulkSender::opens(Transfer &transfer, const Path &path)
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
        transfer.keys = std::make_shared<NicKeys>();
    }
    if (transfer.keys->state(slot) == NicKeys::State::Unknown) {
        const uint32_t token = keys_.request_keys(transfer.remote_region,
                                                  transfer.keys);
        if (serves) {
            transfer.key_token = token;
        }
        if (connection_.failed()) {
            return false; /* and the transfer may have ended */
        }
    }
    return remote_key(*transfer.keys, path) != UCT_INVALID_RKEY &&
           reads_source(transfer, path);
}

/* opens() has asked for the key, and is not answered. */
bool BulkSender::awaits_key(const Transfer &transfer, const Path &path) const
{
    return transfer.keys && path.rail.reads() &&
           path.remote.memory < wire::kMaxRails &&
           transfer.keys->state(path.remote.memory) == NicKeys::State::Asked;
}

/* The NIC can read what is to be sent from the GPU's memory, now or soon. */
bool BulkSender::direct_way(const Transfer &transfer, const Path &path,
                            Carry how) const
{
    return how != Carry::Messages && how != Carry::Not &&
           gpu_handle(transfer, path) != nullptr;
}

/* Now, and bytes are left of which no copy has begun. */
bool BulkSender::may_read_gpu(const Transfer &transfer, const Path &path,
                              Carry how) const
{
    return how != Carry::NotYet && transfer.tail > transfer.staged_until &&
           direct_way(transfer, path, how);
}

/* Bytes at the end of the transfer that no copy is to begin of: what the NICs that
 * need none are going to carry of the rest, as far as is known now. */
size_t BulkSender::for_direct(Transfer &transfer)
{
    if (ucs_likely(!env_.nics.any_for_gpus())) {
        return 0;
    }
    double direct = 0, all = 0;
    for (auto &path : paths_) {
        if (!in_play(*path) || path->state != Path::State::Ready) {
            continue;
        }
        const double weight = path->weight.bytes_per_second();
        const Carry  how    = carry(transfer, *path);
        if (connection_.failed()) {
            return 0; /* and the transfer may have ended */
        }
        all += weight;
        if (direct_way(transfer, *path, how)) {
            direct += weight;
        }
    }
    if (direct == 0 || all == 0) {
        return 0;
    }
    const auto rest = static_cast<double>(transfer.rest());
    return direct == all ? transfer.rest() :
                           static_cast<size_t>(rest * direct / all);
}

/* No more than there is of the piece that was copied. */
void BulkSender::cut_staged(const Transfer &transfer, Pick &pick) const
{
    const size_t  least  = env_.settings.limits.min_chunk.count();
    const Staged &staged = *transfer.staged;
    const size_t  there  = staged.offset + staged.length - transfer.assigned;
    /* No crumb: the piece is about as long as a chunk. */
    if (pick.length >= there ||
        (there - pick.length < least &&
         (pick.how != Carry::Slot || there <= slots_size_))) {
        pick.length = there;
    }
}

/* Nothing of what is copied; no crumb is left to be. */
void BulkSender::cut_direct(const Transfer &transfer, Pick &pick) const
{
    const size_t least = env_.settings.limits.min_chunk.count();
    const size_t there = transfer.tail - transfer.staged_until;
    const size_t most  = pick.how == Carry::Slot ?
                             slots_size_ :
                             pick.path->rail.control().attr().cap.put.max_zcopy;
    if (pick.length >= there ||
        (there - pick.length < least && there <= most)) {
        pick.length = there;
    }
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rma_tx.h"

namespace fuselink {

ucs_status_t RmaTx::post(Chunk &chunk)
{
    const Transfer &transfer = *chunk.transfer;
    const Path     &path     = *chunk.path;
    const uint64_t  remote   = transfer.remote + chunk.offset;
    uct_rkey_t      rkey     = UCT_INVALID_RKEY;
    if (path.rail.reads()) { /* TxMethods has seen that both keys are there */
        rkey = TransferMemory::remote_key(*transfer.keys, path);
    }
    if (transfer.kind != Transfer::Kind::Get) {
        return put(chunk, remote, rkey);
    }
    uct_iov_t iov{const_cast<char *>(chunk.data()), chunk.length,
                  memory_.own_handle(transfer, path), 0, 1};
    if (chunk.length < path.rail.control().attr().cap.get.min_zcopy) {
        return uct_ep_get_bcopy(path.ep, copy_in, iov.buffer, chunk.length,
                                remote, rkey, &chunk.comp);
    }
    return uct_ep_get_zcopy(path.ep, &iov, 1, remote, rkey, &chunk.comp);
}

ucs_status_t RmaTx::post_to_slot(Chunk &chunk)
{
    const Path &path = *chunk.path;
    uct_rkey_t  rkey = UCT_INVALID_RKEY;
    if (path.rail.reads()) { /* TxMethods has seen that it is there */
        rkey = slots_.key(path, chunk.pool);
    }
    return put(chunk, slots_.credits(chunk.pool).address(chunk.loan), rkey);
}

/* From inside of a put no NIC that has keys calls back, which with_own_handle()
 * would not stand. */
ucs_status_t RmaTx::put(Chunk &chunk, uint64_t to, uct_rkey_t rkey)
{
    const Path  &path   = *chunk.path;
    ucs_status_t status = UCS_ERR_NO_MEMORY; /* of slots; or it is gone */
    auto         post   = [&](uct_mem_h memh) {
        if (memh != UCT_MEM_HANDLE_NULL || !path.rail.reads()) {
            uct_iov_t iov{const_cast<char *>(chunk.data()), chunk.length, memh,
                          0, 1};
            status = uct_ep_put_zcopy(path.ep, &iov, 1, to, rkey, &chunk.comp);
        }
    };
    if (!path.rail.reads()) {
        post(UCT_MEM_HANDLE_NULL);
    } else if (chunk.staged != nullptr) {
        post(memory_.staged_handle(*chunk.staged, path));
    } else {
        memory_.with_own_handle(*chunk.transfer, path, post);
    }
    return status;
}

} // namespace fuselink

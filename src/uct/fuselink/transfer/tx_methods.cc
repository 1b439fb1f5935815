/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "tx_methods.h"

namespace fuselink {

TxMethod TxMethods::method(Transfer &transfer, const Path &path)
{
    const bool is_get = transfer.kind == Transfer::Kind::Get;
    if (path.by_messages || transfer.checks_key()) {
        return is_get ? TxMethod::None : TxMethod::Messages;
    }
    if (transfer.to_gpu) {
        return to_gpu(transfer, path);
    }
    if (!path.rail.reads()) {
        return is_get ? TxMethod::None : TxMethod::Rma;
    }
    /* A NIC with memory protection: both ends must be registered. */
    const TxMethod without = is_get ? TxMethod::None : TxMethod::Messages;
    if (transfer.kind != Transfer::Kind::ServeGet &&
        transfer.region == nullptr) {
        return without;
    }
    return memory_.opens(transfer, path)      ? TxMethod::Rma :
           memory_.awaits_key(transfer, path) ? TxMethod::NotYet :
                                                without;
}

/* For memory of the peer's GPU, on a path that has a put. */
TxMethod TxMethods::to_gpu(Transfer &transfer, const Path &path)
{
    if (memory_.opens(transfer, path)) {
        return TxMethod::Rma;
    }
    const uint32_t     pool    = slots_.pool_for(path);
    const SlotCredits &credits = slots_.credits(pool);
    if (pool == wire::kHostPool && slots_.awaits_key(path)) {
        return TxMethod::NotYet;
    }
    if (credits.held() == 0) {
        return TxMethod::Messages;
    }
    if (path.rail.reads()) { /* both ends must be registered */
        slots_.request_key(path, pool);
        if (slots_.key(path, pool) == UCT_INVALID_RKEY ||
            !memory_.reads_source(transfer, path)) {
            return TxMethod::Messages;
        }
    }
    return credits.free() != 0 ? TxMethod::Slot : TxMethod::NotYet;
}

size_t TxMethods::left_to_gpu_readers(Transfer &transfer)
{
    if (ucs_likely(!memory_.any_for_gpus())) {
        return 0;
    }
    double direct = 0, all = 0;
    for (auto &path : paths_) {
        if (!paths_.in_play(*path) || path->state != Path::State::Ready) {
            continue;
        }
        const double   weight = path->weight.bytes_per_second();
        const TxMethod how    = method(transfer, *path);
        if (connection_.failed()) {
            return 0; /* and the transfer may have ended */
        }
        all += weight;
        if (may_read_gpu_soon(transfer, *path, how) ||
            lender_for(transfer, *path, how) != nullptr) {
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

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RMA_INITIATOR_H
#define FUSELINK_RMA_INITIATOR_H

#include "../conn/connection.h"
#include "../conn/control_channel.h"
#include "../conn/lane_ops.h"
#include "../conn/order_tracker.h"
#include "../conn/pending_queue.h"
#include "../conn/user.h"
#include "../memory/region.h"
#include "../memory/remote_key.h"
#include "../rail/rails.h"
#include "../transfer/bulk.h"
#include "../ucx.h"
#include "../wire/messages.h"
#include "key_exchange.h"
#include "open_gets.h"

namespace fuselink {

/**
 * Puts and gets of this process at one peer, and which way each goes: by the NIC
 * of the lane of messages, by a message, as bulk data, or as a request that the
 * peer serves.
 *
 * The operations are UCT's, with its contract. One thread at a time (the
 * worker's).
 */
class RmaInitiator {
public:
    /** @param inline_get bytes: a get up to here is answered by messages */
    RmaInitiator(Connection &conn, ControlChannel &channel, OrderTracker &order,
                 PendingQueue &pending, LaneOps &ops, OpenGets &gets,
                 KeyExchange &keys, BulkSender &bulk, NicMemory &nics,
                 const Rails &rails, size_t inline_get)
        : conn_(conn), channel_(channel), order_(order), pending_(pending),
          ops_(ops), gets_(gets), keys_(keys), bulk_(bulk), nics_(nics),
          rails_(rails), inline_get_(inline_get)
    {
    }

    ucs_status_t put_short(const void *buffer, unsigned length, uint64_t remote,
                           RemoteKey &key);
    ssize_t      put_bcopy(uct_pack_callback_t pack, void *arg, uint64_t remote,
                           RemoteKey &key);
    ucs_status_t put_zcopy(PeerUser &user, const uct_iov_t *iov, size_t iovcnt,
                           uint64_t remote, RemoteKey &key,
                           uct_completion_t *comp);
    ucs_status_t get_bcopy(PeerUser &user, uct_unpack_callback_t unpack,
                           void *arg, size_t length, uint64_t remote,
                           RemoteKey &key, uct_completion_t *comp);
    ucs_status_t get_zcopy(PeerUser &user, const uct_iov_t *iov, size_t iovcnt,
                           uint64_t remote, RemoteKey &key,
                           uct_completion_t *comp);

    /** Gets of the NIC of the lane that broke, which is gone: the peer sends what they
     *  were for. From progress. */
    void ask_again();

    /** A get as bulk data that none of our NICs can do: the peer sends it. */
    void ask_for(const Transfer &transfer);

private:
    struct PutMessage;

    uct_rkey_t   lane_rkey(RemoteKey &key);
    ucs_status_t lane_status(ucs_status_t status);
    void         lane_put_begun(const wire::PutData &header, const void *data,
                                size_t length);
    ssize_t      lane_put_bcopy(uct_pack_callback_t pack, void *arg,
                                const wire::PutData &header, uct_rkey_t rkey);
    ucs_status_t lane_get(PeerUser &user, void *buffer, size_t length,
                          uint64_t remote, Region *region, RemoteKey &key,
                          uct_completion_t *comp);
    void         put_message(PutMessage &message, size_t most);
    ucs_status_t request_get(PeerUser &user, Get &get, const wire::OpId &op,
                             const Region *region, uint64_t remote,
                             RemoteKey &key);
    void         name_region(wire::GetReq &request, Get &get,
                             const Region *region, bool from_gpu) const;

    Connection     &conn_;
    ControlChannel &channel_;
    OrderTracker   &order_;
    PendingQueue   &pending_;
    LaneOps        &ops_;
    OpenGets       &gets_;
    KeyExchange    &keys_;
    BulkSender     &bulk_;
    NicMemory      &nics_;
    const Rails    &rails_;
    const size_t    inline_get_;
};

} // namespace fuselink

#endif

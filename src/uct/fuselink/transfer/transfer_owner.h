/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_TRANSFER_OWNER_H
#define FUSELINK_TRANSFER_TRANSFER_OWNER_H

#include "../conn/epochs.h"
#include "../ucx.h"
#include "../wire/messages.h"

namespace fuselink {

struct PeerUser;
struct Transfer;

/**
 * Whose operations are carried out as transfers: puts and gets of users of this
 * process, and gets that the peer has asked for.
 *
 * One thread at a time (the worker's). What is said to have ended may call the
 * user, who may begin other operations, or end endpoints, in there.
 */
class TransferOwner {
public:
    /** A put or get of a user begins. Returns what end_op() wants to know. */
    virtual Epochs::Id begin_user_op(PeerUser &user) = 0;
    /** One operation of a user has ended; null: he is gone. To be called before
     *  he hears of it, who may destroy the endpoint then. */
    virtual void user_op_ended(PeerUser *user) = 0;
    /** To be called after he has heard of it. */
    virtual void end_op(Epochs::Id id) = 0;

    /** A get that none of our NICs can do: the peer is to send the data. What
     *  the transfer holds (operation, user, completion) goes to the owner. */
    virtual void ask_for(const Transfer &transfer) = 0;

    /** Ends a get of the peer that is not served, or no further. */
    virtual void refuse_get(const wire::OpId &op, ucs_status_t status) = 0;
    /** All of a get with Transfer::checked has been sent, and nothing reads its memory any
     *  more: the peer hears whether that is still there. */
    virtual void confirm_get(const Transfer &transfer) = 0;
    /** A get of the peer has been served. */
    virtual void on_served() = 0;

    /** A fence keeps new bulk data back until what went before it has landed.
     *  BulkSender::pump() is called when it does so no longer. */
    virtual bool bulk_held() const = 0;

protected:
    ~TransferOwner() = default;
};

} // namespace fuselink

#endif

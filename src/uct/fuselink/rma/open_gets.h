/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RMA_OPEN_GETS_H
#define FUSELINK_RMA_OPEN_GETS_H

#include "../conn/connection.h"
#include "../conn/order_tracker.h"
#include "../conn/user.h"
#include "../ucx.h"
#include "../wire/messages.h"
#include "get_table.h"
#include "local_memory.h"

namespace fuselink {

/**
 * The gets of this process that one peer is to serve, or is serving: what comes
 * for them, and how they end.
 *
 * What the peer says of them is untrusted. One thread at a time (the worker's).
 */
class OpenGets {
public:
    /** Copies of what came for gets to memory of GPUs. */
    class Copies {
    public:
        /** Returns when none is under way any more. */
        virtual void wait() = 0;

    protected:
        ~Copies() = default;
    };

    OpenGets(Connection &conn, GetOwner &owner, GetTable &table,
             OrderTracker &order, LocalMemory &memory)
        : conn_(conn), owner_(owner), table_(table), order_(order),
          memory_(memory)
    {
    }
    OpenGets(const OpenGets &)            = delete;
    OpenGets &operator=(const OpenGets &) = delete;

    /** Those who copy what came for a get, and count it in Get::arriving. They
     *  stay until no get is open. */
    void set_copies(Copies &copies) { copies_ = &copies; }

    /** A new one, with its name. */
    Get &begin(wire::OpId &id)
    {
        Get &get  = table_.begin(id);
        get.owner = &owner_;
        return get;
    }
    /** The one of this name; null if there is none of this connection. */
    Get *find(const wire::OpId &id) const
    {
        Get *get = table_.find(id);
        return get != nullptr && get->owner == &owner_ ? get : nullptr;
    }
    /** There are any. */
    bool open() const { return table_.open(&owner_) != 0; }

    /** Its user is told, and has its memory back. */
    void end(Get &get, ucs_status_t status);
    void end_all(ucs_status_t status);
    /** Those whose memory nobody but us writes. With `in_place`, the peer may
     *  write that of all that do not go by messages. */
    void end_ours(ucs_status_t status, bool in_place);

    /** Of one user: a get by messages ends, the peer is to stop others. */
    void cancel(PeerUser &user);
    /** The same, and nobody is told. */
    void forget(PeerUser &user);

    /** Bytes of it came over a path. */
    void landed(Get &get, uint64_t length);
    /** How often any did. */
    uint64_t landings() const { return landings_; }

    /* Messages of the peer, of these types. */
    void on_data(const void *data, size_t length);   /* wire::GetData */
    void on_done(const void *data, size_t length);   /* wire::GetDone */
    void on_landed(const void *data, size_t length); /* wire::Landed */

private:
    void end_if_over(Get &get);

    Connection   &conn_;
    GetOwner     &owner_;
    GetTable     &table_;
    OrderTracker &order_;
    LocalMemory  &memory_;
    Copies       *copies_ = nullptr;
    uint64_t      landings_ = 0; /* chunks */
};

} // namespace fuselink

#endif

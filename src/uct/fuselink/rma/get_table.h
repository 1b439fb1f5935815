/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RMA_GET_TABLE_H
#define FUSELINK_RMA_GET_TABLE_H

#include "../conn/epochs.h"
#include "../host/random_numbers.h"
#include "../ucx.h"
#include "../wire/messages.h"

#include <deque>
#include <vector>

namespace fuselink {

struct Get;
struct PeerUser;

/** The connection that gets are of, for chunks, which do not say it. */
class GetOwner {
public:
    virtual uint64_t uuid() const = 0;
    /** The peer announces a chunk of a get on one of its paths. False if it is
     *  of a path's connection that has ended. */
    virtual bool on_announced(uint8_t rail, uint8_t own, uint32_t number) = 0;
    /** Bytes of a get came over a path. */
    virtual void on_landed(Get &get, uint64_t length) = 0;

protected:
    ~GetOwner() = default;
};

/** One get of this process that a peer is serving. */
struct Get {
    GetOwner             *owner = nullptr;
    PeerUser             *user = nullptr; /* null once it is gone */
    uct_completion_t     *comp = nullptr; /* of the user; may be null */
    char                 *buffer = nullptr; /* where zcopy data goes */
    uct_unpack_callback_t unpack = nullptr; /* bcopy instead, if set */
    void                 *unpack_arg = nullptr;
    std::vector<char>     parts; /* what came for unpack so far */
    size_t                length = 0;
    size_t                landed = 0; /* bytes, all of them distinct */
    size_t                arriving = 0; /* bytes on their way to a GPU */
    ucs_status_t          status = UCS_OK; /* of these */
    bool                  by_message = false;
    bool                  to_gpu = false; /* `buffer` is memory of a GPU */
    bool                  named = false;  /* the peer's NICs may write there */
    bool                  unconfirmed = false; /* the peer has yet to say that its memory
                                                  was there */
    Epochs::Id            epoch = 0;

    /** Bytes that have not come. */
    size_t missing() const { return length - landed - arriving; }

    /* of the table */
    uint32_t slot       = 0;
    uint32_t generation = 0;
    uint32_t next_free  = 0;
    bool     live       = false;
};

/** The gets of one interface, named by slot and generation so that an answer
 *  from the wire can be checked. Chunks come on connections that do not tell
 *  whose they are, so the generations are no sequence that another peer could
 *  continue. One thread at a time. */
class GetTable {
public:
    explicit GetTable(Host &host) : random_(host) {}

    /** A new get; its `live`, generation and name are set. It stays where it
     *  is until end(). */
    Get &begin(wire::OpId &id)
    {
        uint32_t slot;
        if (free_ != kNone) {
            slot  = free_;
            free_ = gets_[slot].next_free;
        } else {
            slot = static_cast<uint32_t>(gets_.size());
            gets_.emplace_back();
        }
        Get &get            = gets_[slot];
        uint32_t generation = random_.next32();
        get                 = Get{};
        get.slot            = slot;
        get.generation      = generation;
        get.live            = true;
        id.slot             = slot;
        id.generation       = generation;
        return get;
    }

    /** The live get with this name, or nullptr. `id` may be hostile. */
    Get *find(const wire::OpId &id)
    {
        if (id.slot >= gets_.size()) {
            return nullptr;
        }
        Get &get = gets_[id.slot];
        return get.live && get.generation == id.generation ? &get : nullptr;
    }

    void end(Get &get)
    {
        get.live      = false;
        get.parts     = {};
        get.next_free = free_;
        free_         = get.slot;
    }

    /** Calls fn(Get&) for each live get of an owner; fn may end it. */
    template <typename Fn> void for_each(const GetOwner *owner, Fn &&fn)
    {
        for (size_t i = 0; i < gets_.size(); ++i) { /* fn may begin some */
            if (gets_[i].live && gets_[i].owner == owner) {
                fn(gets_[i]);
            }
        }
    }

    /** Number of live gets of an owner. */
    size_t open(const GetOwner *owner)
    {
        size_t count = 0;
        for_each(owner, [&](Get &) { ++count; });
        return count;
    }

private:
    static constexpr uint32_t kNone = UINT32_MAX;

    RandomNumbers   random_; /* a peer sees the names of its own requests */
    std::deque<Get> gets_;
    uint32_t        free_ = kNone;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_MEMORY_REMOTE_KEY_H
#define FUSELINK_MEMORY_REMOTE_KEY_H

#include "../rail/uct_objects.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "region_table.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fuselink {

/**
 * The keys by which NICs of the peer open one region of its memory: one for
 * each NIC that it registered the memory with. Which came with the region's
 * key, which were asked for later, and which do not exist.
 *
 * One thread at a time (UCP's rkey belongs to a worker).
 */
class NicKeys {
public:
    enum class State : uint8_t {
        Unknown, /* to be asked for */
        Asked,
        Known,
        None /* the peer could not register the memory with that NIC */
    };

    NicKeys() = default;
    ~NicKeys();
    NicKeys(const NicKeys &)            = delete;
    NicKeys &operator=(const NicKeys &) = delete;

    State state(unsigned slot) const { return slots_[slot].state; }
    void  set_asked(unsigned slot) { slots_[slot].state = State::Asked; }

    /** Slots that were asked for and not answered have no key. */
    void  give_up_asked();

    /** What the peer says of a slot; no bytes: there is no key. */
    void set(unsigned slot, std::span<const uint8_t> packed);

    /** The key for use on an interface of `md`; UCT_INVALID_RKEY if there is
     *  none. A key of another size than `md` has is none. */
    uct_rkey_t get(unsigned slot, const UctMd &md);

private:
    struct Slot {
        State                state = State::Unknown;
        bool                 unpacked = false;
        std::vector<uint8_t> packed;
        uct_component_h      component = nullptr;
        uct_rkey_bundle_t    bundle{};
    };

    std::array<Slot, wire::kMaxRails> slots_;
};

/** What a uct_rkey_t of fuselink points to. */
struct RemoteKey {
    RegionKey                region;
    bool                     on_gpu = false; /* of a GPU */
    /* Its owner may end it at any time, by a call that does not wait for us. So the owner
     * looks at each use: our NICs do not read there, the owner sends and says at the end
     * whether the memory was there all the time; and what we write goes by messages. */
    bool                     revocable = false;
    /* Shared with transfers in progress. Null if there are none: memory of a GPU
     * is then reached by slots or messages only. */
    std::shared_ptr<NicKeys> nics;
};

} // namespace fuselink

#endif

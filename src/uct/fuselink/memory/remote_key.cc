/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "remote_key.h"

namespace fuselink {

NicKeys::~NicKeys()
{
    for (auto &slot : slots_) {
        if (slot.unpacked) {
            uct_rkey_release(slot.component, &slot.bundle);
        }
    }
}

void NicKeys::set(unsigned index, std::span<const uint8_t> packed)
{
    Slot &slot = slots_[index];
    if (slot.state == State::Known) {
        return; /* it may be in use */
    }
    slot.packed.assign(packed.begin(), packed.end());
    slot.state = packed.empty() ? State::None : State::Known;
}

void NicKeys::give_up_asked()
{
    for (auto &slot : slots_) {
        if (slot.state == State::Asked) {
            slot.state = State::None;
        }
    }
}

uct_rkey_t NicKeys::get(unsigned index, const UctMd &md)
{
    uct_component_h component = md.component();
    Slot &slot = slots_[index];
    if (slot.state != State::Known) {
        return UCT_INVALID_RKEY;
    }
    if (!slot.unpacked) {
        ucs_status_t status = slot.packed.size() == md.rkey_size() ?
            uct_rkey_unpack(component, slot.packed.data(), &slot.bundle) :
            UCS_ERR_INVALID_PARAM;
        if (status != UCS_OK) {
            ucs_debug("fuselink: a NIC's key of a peer is refused: %s",
                      ucs_status_string(status));
            slot.state = State::None;
            return UCT_INVALID_RKEY;
        }
        slot.component = component;
        slot.unpacked  = true;
    }
    return slot.component == component ? slot.bundle.rkey : UCT_INVALID_RKEY;
}

} // namespace fuselink

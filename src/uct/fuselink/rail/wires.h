/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_WIRES_H
#define FUSELINK_RAIL_WIRES_H

#include "../sched/units.h"
#include "../sched/wire_evidence.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "rail.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace fuselink {

/** What lies between one of our NICs and one of another host. */
struct Wire {
    sched::WireEvidence evidence;
    bool                changed = false; /* and nobody has been told */
};

/**
 * The wires of one interface. There is one for each of our NICs and each NIC of other
 * hosts, however many processes use that.
 *
 * One thread at a time (the worker's).
 */
class Wires {
public:
    Wires() = default;
    Wires(const Wires &)            = delete;
    Wires &operator=(const Wires &) = delete;

    /** The one between the two, which is connected; it stays. Looks in a table, so its
     *  users keep it. */
    Wire &between(const Rail &own, const wire::RailRecord &remote)
    {
        return wires_[key_of(own, remote)];
    }
    /** It is known, and was found silent. `remote` may be what somebody says. */
    bool silent(const Rail &own, const wire::RailRecord &remote) const
    {
        auto it = wires_.find(key_of(own, remote));
        return it != wires_.end() && it->second.evidence.silent();
    }

    /** See WireEvidence. */
    void heard(Wire &wire, sched::Nanos at)
    {
        if (ucs_unlikely(wire.evidence.heard(at))) {
            note(wire);
        }
    }
    void proved_silent(Wire &wire, sched::Nanos now)
    {
        if (wire.evidence.proved_silent(now)) {
            note(wire);
        }
    }

    /** One that is silent since not long ago, or is not any more; null if that was
     *  all. */
    Wire *take_changed()
    {
        if (ucs_likely(changed_.empty())) {
            return nullptr;
        }
        Wire *wire = changed_.back();
        changed_.pop_back();
        wire->changed = false;
        return wire;
    }

private:
    /* Our rail, and the address of the other NIC. */
    using Key = std::pair<uint8_t, std::vector<uint8_t>>;

    static Key key_of(const Rail &own, const wire::RailRecord &remote)
    {
        if (remote.net.family == 0) {
            return {own.index(), remote.device_address};
        }
        return {own.index(),
                {remote.net.bytes.begin(), remote.net.bytes.end()}};
    }
    void note(Wire &wire)
    {
        if (!wire.changed) {
            wire.changed = true;
            changed_.push_back(&wire);
        }
    }

    std::map<Key, Wire> wires_;
    std::vector<Wire *> changed_;
};

} // namespace fuselink

#endif

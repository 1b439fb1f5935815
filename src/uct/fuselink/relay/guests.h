/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_GUESTS_H
#define FUSELINK_RELAY_GUESTS_H

#include "../hop/hop.h"
#include "../host/host.h"
#include "../rail/lower.h"
#include "hall.h"

#include <array>
#include <memory>

namespace fuselink {

/** Memory of the host of the processes for which an agent copies, pinned for its
 *  GPU as long as they sit where they sat. The agent's thread. */
class RelayGuests {
public:
    /** `hop` copies to and from it. */
    RelayGuests(Host &host, RelayHall &hall, LowerMd &copies, Hop &hop)
        : host_(host), hall_(hall), copies_(copies), hop_(hop)
    {
    }
    ~RelayGuests();
    RelayGuests(const RelayGuests &)            = delete;
    RelayGuests &operator=(const RelayGuests &) = delete;

    /** What a job is about; nullptr if who asks has no memory, or it is not in
     *  it. */
    char *memory_of(const RelayHall::Job &job);

    /** Lets go of the memory of those who are gone. */
    void sweep();

private:
    struct Guest {
        RelayHall::Host                host;
        std::unique_ptr<SharedSegment> memory;
        uct_mem_h                      pinned = nullptr;
    };

    void forget(Guest &guest);

    Host      &host_;
    RelayHall &hall_;
    LowerMd   &copies_;
    Hop       &hop_;
    std::array<Guest, RelayHall::kSeats> guests_;
};

} // namespace fuselink

#endif

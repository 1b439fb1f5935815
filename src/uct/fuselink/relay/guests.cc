/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "guests.h"

namespace fuselink {

RelayGuests::~RelayGuests()
{
    for (Guest &guest : guests_) {
        forget(guest);
    }
}

char *RelayGuests::memory_of(const RelayHall::Job &job)
{
    if (job.seat >= RelayHall::kSeats) {
        return nullptr;
    }
    Guest                 &guest = guests_[job.seat];
    const RelayHall::Host &host  = job.host;
    if (!(guest.host == host)) {
        forget(guest);
        guest.host = host;
        if (host.magic != 0 && host.size != 0) {
            guest.memory = host_.join_segment(host.magic, host.size);
        }
        if (guest.memory &&
            uct_md_mem_reg(copies_.handle(), guest.memory->memory(), host.size,
                           UCT_MD_MEM_ACCESS_ALL | UCT_MD_MEM_FLAG_HIDE_ERRORS,
                           &guest.pinned) != UCS_OK) {
            guest.pinned = nullptr; /* slower */
        }
    }
    return guest.memory && job.length <= host.size &&
                   job.host_offset <= host.size - job.length ?
               static_cast<char *>(guest.memory->memory()) + job.host_offset :
               nullptr;
}

void RelayGuests::sweep()
{
    for (uint32_t seat = 0; seat < RelayHall::kSeats; ++seat) {
        Guest &guest = guests_[seat];
        if (!guest.memory) {
            continue;
        }
        auto who = hall_.at(seat);
        if (!who || !(hall_.host_of(seat) == guest.host) ||
            host_.processes().life(*who) == ProcessId::Life::Gone) {
            forget(guest);
        }
    }
}

void RelayGuests::forget(Guest &guest)
{
    if (guest.memory) { /* nothing may be copied to it any more */
        hop_.wait([this] { return !hop_.busy(); });
    }
    if (guest.pinned != nullptr) {
        uct_md_mem_dereg(copies_.handle(), guest.pinned);
    }
    guest = Guest{};
}

} // namespace fuselink

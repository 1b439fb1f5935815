/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_CLIENTS_H
#define FUSELINK_RELAY_CLIENTS_H

#include "../staging/copy_lane.h"
#include "../host/host.h"
#include "../rail/uct_objects.h"
#include "../registry/relay_registry.h"

#include <array>
#include <memory>

namespace fuselink {

/** Memory of the host of the processes for which an agent copies, pinned for its
 *  GPU as long as they have the entries that they had. The agent's thread. */
class RelayClients {
public:
    /** `lane` copies to and from it. */
    RelayClients(Host &host, RelayRegistry &registry, UctMd &copies, CopyLane &lane)
        : host_(host), registry_(registry), copies_(copies), lane_(lane)
    {
    }
    ~RelayClients();
    RelayClients(const RelayClients &)            = delete;
    RelayClients &operator=(const RelayClients &) = delete;

    /** What a job is about; nullptr if who asks has no memory, or it is not in
     *  it. */
    char *memory_of(const RelayRegistry::Job &job);

    /** Lets go of the memory of those who are gone. */
    void sweep();

private:
    struct Client {
        RelayRegistry::Host                host;
        std::unique_ptr<SharedSegment> memory;
        uct_mem_h                      pinned = nullptr;
    };

    void forget(Client &client);

    Host      &host_;
    RelayRegistry &registry_;
    UctMd     &copies_;
    CopyLane  &lane_;
    std::array<Client, RelayRegistry::kEntries> clients_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "clients.h"

namespace fuselink {

RelayClients::~RelayClients()
{
    for (Client &client : clients_) {
        forget(client);
    }
}

char *RelayClients::memory_of(const RelayRegistry::Job &job)
{
    if (job.entry >= RelayRegistry::kEntries) {
        return nullptr;
    }
    Client                 &client = clients_[job.entry];
    const RelayRegistry::Host &host  = job.host;
    if (!(client.host == host)) {
        forget(client);
        client.host = host;
        if (host.magic != 0 && host.size != 0) {
            client.memory = host_.join_segment(host.magic, host.size);
        }
        if (client.memory &&
            uct_md_mem_reg(copies_.handle(), client.memory->memory(), host.size,
                           UCT_MD_MEM_ACCESS_ALL | UCT_MD_MEM_FLAG_HIDE_ERRORS,
                           &client.pinned) != UCS_OK) {
            client.pinned = nullptr; /* slower */
        }
    }
    return client.memory && job.length <= host.size &&
                   job.host_offset <= host.size - job.length ?
               static_cast<char *>(client.memory->memory()) + job.host_offset :
               nullptr;
}

void RelayClients::sweep()
{
    for (uint32_t entry = 0; entry < RelayRegistry::kEntries; ++entry) {
        Client &client = clients_[entry];
        if (!client.memory) {
            continue;
        }
        auto who = registry_.at(entry);
        if (!who || !(registry_.host_of(entry) == client.host) ||
            host_.processes().life(*who) == ProcessId::Life::Gone) {
            forget(client);
        }
    }
}

void RelayClients::forget(Client &client)
{
    if (client.memory) { /* nothing may be copied to it any more */
        lane_.wait([this] { return !lane_.busy(); });
    }
    if (client.pinned != nullptr) {
        uct_md_mem_dereg(copies_.handle(), client.pinned);
    }
    client = Client{};
}

} // namespace fuselink

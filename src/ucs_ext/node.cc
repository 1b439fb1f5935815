/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "node.h"

#include "hash.h"

#include <sys/stat.h>
#include <unistd.h>

namespace fuselink {
namespace {

/* Device and inode tell namespaces and file systems apart; what cannot be
 * asked counts as 0 for everybody. */
void add_file(Hash &hash, const char *path)
{
    struct stat st{};
    bool ok = stat(path, &st) == 0;
    hash.add(ok ? static_cast<uint64_t>(st.st_dev) : 0);
    hash.add(ok ? static_cast<uint64_t>(st.st_ino) : 0);
}

} // namespace

uint64_t node_signature(std::string_view lanes, uint64_t machine)
{
    Hash hash;
    hash.add(lanes);
    hash.add(machine);
    hash.add(uint64_t{geteuid()});
    add_file(hash, "/proc/self/ns/ipc");
    add_file(hash, "/proc/self/ns/pid");
    add_file(hash, "/dev/shm");
    return hash.value();
}

uint64_t network_signature(uint64_t machine)
{
    Hash hash;
    hash.add(machine);
    add_file(hash, "/proc/self/ns/net");
    return hash.value();
}

} // namespace fuselink

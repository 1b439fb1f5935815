/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "node.h"

#include <sys/stat.h>
#include <unistd.h>

namespace fuselink {
namespace {

/* FNV-1a, 64 bit. */
class Hash {
public:
    void add(uint64_t value)
    {
        for (int i = 0; i < 8; ++i) {
            byte(static_cast<uint8_t>(value >> (8 * i)));
        }
    }
    void add(std::string_view text)
    {
        for (char c : text) {
            byte(static_cast<uint8_t>(c));
        }
    }
    /* Device and inode tell namespaces and file systems apart; what cannot
     * be asked counts as 0 for everybody. */
    void add_file(const char *path)
    {
        struct stat st{};
        bool ok = stat(path, &st) == 0;
        add(ok ? static_cast<uint64_t>(st.st_dev) : 0);
        add(ok ? static_cast<uint64_t>(st.st_ino) : 0);
    }
    uint64_t value() const { return value_; }

private:
    void byte(uint8_t b) { value_ = (value_ ^ b) * 0x100000001b3u; }
    uint64_t value_ = 0xcbf29ce484222325u;
};

} // namespace

uint64_t node_signature(std::string_view lanes, uint64_t machine)
{
    Hash hash;
    hash.add(lanes);
    hash.add(machine);
    hash.add(uint64_t{geteuid()});
    hash.add_file("/proc/self/ns/ipc");
    hash.add_file("/proc/self/ns/pid");
    hash.add_file("/dev/shm");
    return hash.value();
}

uint64_t network_signature(uint64_t machine)
{
    Hash hash;
    hash.add(machine);
    hash.add_file("/proc/self/ns/net");
    return hash.value();
}

} // namespace fuselink

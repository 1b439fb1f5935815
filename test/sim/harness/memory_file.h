/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_MEMORY_FILE_H
#define FUSELINK_TEST_SIM_HARNESS_MEMORY_FILE_H

#include <cstddef>
#include <string>

namespace fuselink::sim {

/** A file that is in no file system: it has a name, for those who open files by
 *  name, and goes with this program. */
class MemoryFile {
public:
    explicit MemoryFile(const char *name);
    ~MemoryFile();
    MemoryFile(const MemoryFile &)            = delete;
    MemoryFile &operator=(const MemoryFile &) = delete;

    /** Empty if there is no such file. */
    const std::string &path() const { return path_; }
    size_t      size() const;
    std::string text(size_t from) const;
    bool        append(const std::string &text);
    /** Drops what is behind that. */
    bool        cut(size_t size);

private:
    int         fd_;
    std::string path_;
};

} // namespace fuselink::sim

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "memory_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fuselink::sim {

MemoryFile::MemoryFile(const char *name) : fd_(memfd_create(name, MFD_CLOEXEC))
{
    if (fd_ >= 0) {
        path_ = "/proc/self/fd/" + std::to_string(fd_);
    }
}

MemoryFile::~MemoryFile()
{
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

size_t MemoryFile::size() const
{
    struct stat about;
    return fstat(fd_, &about) == 0 ? static_cast<size_t>(about.st_size) : 0;
}

std::string MemoryFile::text(size_t from) const
{
    const size_t end = size();
    std::string  text(end > from ? end - from : 0, 0);
    for (size_t at = 0; at < text.size();) {
        const ssize_t got = pread(fd_, &text[at], text.size() - at,
                                  static_cast<off_t>(from + at));
        if (got <= 0) {
            text.resize(at);
            break;
        }
        at += static_cast<size_t>(got);
    }
    return text;
}

bool MemoryFile::append(const std::string &text)
{
    return pwrite(fd_, text.data(), text.size(), static_cast<off_t>(size())) ==
           static_cast<ssize_t>(text.size());
}

bool MemoryFile::cut(size_t size)
{
    return ftruncate(fd_, static_cast<off_t>(size)) == 0;
}

} // namespace fuselink::sim

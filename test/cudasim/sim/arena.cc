/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "arena.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cudasim {

Arena::Arena(int fd, uint64_t inode, std::shared_ptr<Mapping> mapping)
    : fd_(fd), inode_(inode), mapping_(std::move(mapping))
{
    free_[0] = mapping_->size();
}

std::unique_ptr<Arena> Arena::make(size_t size, std::string &error)
{
    int         fd = memfd_create("cudasim", MFD_CLOEXEC);
    struct stat status{};
    if (fd >= 0 && ftruncate(fd, static_cast<off_t>(size)) == 0 &&
        fstat(fd, &status) == 0) {
        auto mapping = Mapping::make(fd, 0, size);
        if (mapping != nullptr) {
            return std::unique_ptr<Arena>(
                new Arena(fd, status.st_ino, std::move(mapping)));
        }
    }
    error = strerror(errno);
    if (fd >= 0) {
        close(fd);
    }
    return nullptr;
}

Arena::~Arena()
{
    close(fd_);
}

std::optional<size_t> Arena::allocate(size_t size)
{
    size = (size + kGranule - 1) / kGranule * kGranule;
    for (auto it = free_.begin(); it != free_.end(); ++it) {
        auto [offset, room] = *it;
        if (room < size) {
            continue;
        }
        free_.erase(it);
        if (room > size) {
            free_[offset + size] = room - size;
        }
        used_[offset] = size;
        return offset;
    }
    return std::nullopt;
}

void Arena::release(size_t offset)
{
    auto   found = used_.find(offset);
    size_t size  = found->second;
    used_.erase(found);
    fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(offset), static_cast<off_t>(size));
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && next->first == offset + size) {
        size += next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second == offset) {
            before->second += size;
            return;
        }
    }
    free_[offset] = size;
}

} // namespace cudasim

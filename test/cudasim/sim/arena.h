/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_ARENA_H
#define FUSELINK_CUDASIM_ARENA_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sim/mapping.h"

namespace cudasim {

/**
 * The memory of one GPU as far as this process has allocated it: a file without
 * a name, so nothing is left of it however the process ends. Pages exist once
 * they are written. Others map a part of it through /proc.
 */
class Arena {
public:
    static constexpr size_t kGranule = 4096;

    /** @param size of all that may ever be allocated at once */
    static std::unique_ptr<Arena> make(size_t size, std::string &error);
    ~Arena();

    /** Offset of a free stretch of whole granules, nothing if there is none. */
    std::optional<size_t> allocate(size_t size);
    void                  release(size_t offset);

    int                             fd() const { return fd_; }
    uint64_t                        inode() const { return inode_; }
    const std::shared_ptr<Mapping> &mapping() const { return mapping_; }

private:
    Arena(int fd, uint64_t inode, std::shared_ptr<Mapping> mapping);

    int                      fd_;
    uint64_t                 inode_;
    std::shared_ptr<Mapping> mapping_;
    std::map<size_t, size_t> free_; /* offset, size */
    std::map<size_t, size_t> used_;
};

} // namespace cudasim

#endif

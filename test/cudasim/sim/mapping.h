/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_MAPPING_H
#define FUSELINK_CUDASIM_MAPPING_H

#include <cstddef>
#include <memory>

namespace cudasim {

/**
 * A stretch of a file that is mapped twice: under the address that the program
 * gets, where nothing can be read or written, so that a program which takes
 * GPU memory for host memory crashes as it does on a GPU; and under an alias
 * that only the emulator knows. With let_nics() a NIC can be given the former,
 * as with nvidia-peermem; then the program can read it, too.
 */
class Mapping {
public:
    /** @return nullptr if there is no address space or no such file */
    static std::shared_ptr<Mapping> make(int fd, size_t offset, size_t size);

    /** For those that are made from now on. */
    static void let_nics() { nics_ = true; }

    ~Mapping();
    Mapping(const Mapping &)            = delete;
    Mapping &operator=(const Mapping &) = delete;

    char  *base() const { return base_; }
    char  *alias() const { return alias_; }
    size_t size() const { return size_; }

private:
    Mapping(char *base, char *alias, size_t size)
        : base_(base), alias_(alias), size_(size) {}

    static bool nics_;

    char  *base_;
    char  *alias_;
    size_t size_;
};

} // namespace cudasim

#endif

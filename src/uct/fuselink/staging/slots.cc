/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "slots.h"

#include <algorithm>
#include <sys/mman.h>

namespace fuselink {

Slots::Slots(UctMd &md, NicMemory &nics, RegionTable &regions, size_t slot,
             size_t bytes, char *memory)
    : md_(md), nics_(nics), regions_(regions), size_(slot),
      ledger_(static_cast<uint32_t>(bytes / slot)), given_(memory)
{
}

Slots::~Slots()
{
    if (memory_ == nullptr) {
        return;
    }
    regions_.remove(region_->key);
    nics_.release(*region_);
    if (pinned_ != nullptr) {
        uct_md_mem_dereg(md_.handle(), pinned_);
    }
    if (given_ == nullptr) {
        munmap(memory_, ledger_.size() * size_);
    }
}

bool Slots::allocate()
{
    const size_t bytes = ledger_.size() * size_;
    if (failed_) {
        return false;
    }
    void *memory = given_ != nullptr ?
                       given_ :
                       mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        failed_ = true;
        ucs_error("fuselink: no %zu bytes to send memory of GPUs through "
                  "(UCX_FUSELINK_RELAY_MEMORY)", bytes);
        return false;
    }
    memory_ = static_cast<char *>(memory);
    region_ = std::make_unique<Region>(memory_, bytes);
    /* Of length 0: no message reads or writes it. */
    region_->key = regions_.add(memory_, 0, region_.get());
    ucs_status_t status = uct_md_mem_reg(md_.handle(), memory_, bytes,
                                         UCT_MD_MEM_ACCESS_ALL |
                                         UCT_MD_MEM_FLAG_HIDE_ERRORS,
                                         &pinned_);
    if (status != UCS_OK) {
        pinned_ = nullptr;
        ucs_warn("fuselink: %zu bytes cannot be pinned for the GPU: %s; copies "
                 "from and to it are slower", bytes,
                 ucs_status_string(status));
    }
    return true;
}

char *Slots::take()
{
    if (!ready()) {
        return nullptr;
    }
    auto slot = ledger_.take();
    if (!slot && reclaim_ != nullptr) {
        reclaim_(reclaim_arg_);
        slot = ledger_.take();
    }
    return slot ? at(*slot) : nullptr;
}

} // namespace fuselink

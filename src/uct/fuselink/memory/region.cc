/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "region.h"

namespace fuselink {

unsigned NicMemory::add(UctMd &md)
{
    for (unsigned slot = 0; slot < mds_.size(); ++slot) {
        if (mds_[slot].md == &md) {
            return slot;
        }
    }
    if (mds_.size() == wire::kMaxRails) {
        return kNoSlot;
    }
    mds_.push_back({&md, md.rkey_size(), false});
    return static_cast<unsigned>(mds_.size() - 1);
}

uct_mem_h NicMemory::handle(Region &region, unsigned slot)
{
    uct_mem_h known = region.handles_[slot].load(std::memory_order_acquire);
    return known != nullptr ? known : register_with(region, slot);
}

uct_mem_h NicMemory::register_with(Region &region, unsigned slot)
{
    if (region.failed_.load(std::memory_order_relaxed) & (1u << slot)) {
        return nullptr;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    uct_mem_h memh = region.handles_[slot].load(std::memory_order_relaxed);
    if (memh != nullptr) {
        return memh;
    }
    ucs_status_t status = uct_md_mem_reg(mds_[slot].md->handle(),
                                         region.base_, region.length_,
                                         UCT_MD_MEM_ACCESS_ALL |
                                         UCT_MD_MEM_FLAG_HIDE_ERRORS, &memh);
    if (status != UCS_OK) {
        region.failed_.fetch_or(1u << slot, std::memory_order_relaxed);
        /* A program registers thousands of regions: the line would hide the
         * others. */
        const bool tell = !mds_[slot].warned && !region.may_fail_;
        ucs_log(tell ? UCS_LOG_LEVEL_WARN : UCS_LOG_LEVEL_DEBUG,
                "fuselink: %s cannot register %zu bytes at %p: %s; it does "
                "not carry this memory, and this is not said again. The limit "
                "of locked memory (ulimit -l) is the usual reason",
                mds_[slot].md->md_name().c_str(), region.length_,
                region.base_, ucs_status_string(status));
        mds_[slot].warned = mds_[slot].warned || tell;
        return nullptr;
    }
    region.handles_[slot].store(memh, std::memory_order_release);
    return memh;
}

void NicMemory::release(Region &region)
{
    for (unsigned slot = 0; slot < mds_.size(); ++slot) {
        uct_mem_h memh = region.handles_[slot].exchange(nullptr);
        if (memh != nullptr) {
            uct_md_mem_dereg(mds_[slot].md->handle(), memh);
        }
    }
}

bool NicMemory::pack(Region &region, unsigned slot, void *out)
{
    uct_mem_h memh = handle(region, slot);
    return memh != nullptr &&
           uct_md_mkey_pack(mds_[slot].md->handle(), memh, out) == UCS_OK;
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "process.h"

#include "world.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fuselink::sim {

Process::Process(World &world, unsigned index, unsigned node, uint64_t seed,
                 size_t arena, size_t gpu)
    : world_(world), index_(index), node_(node), chance_(seed, 1000 + index),
      arena_size_(arena), device_(gpu),
      arena_(static_cast<uint8_t *>(calloc(1, arena + gpu)), free)
{
}

void *Process::address(size_t offset) const
{
    return is_on_gpu(offset) ?
               reinterpret_cast<void *>(device_.base() + offset - arena_size_) :
               arena_.get() + offset;
}

bool Process::in_arena(uint64_t address) const
{
    return device_.has(address) ||
           address - reinterpret_cast<uintptr_t>(arena_.get()) <
               arena_size_ + gpu_size();
}

uint64_t Process::offset(uint64_t address) const
{
    return device_.has(address) ?
               arena_size_ + address - device_.base() :
               address - reinterpret_cast<uintptr_t>(arena_.get());
}

const uint8_t *Process::see(uint64_t address) const
{
    world_.count(Count::NearReads, is_mapped(address));
    return at(address);
}

uint8_t *Process::at(uint64_t address) const
{
    if (device_.has(address)) {
        return arena_.get() + offset(address);
    }
    Block *block = find_block(address);
    return block != nullptr ?
               block->bytes.data() + (address - block->range.base()) :
               reinterpret_cast<uint8_t *>(address);
}

bool Process::is_mapped(uint64_t address) const
{
    return std::any_of(mapped_.begin(), mapped_.end(), [&](const auto &block) {
        return block->range.has(address);
    });
}

Process::Block *Process::find_block(uint64_t address) const
{
    for (const auto *blocks : {&blocks_, &mapped_}) {
        for (const auto &block : *blocks) {
            if (block->range.has(address)) {
                return block.get();
            }
        }
    }
    return nullptr;
}

uint64_t Process::allocate_device(size_t length)
{
    blocks_.push_back(std::make_shared<Block>(length));
    return blocks_.back()->range.base();
}

void Process::free_device(uint64_t address)
{
    std::erase_if(blocks_, [&](const auto &block) {
        return block->range.base() == address;
    });
}

bool Process::map_device(const Process &other, uint64_t base)
{
    for (const auto &block : other.blocks_) {
        if (block->range.base() == base) {
            mapped_.push_back(block);
            return true;
        }
    }
    return false;
}

void Process::unmap_device(uint64_t base)
{
    auto it = std::find_if(mapped_.begin(), mapped_.end(), [&](const auto &block) {
        return block->range.base() == base;
    });
    if (it == mapped_.end()) {
        world_.journal().violate("process " + std::to_string(index_) +
                                 " unmaps memory of a GPU that it has not mapped");
        return;
    }
    mapped_.erase(it);
}

void Process::open(const void *at, size_t length)
{
    const uint64_t from = offset(reinterpret_cast<uintptr_t>(at));
    ++open_[from][from + length];
    ++spare_[from];
    --spare_[from + length];
}

void Process::close(const void *at, size_t length)
{
    const uint64_t from = offset(reinterpret_cast<uintptr_t>(at));
    auto           it   = open_.find(from);
    if (it == open_.end()) {
        return;
    }
    auto end = it->second.find(from + length);
    if (end != it->second.end() && --end->second == 0) {
        it->second.erase(end);
    }
    if (it->second.empty()) {
        open_.erase(it);
    }
}

bool Process::is_open(uint64_t address, size_t length) const
{
    const uint64_t from = offset(address);
    auto           it   = open_.upper_bound(from);
    while (it != open_.begin()) {
        --it;
        if (it->second.rbegin()->first >= from + length) {
            return true;
        }
    }
    return false;
}

void Process::check_written_once() const
{
    int64_t spare = 0;
    for (const auto &[at, change] : spare_) {
        spare += change;
        if (spare < 0) {
            world_.journal().violate("what is at " + std::to_string(at) +
                                     " of process " + std::to_string(index_) +
                                     " was written twice");
            return;
        }
    }
}

void Process::write(uint64_t address, const void *data, size_t length,
                    Hand hand, const char *by)
{
    if (length == 0 || !alive) {
        return;
    }
    if (is_device(address) && hand == Hand::Cpu) {
        world_.journal().violate(std::string(by) + " writes memory of a GPU");
        return;
    }
    if (in_arena(address) && !is_open(address, length)) {
        world_.journal().violate(
            std::string(by) + " writes " + std::to_string(length) +
            " bytes at " + std::to_string(offset(address)) +
            " of process " + std::to_string(index_) +
            ", which its user has back");
        return;
    }
    if (hand != Hand::CopyEngine && has_gpu()) {
        if (device_.has(address)) {
            world_.count(Count::DirectPuts);
        } else if (!in_arena(address)) {
            world_.count(is_mapped(address) ? Count::NearWrites : Count::SlotPuts);
        }
    }
    if (in_arena(address)) {
        --spare_[offset(address)];
        ++spare_[offset(address) + length];
    }
    memcpy(at(address), data, length);
}

Registration &Process::enter(uint64_t base, size_t length)
{
    uint64_t key;
    do {
        key = chance_.next();
    } while (key == 0 || by_key_.count(key) != 0);
    return by_key_[key] = {index_, key, base, length};
}

void Process::leave(Registration &registration)
{
    by_key_.erase(registration.key);
}

const Registration *Process::find(uint64_t key, uint64_t address,
                                  size_t length) const
{
    auto it = by_key_.find(key);
    if (it == by_key_.end() || address < it->second.base ||
        address - it->second.base > it->second.length ||
        length > it->second.length - (address - it->second.base)) {
        return nullptr;
    }
    return &it->second;
}

} // namespace fuselink::sim

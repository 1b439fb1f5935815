/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * The table of regions opens to a peer what its key names and nothing else,
 * whatever key, address and length it sends, and whatever came and went before.
 *
 * The input is a script of operations; a model says what is right.
 */

#include "memory/region_table.h"
#include "script.h"
#include "unit/host/fake_host.h"

#include <vector>

using namespace fuselink;

namespace {

constexpr size_t kMostRegions = 256;

struct Entry {
    RegionKey key;
    uint64_t  base, length;
    Region   *region;
    bool      live;
};

/* The table never looks into one. */
Region *some_region(uint64_t number)
{
    static std::max_align_t places[4];
    return number % 5 == 0 ? nullptr :
                             reinterpret_cast<Region *>(&places[number % 4]);
}

bool is_inside(const Entry &entry, uint64_t address, uint64_t length)
{
    using Wide = unsigned __int128;
    return entry.live && address >= entry.base &&
           Wide{address} + length <= Wide{entry.base} + entry.length;
}

class Run {
public:
    void step(const Operation &operation)
    {
        switch (operation.kind % 5) {
        case 0:
            add(operation);
            break;
        case 1:
            if (Entry *entry = at(operation)) {
                table_.remove(entry->key); /* again, perhaps */
                entry->live = false;
            }
            break;
        case 2: /* near the ends of a region, by its key */
            if (Entry *entry = at(operation)) {
                const uint64_t ends[] = {entry->base,
                                         entry->base + entry->length};
                look(*entry, ends[operation.number % 2] +
                                 (operation.number >> 1) % 17 - 8,
                     operation.number >> 8);
            }
            break;
        case 3: /* anywhere */
            if (Entry *entry = at(operation)) {
                look(*entry, operation.number,
                     operation.where % 3 == 0 ? 0 :
                         entry->length - operation.where);
            }
            break;
        case 4: { /* a key that somebody made up */
            const RegionKey key{operation.where % 32u, operation.number};
            for (const Entry &entry : entries_) {
                if (entry.key.key == key.key) {
                    return; /* guessed */
                }
            }
            require(!table_.contains(key, 0, 0));
            require(!table_.with_region(key, [](Region &) {}));
            if (!entries_.empty()) {
                table_.remove(key);
            }
            break;
        }
        }
        size_t live = 0;
        for (const Entry &entry : entries_) {
            live += entry.live;
        }
        require(table_.size() == live);
    }

private:
    void add(const Operation &operation)
    {
        if (entries_.size() == kMostRegions) {
            return;
        }
        Entry entry{};
        entry.base   = operation.number;
        entry.length = operation.where;
        if (operation.where % 7 == 0) {
            entry.length = ~operation.number; /* to the end of all memory */
        }
        entry.region = some_region(operation.number);
        entry.live   = true;
        entry.key    = table_.add(reinterpret_cast<const void *>(entry.base),
                                  entry.length, entry.region);
        for (const Entry &other : entries_) {
            require(!other.live || other.key.id != entry.key.id);
            require(other.key.key != entry.key.key);
        }
        require(entry.key.key != 0);
        entries_.push_back(entry);
    }

    Entry *at(const Operation &operation)
    {
        return entries_.empty() ? nullptr :
                                  &entries_[operation.where % entries_.size()];
    }

    void look(const Entry &entry, uint64_t address, uint64_t length)
    {
        require(table_.contains(entry.key, address, length) ==
                is_inside(entry, address, length));
        Region *found = nullptr;
        bool    there = table_.with_region(entry.key, [&](Region &region) {
            found = &region;
        });
        require(found == (entry.live ? entry.region : nullptr));
        require(there == (found != nullptr));
    }

    FakeHost           host_;
    RegionTable        table_{host_};
    std::vector<Entry> entries_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Script    script(data, size);
    Operation operation;
    Run       run;
    while (script.next(operation)) {
        run.step(operation);
    }
    return 0;
}

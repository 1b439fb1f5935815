/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCP_BOOK_H
#define FUSELINK_TEST_SIM_UCP_BOOK_H

#include "../fabric/world.h"
#include "plan.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fuselink::sim {

/** The tags of the programs: class, sender, and the message's number in the run. */
inline uint64_t tag_of(TagClass tags, unsigned from, unsigned number)
{
    return uint64_t{static_cast<uint8_t>(tags)} << 48 | uint64_t{from} << 32 | number;
}
/** What of it a receive of that class looks at. */
uint64_t mask_of(TagClass tags);

/**
 * What all programs of a run have sent by UCP and are owed: messages, each once and
 * those of a pair in order, and what atomic operations must have come to.
 */
class Book {
public:
    Book(World &world, const UcpPlan &plan) : world_(world), plan_(plan) {}

    /** A program sends a message now. */
    void send(unsigned number);
    /** A program posts a receive, in the place of those of its class that it gets. */
    size_t post(unsigned process, TagClass tags);
    /** What its receive has come to. */
    void receive(unsigned process, const UcpAction &action, size_t place,
                 uint64_t tag, size_t length, const uint8_t *data);
    /** An active message has come, to be put into place. Null: it cannot be. */
    const UcpMessage *arrive(unsigned process, unsigned number, size_t length);
    /** It is there. */
    void check(unsigned number, const uint8_t *data);

    void add(unsigned process, unsigned counter, uint64_t amount)
    {
        sums_[{process, counter}] += amount;
    }
    void fetch(unsigned process, unsigned counter, uint64_t before, uint64_t amount)
    {
        fetched_[{process, counter}].push_back({before, before + amount});
    }
    void write(unsigned process, unsigned cell, uint64_t value)
    {
        written_[{process, cell}].push_back(value);
    }
    void swap(unsigned process, unsigned cell, uint64_t before)
    {
        found_[{process, cell}].push_back(before);
    }

    /** Nothing that was sent has yet to come. */
    bool all_came() const { return sent_ == came_; }
    /** When everything is over: the order of messages, and counters. */
    void check_all() const;

private:
    struct Fate {
        bool sent = false, came = false;
    };
    using Place = std::pair<unsigned, unsigned>; /* of a process, its counter or cell */

    void violate(const std::string &what) const { world_.journal().violate(what); }
    void check_order() const;
    void check_counters() const;

    World         &world_;
    const UcpPlan &plan_;
    unsigned       sent_ = 0, came_ = 0;
    std::map<unsigned, Fate> fates_;
    /* By sender, receiver, class: numbers in the order of their sending. */
    std::map<std::tuple<unsigned, unsigned, TagClass>, std::vector<unsigned>> orders_;
    /* By receiver, class: what came, in the order of the receives. */
    std::map<std::pair<unsigned, TagClass>, std::vector<unsigned>> posted_;
    std::map<Place, uint64_t>                                      sums_;
    std::map<Place, std::vector<std::pair<uint64_t, uint64_t>>>    fetched_;
    std::map<Place, std::vector<uint64_t>>                         written_, found_;
};

} // namespace fuselink::sim

#endif

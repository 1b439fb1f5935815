/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "book.h"

#include "../harness/ledger.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace fuselink::sim {
namespace {

constexpr unsigned kNothing = UINT_MAX;

std::string name(const UcpMessage &message, unsigned number)
{
    return "message " + std::to_string(number) + " (" +
           std::to_string(message.from) + " to " + std::to_string(message.to) + ")";
}

} // namespace

uint64_t mask_of(TagClass tags)
{
    switch (tags) {
    case TagClass::OfPeer:
        return ~uint64_t{0} << 32;
    case TagClass::OfAny:
        return ~uint64_t{0} << 48;
    default:
        return ~uint64_t{0};
    }
}

void Book::send(unsigned number)
{
    const UcpMessage &message = plan_.messages.at(number);
    fates_[number].sent       = true;
    ++sent_;
    orders_[{message.from, message.to, message.tags}].push_back(number);
}

size_t Book::post(unsigned process, TagClass tags)
{
    auto &all = posted_[{process, tags}];
    all.push_back(kNothing);
    return all.size() - 1;
}

void Book::receive(unsigned process, const UcpAction &action, size_t place,
                   uint64_t tag, size_t length, const uint8_t *data)
{
    const auto number = static_cast<unsigned>(tag);
    auto       it     = plan_.messages.find(number);
    if (it == plan_.messages.end() || !fates_[number].sent ||
        it->second.to != process || it->second.tags != action.tags ||
        tag != tag_of(action.tags, it->second.from, number) ||
        ((tag ^ tag_of(action.tags, action.peer, action.number)) &
         mask_of(action.tags)) != 0) {
        violate("a receive of process " + std::to_string(process) +
                " gets what is not for it: tag " + std::to_string(tag));
        return;
    }
    posted_[{process, action.tags}][place] = number;
    if (it->second.length != length) {
        violate(name(it->second, number) + " has another length");
        return;
    }
    check(number, data);
}

const UcpMessage *Book::arrive(unsigned process, unsigned number, size_t length)
{
    auto it = plan_.messages.find(number);
    if (it == plan_.messages.end() || !fates_[number].sent ||
        it->second.to != process || it->second.length != length) {
        violate("an active message that nobody sent to process " +
                std::to_string(process));
        return nullptr;
    }
    return &it->second;
}

void Book::check(unsigned number, const uint8_t *data)
{
    const UcpMessage &message = plan_.messages.at(number);
    Fate             &fate    = fates_[number];
    if (fate.came) {
        violate(name(message, number) + " comes twice");
    }
    fate.came = true;
    ++came_;
    if (differs(data, message.length, message.seed) != message.length) {
        violate(name(message, number) + " has other bytes");
    }
}

void Book::check_all() const
{
    for (const auto &[number, fate] : fates_) {
        if (fate.sent && !fate.came) {
            violate(name(plan_.messages.at(number), number) + " never came");
        }
    }
    check_order();
    check_counters();
}

/* Of one sender's messages of a class the first goes to the receive that was first. */
void Book::check_order() const
{
    for (const auto &[key, sent] : orders_) {
        const auto [from, to, tags] = key;
        auto posted                 = posted_.find({to, tags});
        if (tags == TagClass::Exact || posted == posted_.end()) {
            continue;
        }
        std::vector<unsigned> got;
        for (unsigned number : posted->second) {
            if (number != kNothing && plan_.messages.at(number).from == from) {
                got.push_back(number);
            }
        }
        if (got != sent) {
            violate("messages of " + std::to_string(from) + " to " +
                    std::to_string(to) + " come in another order than they were sent");
        }
    }
}

/* Each addition counts once, and whoever fetches sees the counter as it was just before
 * his own. Each value of a cell is found once by the next who swaps, or stays. */
void Book::check_counters() const
{
    auto arena = [&](unsigned process) {
        return world_.processes()[process]->arena();
    };
    for (const auto &[place, sum] : sums_) {
        const std::string what = "counter " + std::to_string(place.second) +
                                 " of process " + std::to_string(place.first);
        uint64_t          value;
        memcpy(&value, arena(place.first) + kCountersAt + place.second * 8,
               sizeof(value));
        if (value != sum) {
            violate(what + " is " + std::to_string(value) + ", not " +
                    std::to_string(sum));
        }
        auto it = fetched_.find(place);
        if (it == fetched_.end()) {
            continue;
        }
        auto all = it->second;
        std::sort(all.begin(), all.end());
        for (size_t i = 0; i < all.size(); ++i) {
            if (all[i].second > sum || (i != 0 && all[i].first < all[i - 1].second)) {
                violate(what + ": two have fetched the same");
                break;
            }
        }
    }
    for (const auto &[place, written] : written_) {
        uint64_t last;
        memcpy(&last, arena(place.first) + kCellsAt + place.second * 8, sizeof(last));
        auto put = written;
        put.push_back(0); /* what was there first */
        auto it  = found_.find(place);
        auto got = it != found_.end() ? it->second : std::vector<uint64_t>();
        got.push_back(last);
        std::sort(put.begin(), put.end());
        std::sort(got.begin(), got.end());
        if (put != got) {
            violate("cell " + std::to_string(place.second) + " of process " +
                    std::to_string(place.first) +
                    ": what was swapped in is not what was found");
        }
    }
}

} // namespace fuselink::sim

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "slot_borrowing.h"

#include "../wire/messages.h"
#include "transfer_memory.h"

#include <algorithm>
#include <vector>

namespace fuselink {
namespace {

/* So many for each path: a chunk on its way, one that is copied to the GPU, and
 * what tells of either. */
constexpr size_t kSlotsPerPath = 8;

} // namespace

void SlotBorrowing::ask(size_t paths)
{
    const size_t want = paths * kSlotsPerPath;
    if (paths == 0 || !credits_.may_ask(want)) {
        return;
    }
    credits_.ask();
    wire::SlotAsk ask{};
    ask.header.type = static_cast<uint8_t>(wire::ControlType::SlotAsk);
    ask.want        = static_cast<uint32_t>(want);
    connection_.send_control(&ask, sizeof(ask));
}

bool SlotBorrowing::on_grant(const void *data, size_t length)
{
    auto twice = [this](uint32_t slot) {
        ucs_debug("fuselink: peer %016lx lends slot %u twice",
                  connection_.uuid(), slot);
    };
    switch (credits_.take_grant(data, length, twice)) {
    case SlotCredits::Grant::Taken:
        if (!nic_keys_) {
            nic_keys_ = std::make_shared<NicKeys>();
        }
        return true;
    case SlotCredits::Grant::Bad:
        ucs_debug("fuselink: slots of peer %016lx that cannot be",
                  connection_.uuid());
        return false;
    case SlotCredits::Grant::Unasked:
    case SlotCredits::Grant::Empty:
        return false;
    }
    return false;
}

void SlotBorrowing::on_recall(const void *data, size_t length)
{
    wire::SlotRecall recall;
    if (!wire::parse(data, length, recall)) {
        return;
    }
    credits_.recall(recall.keep);
    give_back();
}

void SlotBorrowing::give_back()
{
    std::vector<wire::SlotName> names;
    for (const SlotCredit &loan : credits_.take_surplus()) {
        names.push_back({loan.slot, loan.turn});
    }
    constexpr size_t kMost = 64; /* in a message that fits any rail */
    for (size_t at = 0; at < names.size(); at += kMost) {
        const size_t   count = std::min(kMost, names.size() - at);
        wire::SlotBack back{};
        back.header.type = static_cast<uint8_t>(wire::ControlType::SlotBack);
        back.count       = static_cast<uint32_t>(count);
        connection_.send_control(&back, sizeof(back), &names[at],
                                 count * sizeof(names[0]));
    }
}

void SlotBorrowing::request_key(const Path &path)
{
    const unsigned slot = path.remote.memory;
    if (slot < wire::kMaxRails &&
        nic_keys_->state(slot) == NicKeys::State::Unknown) {
        keys_.request_keys(credits_.region(), nic_keys_);
    }
}

uct_rkey_t SlotBorrowing::key(const Path &path)
{
    return TransferMemory::remote_key(*nic_keys_, path);
}

} // namespace fuselink

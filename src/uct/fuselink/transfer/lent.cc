/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* BulkSender: data for memory of the peer's GPU, which goes into slots of its
 * host's memory that it has lent us. */

#include "bulk.h"


#include <algorithm>

namespace fuselink {
namespace {

/* So many for each path: a chunk on its way, one that is copied to the GPU, and
 * what tells of either. */
constexpr size_t kSlotsPerPath = 8;

/* A slot that the peer may mean: not too small to be worth it. */
constexpr uint32_t kLeastSlot = 4096;

} // namespace

/* Until the answer is here, and without slots, data goes by messages. */
void BulkSender::ask_for_slots()
{
    const size_t want = paths_.size() * kSlotsPerPath;
    if (asked_slots_ || paths_.empty() || credits_.held() >= want) {
        return;
    }
    asked_slots_ = true;
    wire::SlotAsk ask{};
    ask.header.type = static_cast<uint8_t>(wire::ControlType::SlotAsk);
    ask.want        = static_cast<uint32_t>(want);
    connection_.send_control(&ask, sizeof(ask));
}

void BulkSender::on_slot_grant(const void *data, size_t length)
{
    wire::SlotGrant grant;
    if (!wire::parse(data, length, grant) || !asked_slots_) {
        return;
    }
    asked_slots_ = false;
    if (grant.count == 0) {
        return;
    }
    bool first = slots_size_ == 0;
    if (grant.size < kLeastSlot ||
        (!first && (grant.base != slots_base_ || grant.size != slots_size_ ||
                    grant.region_id != slots_region_.id ||
                    grant.region_key != slots_region_.key))) {
        ucs_debug("fuselink: slots of peer %016lx that cannot be",
                  connection_.uuid());
        return;
    }
    if (first) {
        slots_base_   = grant.base;
        slots_size_   = grant.size;
        slots_region_ = {grant.region_id, grant.region_key};
        slots_keys_   = std::make_shared<NicKeys>();
    }
    slots_keep_ = SIZE_MAX;
    wire::for_names(grant, data, length, [&](const wire::SlotName &name) {
        if (!credits_.add({name.slot, name.turn})) {
            ucs_debug("fuselink: peer %016lx lends slot %u twice",
                      connection_.uuid(), name.slot);
        }
    });
    pump();
}

void BulkSender::on_slot_recall(const void *data, size_t length)
{
    wire::SlotRecall recall;
    if (!wire::parse(data, length, recall)) {
        return;
    }
    slots_keep_ = recall.keep;
    give_back_slots();
}

/* What is more than we may keep; filled ones follow when they are empty. */
void BulkSender::give_back_slots()
{
    std::vector<wire::SlotName> names;
    for (const SlotLoan &loan : credits_.shrink(slots_keep_)) {
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

/* How a chunk for the peer's GPU would go on a path that has a put. */
BulkSender::Carry BulkSender::carry_to_gpu(Transfer &transfer,
                                           const Path &path)
{
    if (opens(transfer, path)) {
        return Carry::Hardware;
    }
    if (credits_.held() == 0) {
        return Carry::Messages;
    }
    if (path.rail.reads()) { /* both ends must be registered */
        unsigned slot = path.remote.memory;
        if (slot < wire::kMaxRails &&
            slots_keys_->state(slot) == NicKeys::State::Unknown) {
            keys_.request_keys(slots_region_, slots_keys_);
        }
        if (remote_key(*slots_keys_, path) == UCT_INVALID_RKEY ||
            !reads_source(transfer, path)) {
            return Carry::Messages;
        }
    }
    return credits_.free() != 0 ? Carry::Slot : Carry::NotYet;
}

/* Puts the chunk into a slot. What tells the peer follows on the path, in turn
 * with what goes by messages. */
ucs_status_t BulkSender::post_to_slot(Path &path, Chunk &chunk)
{
    uct_rkey_t rkey = UCT_INVALID_RKEY;
    if (path.rail.reads()) { /* carry_to_gpu() has seen that it is there */
        rkey = remote_key(*slots_keys_, path);
    }
    chunk.loan      = credits_.take();
    chunk.comp.func = on_put;
    chunk.waits     = 2;
    uint64_t     to     = slots_base_ +
                          static_cast<uint64_t>(chunk.loan.slot) * slots_size_;
    ucs_status_t status = put_chunk(chunk, to, rkey);
    if (status == UCS_OK) {
        chunk.waits = 1;
        return UCS_INPROGRESS; /* until the peer says more */
    }
    if (status == UCS_INPROGRESS) {
        ++path.on_nic;
    } else {
        credits_.untake(chunk.loan);
    }
    return status;
}

void BulkSender::on_put(uct_completion_t *comp)
{
    Chunk *chunk = reinterpret_cast<Chunk *>(comp);
    chunk->path->sender.put_done(chunk);
}

/* The slot is full: the NIC has done its part, and the memory that it read is
 * free for others. */
void BulkSender::put_done(Chunk *chunk)
{
    Path        &path   = *chunk->path;
    ucs_status_t status = chunk->comp.status;
    --path.on_nic;
    if (status != UCS_OK && !connection_.failed() && !is_calls_error(status)) {
        break_path(path, status);
        if (chunk->waits == 2) {
            chunk->waits = 1; /* the peer says that it has it, or is quiet */
            return;
        }
        status = UCS_OK; /* it has arrived, though that was not heard */
    }
    if (status != UCS_OK) {
        path.broken = true;
        connection_.fail(status);
    } else if (chunk->waits == 2) {
        chunk->left = true;
        path.ended(sched::Bytes(chunk->length), true);
        release_staged(chunk->staged);
        chunk->staged = nullptr;
    }
    slot_step(chunk, status);
    room_again();
}

/* One of the two things that a chunk in a slot waits for: its put, and the word
 * that the slot was emptied. */
void BulkSender::slot_step(Chunk *chunk, ucs_status_t status)
{
    if (chunk->status == UCS_OK) {
        chunk->status = status;
    }
    if (--chunk->waits == 0) {
        chunk->comp.status = chunk->status;
        chunk_done(chunk);
    }
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rx_staging.h"

#include <algorithm>
#include <cstring>

namespace fuselink {

void RxStaging::part(const wire::DataPart &part, char *to, const void *data,
                    size_t length, const wire::OpId *get)
{
    Queue &queue = queue_of(part);
    if ((part.place & wire::kPartFirst) || queue.empty() ||
        queue.back()->whole) {
        if (!queue.empty() && !queue.back()->whole) {
            /* A peer that begins chunks and ends none may not fill this. */
            drop_slot(*queue.back());
            queue.back()->status = UCS_ERR_IO_ERROR;
            queue.back()->whole  = true;
            answer(queue);
        }
        add(queue, part, get);
    }
    Chunk &chunk = *queue.back();
    auto  *from  = static_cast<const char *>(data);
    while (length != 0) {
        if (chunk.slot != nullptr && (chunk.to + chunk.filled != to ||
                                      chunk.filled == copies_.slots_in().size())) {
            copy(chunk);
        }
        if (chunk.slot == nullptr) {
            chunk.slot   = copies_.slots_in().take();
            chunk.to     = to;
            chunk.filled = 0;
        }
        if (chunk.slot == nullptr) { /* all are in use: part by part */
            ucs_status_t status = copies_.in(to, from, length);
            chunk.status        = status != UCS_OK ? status : chunk.status;
            landed(chunk, length);
            break;
        }
        size_t now = std::min(length, copies_.slots_in().size() - chunk.filled);
        memcpy(chunk.slot + chunk.filled, from, now);
        chunk.filled += now;
        to           += now;
        from         += now;
        length       -= now;
    }
    if (part.place & wire::kPartLast) {
        if (chunk.slot != nullptr) {
            copy(chunk);
        }
        chunk.whole = true;
        answer(queue);
    }
}

bool RxStaging::goes_on(const wire::DataPart &part, const wire::OpId *get) const
{
    auto it = open_.find({part.rail, part.remote});
    if ((part.place & wire::kPartFirst) || it == open_.end() ||
        it->second.empty() || it->second.back()->whole) {
        return true;
    }
    const Chunk &chunk = *it->second.back();
    return chunk.of_get == (get != nullptr) &&
           (get == nullptr || chunk.get == *get);
}

bool RxStaging::after(const wire::DataPart &part, ucs_status_t status)
{
    auto it = open_.find({part.rail, part.remote});
    if (it == open_.end() || it->second.empty()) {
        return false;
    }
    Queue &queue = it->second;
    if (queue.back()->number != part.chunk) {
        add(queue, part);
    }
    Chunk &chunk = *queue.back();
    drop_slot(chunk); /* with what came before */
    chunk.status = status != UCS_OK ? status : chunk.status;
    chunk.whole  = true;
    answer(queue);
    return true;
}

/* Chunks on this one's path, none if it is the first. */
RxStaging::Queue &RxStaging::queue_of(const wire::DataPart &part)
{
    return open_[{part.rail, part.remote}];
}

RxStaging::Chunk &RxStaging::add(Queue &queue, const wire::DataPart &part,
                               const wire::OpId *get)
{
    queue.push_back(std::make_unique<Chunk>());
    Chunk &chunk = *queue.back();
    chunk.number = part.chunk;
    chunk.rail   = part.rail;
    chunk.remote = part.remote;
    chunk.of_get = get != nullptr;
    chunk.get    = get != nullptr ? *get : wire::OpId{};
    return chunk;
}

void RxStaging::in_slot(const wire::DataPart &part, char *to, const FilledSlot &slot,
                       size_t length, const wire::OpId *get)
{
    Queue &queue = queue_of(part);
    Chunk &chunk = add(queue, part, get);
    chunk.whole  = true;
    chunk.lent   = slot;
    chunk.to     = to;
    chunk.filled = length;
    chunk.slot   = slot.pool != nullptr ? slot.pool->at(slot.slot) :
                                          copies_.slots_in().at(slot.slot);
    copy(chunk);
    answer(queue);
}

void RxStaging::no_copy(const wire::DataPart &part, const std::optional<FilledSlot> &slot,
                       ucs_status_t status)
{
    Queue &queue = queue_of(part);
    Chunk &chunk = add(queue, part);
    chunk.whole  = true;
    chunk.status = status;
    if (slot) {
        chunk.lent = slot;
        emptied(chunk, nullptr);
    }
    answer(queue);
}

/* Sends the slot on its way to the GPU. */
void RxStaging::copy(Chunk &chunk)
{
    auto *copy = new Copy{};
    arm(copy->comp, on_copied);
    copy->staging = this;
    copy->chunk    = &chunk;
    copy->slot     = chunk.slot;
    copy->to       = chunk.to;
    copy->length   = chunk.filled;
    chunk.slot     = nullptr;
    ++chunk.copies;
    ++copying_;
    const ucs_status_t status = begin(*copy);
    if (status != UCS_INPROGRESS) {
        copy->comp.status = status;
        end(copy);
    }
}

ucs_status_t RxStaging::begin(Copy &copy)
{
    if (NearPool *pool = pool_of(*copy.chunk)) {
        return pool->drain(copy.chunk->lent->slot, copy.to, copy.length, &copy.comp);
    }
    return copies_.begin_in(copy.to, copy.slot, copy.length, &copy.comp);
}

/* What a copy between GPUs does not do, as its owner has gone, goes over the host's memory: the
 * slot is mapped here, so it is there yet. */
bool RxStaging::copy_by_cpu(const Copy &copy)
{
    const auto buffer = std::make_unique<char[]>(copy.length); /* once in a lender's life */
    return copies_.out(buffer.get(), copy.slot, copy.length) == UCS_OK &&
           copies_.in(copy.to, buffer.get(), copy.length) == UCS_OK;
}

void RxStaging::on_copied(uct_completion_t *comp)
{
    auto     *copy     = reinterpret_cast<Copy *>(comp);
    RxStaging &staging = *copy->staging;
    Queue    &queue    = staging.open_[{copy->chunk->rail,
                                         copy->chunk->remote}];
    if (NearPool *pool = pool_of(*copy->chunk)) {
        pool->drained(copy->length, comp->status);
    }
    staging.end(copy);
    staging.answer(queue);
}

void RxStaging::end(Copy *copy)
{
    Chunk &chunk = *copy->chunk;
    if (copy->comp.status != UCS_OK &&
        !(pool_of(chunk) != nullptr && copy_by_cpu(*copy))) {
        chunk.status = copy->comp.status;
    }
    emptied(chunk, copy->slot);
    size_t length = copy->length;
    delete copy;
    --chunk.copies;
    --copying_;
    landed(chunk, length);
}

void RxStaging::emptied(Chunk &chunk, char *slot)
{
    if (!chunk.lent) {
        copies_.slots_in().give(slot);
        return;
    }
    NearPool   *pool   = pool_of(chunk);
    SlotLedger &ledger = pool != nullptr ? pool->ledger() : copies_.slots_in().ledger();
    chunk.kept         = ledger.empty(chunk.lent->slot);
    if (pool != nullptr && !chunk.kept) {
        near_.settle(*pool);
    }
}

/* Bytes of it are in the GPU's memory, or never will be. */
void RxStaging::landed(Chunk &chunk, size_t length)
{
    Get *get = find_get(chunk);
    if (get == nullptr) {
        return;
    }
    get->arriving -= length;
    if (chunk.status != UCS_OK) {
        get->status = chunk.status;
    } else if (get->status == UCS_OK) {
        chunk.counted += length;
        gets_.landed(*get, length);
        return;
    }
    if (get->named) { /* its memory may still be written by NICs */
        conn_.fail(get->status);
    } else if (get->arriving == 0) { /* ending it has nothing to wait for */
        gets_.end(*get, get->status);
    }
}

void RxStaging::answer(Queue &queue)
{
    while (!queue.empty() && queue.front()->whole &&
           queue.front()->copies == 0) {
        const Chunk &chunk = *queue.front();
        wire::ChunkAck ack{};
        ack.header.type = static_cast<uint8_t>(wire::ControlType::ChunkAck);
        ack.chunk       = chunk.number;
        ack.status      = chunk.status;
        ack.rail        = chunk.rail;
        ack.remote      = chunk.remote;
        ack.keeps_slot  = chunk.kept;
        queue.pop_front();
        if (!conn_.failed()) {
            conn_.send_control(&ack, sizeof(ack));
        }
    }
}

bool RxStaging::settle(uint8_t rail, uint8_t remote)
{
    auto it = open_.find({rail, remote});
    if (it == open_.end()) {
        return true;
    }
    Queue &queue = it->second;
    std::erase_if(queue, [this](const std::unique_ptr<Chunk> &chunk) {
        if (chunk->whole) {
            return false;
        }
        drop_slot(*chunk);
        if (chunk->copies != 0) {
            return false;
        }
        Get *get = find_get(*chunk);
        if (get != nullptr) {
            get->landed -= chunk->counted;
        }
        return true;
    });
    answer(queue);
    return queue.empty();
}

/* Bytes of it that are not being copied. */
void RxStaging::drop_slot(Chunk &chunk)
{
    if (chunk.slot == nullptr) {
        return;
    }
    emptied(chunk, chunk.slot);
    chunk.slot = nullptr;
    Get *get   = find_get(chunk);
    if (get != nullptr) {
        get->arriving -= chunk.filled;
    }
}

/* The operation of ours that it is of, if that is open. */
Get *RxStaging::find_get(const Chunk &chunk) const
{
    return chunk.of_get ? gets_.find(chunk.get) : nullptr;
}

void RxStaging::end()
{
    wait();
    for (auto &[path, queue] : open_) {
        for (auto &chunk : queue) {
            if (chunk != nullptr) {
                drop_slot(*chunk);
            }
        }
    }
}

void RxStaging::wait()
{
    if (copying_ == 0) {
        return;
    }
    /* Copies that never end keep what they write from, and these chunks. */
    if (!copies_.await([this] { return copying_ == 0; })) {
        ucs_error("fuselink: %zu copies to a GPU do not end", copying_);
        for (auto &[path, queue] : open_) {
            for (auto &chunk : queue) {
                chunk.release();
            }
        }
    }
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "bulk.h"


#include <algorithm>

namespace fuselink {

BulkSender::BulkSender(Connection &connection, Endpoints &endpoints,
                       TransferOwner &owner, KeySource &keys,
                       const RxPaths &rx, const BulkContext &context)
    : connection_(connection), endpoints_(endpoints), owner_(owner),
      keys_(keys), rx_(rx), env_(context)
{
}

BulkSender::~BulkSender()
{
    env_.room.leave(*this);
    close();
}

Chunk *BulkSender::new_chunk()
{
    if (free_chunks_ == nullptr) {
        constexpr size_t kBlock = 64;
        chunk_blocks_.push_back(std::make_unique<Chunk[]>(kBlock));
        for (size_t i = 0; i < kBlock; ++i) {
            free_chunk(&chunk_blocks_.back()[i]);
        }
    }
    Chunk *chunk = free_chunks_;
    free_chunks_ = chunk->next;
    return chunk;
}

void BulkSender::free_chunk(Chunk *chunk)
{
    chunk->next  = free_chunks_;
    free_chunks_ = chunk;
}

/* The path that a transfer prefers, all else being equal: each in turn of
 * those whose NIC is near. */
uint32_t BulkSender::next_home() const
{
    uint32_t turn = env_.rotation.next();
    uint32_t near[sched::max_paths];
    uint32_t count = 0;
    for (uint32_t i = 0; i < paths_.size(); ++i) {
        if (paths_[i]->rail.near()) {
            near[count++] = i;
        }
    }
    return count != 0 ? near[turn % count] : turn;
}

void BulkSender::start(Transfer *transfer)
{
    transfer->tail         = transfer->length;
    transfer->demand.total = sched::Bytes(transfer->length);
    transfer->demand.home  = next_home();
    transfer->queued       = true;
    planned_               = planned_ && !queue_.empty();
    env_.planning.note(transfer->length);
    queue_.push_back(transfer);
    backlog_ += transfer->length;
    if (transfer->from_gpu) {
        to_copy_.push_back(transfer);
    }
    if (transfer->to_gpu) {
        ask_for_slots();
    }
    pump();
}

/* The memory that a peer's get reads may be deregistered meanwhile. */
bool BulkSender::still_there(const Transfer &transfer, size_t offset,
                             size_t length) const
{
    auto at = reinterpret_cast<uintptr_t>(transfer.buffer);
    return transfer.kind != Transfer::Kind::ServeGet ||
           env_.regions.contains(transfer.own_region, at + offset,
                                             length);
}

void BulkSender::pump()
{
    /* Completions and pending callbacks come back here from inside
     * post_chunk(); one loop serves them all. */
    if (pumping_) {
        again_ = true;
        return;
    }
    if (!table_known_ || !waits() || connection_.failed() ||
        owner_.bulk_held()) {
        return;
    }
    /* UCX's TCP goes on with what it has received when a completion returns,
     * and aborts if the connection broke meanwhile in a call of ours. */
    if (streams_ && env_.poller.busy()) {
        later_ = true;
        connection_.defer();
        return;
    }
    pumping_ = true;
    do {
        again_ = starved_ = false;
        if (ucs_unlikely(!again_queue_.empty())) {
            copy_pieces();
        }
        if (ucs_unlikely(!to_copy_.empty())) {
            copy_ahead();
        }
        if (ucs_unlikely(!again_queue_.empty())) {
            send_again();
        }
        /* What no path that is left can carry, a get that NICs had begun which
         * are away, lets others pass. */
        for (size_t passed = 0; passed < queue_.size() && !connection_.failed();) {
            Transfer *transfer = queue_.front();
            if (!still_there(*transfer)) {
                stop(transfer, UCS_ERR_INVALID_ADDR);
                continue;
            }
            Pick pick = choose(*transfer);
            if (pick.path != nullptr) {
                passed = 0;
                post_chunk(*transfer, pick);
            } else if (pick.stuck) {
                queue_.pop_front();
                backlog_        -= transfer->rest();
                transfer->queued = false;
                if (transfer->starting) {
                    transfer->handed_over = true; /* begin() does it */
                } else {
                    hand_over(transfer);
                }
            } else if (pick.none) {
                queue_.pop_front();
                queue_.push_back(transfer);
                ++passed;
            } else {
                break;
            }
        }
    } while (again_);
    pumping_ = false;
}

/* Hands a chunk to the rail's put or get. */
ucs_status_t BulkSender::post_hardware(Transfer &transfer, Path &path,
                                       Chunk &chunk)
{
    const uint64_t remote = transfer.remote + chunk.offset;
    uct_rkey_t     rkey   = UCT_INVALID_RKEY;
    if (path.rail.reads()) { /* carry() has seen that both keys are there */
        rkey = remote_key(*transfer.keys, path);
    }
    if (transfer.kind != Transfer::Kind::Get) {
        return put_chunk(chunk, remote, rkey);
    }
    uct_iov_t iov{const_cast<char *>(data(chunk)), chunk.length,
                  own_handle(transfer, path), 0, 1};
    if (chunk.length < path.rail.control().attr().cap.get.min_zcopy) {
        return uct_ep_get_bcopy(path.ep, copy_in, iov.buffer, chunk.length,
                                remote, rkey, &chunk.comp);
    }
    return uct_ep_get_zcopy(path.ep, &iov, 1, remote, rkey, &chunk.comp);
}

/* The next bytes of the transfer, or those of a piece of it. False if the path
 * did not take them. */
bool BulkSender::post_chunk(Transfer &transfer, const Pick &pick,
                            const Piece *piece)
{
    Path         &path = *pick.path;
    const size_t  length = pick.length;
    Chunk        *chunk  = new_chunk();
    arm(chunk->comp, on_chunk);
    chunk->transfer    = &transfer;
    chunk->path        = &path;
    chunk->length      = length;
    chunk->traced      = 0;
    chunk->staged      = piece != nullptr ? piece->staged :
                         pick.direct      ? nullptr :
                                            transfer.staged;
    chunk->offset      = piece != nullptr ? piece->offset :
                         pick.direct      ? transfer.tail - length :
                                            transfer.assigned;
    chunk->tries       = piece != nullptr ? piece->tries : 0;
    chunk->sent        = 0;
    const bool traces  = env_.trace != nullptr;
    int64_t    since   = 0;
    if (ucs_unlikely(traces)) {
        since = env_.host.now().count();
    }

    /* Counted before posting: a rail that fails inside the call ends other
     * chunks of this transfer, which must not free it under our feet. */
    ++transfer.outstanding;
    ++in_flight_;
    path.posted(sched::Bytes(length));
    const bool   slot     = pick.how == Carry::Slot;
    const bool   messages = pick.how == Carry::Messages || slot;
    ucs_status_t status   = UCS_INPROGRESS;
    chunk->by_messages    = messages;
    if (messages || transfer.kind == Transfer::Kind::ServeGet) {
        chunk->number = path.chunk_number++; /* the peer sees it */
    }
    chunk->in_slot        = slot;
    chunk->left           = false;
    chunk->status         = UCS_OK;
    if (slot) {
        status = post_to_slot(path, *chunk);
    }
    if (messages && status == UCS_INPROGRESS) {
        path.parts.push_back(chunk);
    } else if (!messages) {
        ++path.on_nic;
        status = post_hardware(transfer, path, *chunk);
    }
    if (status == UCS_OK || status == UCS_INPROGRESS) {
        ++path.chunks;
        if (ucs_unlikely(traces)) {
            note_posted(transfer, *chunk, since);
        }
        env_.poller.hold(path.poll_index());
        if (chunk->staged != nullptr) {
            ++chunk->staged->users;
            if (piece == nullptr) {
                take_from(transfer, length);
            }
        }
        backlog_ -= length;
        if (ucs_likely(piece == nullptr)) {
            if (ucs_unlikely(pick.direct)) {
                take_from_end(transfer, length);
            } else {
                transfer.assigned += length;
            }
            if (transfer.assigned == transfer.tail) {
                transfer.queued = false;
                queue_.pop_front();
            }
        }
        if (messages) {
            send_parts(path);
        } else if (transfer.kind == Transfer::Kind::ServeGet) {
            ++path.serving;
            path.markers.push_back({transfer.op, length, chunk->number,
                                    path.rail.index(), {}});
            path.announced.push_back(path.markers.back());
            send_markers(path);
        }
        if (status == UCS_OK) {
            chunk_done(chunk);
        }
        return true;
    }

    path.ended(sched::Bytes(length), false);
    path.planned += static_cast<double>(length);
    path.on_nic  -= !messages;
    free_chunk(chunk);
    --in_flight_;
    const bool gone = status != UCS_ERR_NO_RESOURCE && !still_there(transfer);
    if (--transfer.outstanding == 0 && !transfer.queued) {
        finish(&transfer); /* it failed inside the call */
    }
    if (status == UCS_ERR_NO_RESOURCE) {
        block(path);
    } else if (!gone) { /* then it ends with its next turn */
        post_failed(path, status);
    }
    return false;
}

/* For the trace: what was posted, when, and what spoke for its path. */
void BulkSender::note_posted(const Transfer &transfer, Chunk &chunk,
                             int64_t since)
{
    Trace::Event event;
    event.start  = since;
    event.peer   = connection_.uuid();
    event.length = chunk.length;
    event.kind   = transfer.kind == Transfer::Kind::Put ? Trace::Kind::Put :
                   transfer.kind == Transfer::Kind::Get ? Trace::Kind::Get :
                                                          Trace::Kind::Serve;
    event.rail   = chunk.path->rail.index();
    event.remote = chunk.path->remote.index;
    event.planned = transfer.demand.planned;
    Trace::describe(seen_, event);
    chunk.traced = env_.trace->begin(event);
}

/* What could not be sent at once. False as send_markers(). */
bool BulkSender::send_waiting(Path &path)
{
    return send_markers(path) && send_parts(path);
}

/* False if the rail has no room: then the path is blocked until it has. */
bool BulkSender::send_markers(Path &path)
{
    while (!path.markers.empty() && path.usable()) {
        const wire::ChunkLanded &marker = path.markers.front();
        uint64_t header;
        static_assert(sizeof(marker.op) == sizeof(header));
        memcpy(&header, &marker.op, sizeof(header));
        /* UCT orders nothing on an endpoint without a fence, though streams
         * and reliable connections do it by themselves. */
        ucs_status_t status = uct_ep_fence(path.ep, 0);
        if (status == UCS_OK) {
            status = uct_ep_am_short(path.ep,
                                     static_cast<uint8_t>(wire::RailAm::Chunk),
                                     header, &marker.length,
                                     sizeof(marker) - sizeof(header));
        }
        if (status == UCS_ERR_NO_RESOURCE) {
            block(path);
            return false;
        }
        if (status != UCS_OK) {
            post_failed(path, status);
            return false;
        }
        path.markers.pop_front();
    }
    return path.usable();
}

void BulkSender::block(Path &path)
{
    path.blocked = true;
    if (path.hook.queued) {
        return;
    }
    if (path.hook.running) {
        path.hook.queued = true; /* stays where it is */
        return;
    }
    path.hook.req.func  = on_hook;
    ucs_status_t status = uct_ep_pending_add(path.ep, &path.hook.req, 0);
    if (status == UCS_OK) {
        path.hook.queued = true;
        return;
    }
    /* BUSY though it had no room: it will not tell when it has, because not
     * the path is full, but what all of its rail share. Asking again at once
     * would be a loop without end. */
    path.retry = retry_ = true;
    connection_.defer();
}

ucs_status_t BulkSender::on_hook(uct_pending_req_t *req)
{
    Path &path       = *reinterpret_cast<Path::Hook *>(req)->path;
    path.hook.queued  = false;
    path.hook.running = true;
    path.blocked      = false;
    path.connected    = true;
    if (path.sender.send_waiting(path)) {
        path.sender.pump();
    }
    path.hook.running = false;
    return path.hook.queued ? UCS_ERR_NO_RESOURCE : UCS_OK;
}

void BulkSender::on_chunk(uct_completion_t *comp)
{
    Chunk *chunk = reinterpret_cast<Chunk *>(comp);
    chunk->path->sender.chunk_done(chunk);
}

/* It is on its way no more, arrived or not. */
void BulkSender::off_path(Chunk &chunk, bool arrived)
{
    Path                &path = *chunk.path;
    const Transfer::Kind kind = chunk.transfer->kind;
    if (ucs_unlikely(chunk.traced != 0)) {
        env_.trace->end(chunk.traced,
                                    env_.host.now().count(), arrived);
    }
    env_.poller.release(path.poll_index());
    --in_flight_;
    path.on_nic  -= !chunk.by_messages;
    path.serving -= kind == Transfer::Kind::ServeGet && !chunk.by_messages;
    if (!chunk.left) {
        path.ended(sched::Bytes(chunk.length), arrived,
                   kind == Transfer::Kind::Get ? Direction::In :
                                                 Direction::Out);
    }
}

void BulkSender::chunk_done(Chunk *chunk)
{
    Path         &path     = *chunk->path;
    Transfer     *transfer = chunk->transfer;
    ucs_status_t  status   = chunk->comp.status;
    if (ucs_unlikely(status != UCS_OK) && lose(chunk)) {
        return;
    }
    release_staged(chunk->staged);
    off_path(*chunk, status == UCS_OK);
    bool serves = transfer->kind == Transfer::Kind::ServeGet &&
                  !chunk->by_messages;
    if (status == UCS_OK) {
        if (ucs_unlikely(path.breaks != 0) && path.usable()) {
            mended(path);
        }
        while (serves && !path.announced.empty() &&
               wire::chunk_before(path.announced.front().number,
                                  chunk->number)) {
            path.announced.pop_front();
        }
    }
    free_chunk(chunk);
    if (status != UCS_OK) {
        if (transfer->status == UCS_OK) {
            transfer->status = status;
        }
        broken_ = broken_ || serves;
        drop_unassigned(transfer);
        if (!chunk->by_messages) {
            path.broken = true;
        }
        connection_.fail(status);
    }
    --transfer->outstanding;
    if (transfer->over()) {
        finish(transfer);
    }
    if (ucs_unlikely(asked_) && in_flight_ == 0 && backlog_ == 0 &&
        !connection_.failed()) {
        ask_for_load(env_.host.now());
    }
    room_again();
}

/* Some NIC has more room. */
void BulkSender::room_again()
{
    RoomQueue &room = env_.room;
    if (ucs_likely(room.empty())) {
        pump();
    } else if (waits()) {
        room.wait(*this); /* behind those who wait already */
    }
}

/* --- the end --- */

void BulkSender::fail(ucs_status_t status)
{
    /* finish() calls the user, who may start nothing new: the peer refuses.
     * So the queue only shrinks here. */
    while (!queue_.empty()) {
        stop(queue_.front(), status);
    }
    while (!again_queue_.empty()) {
        stop(again_queue_.front().transfer, status);
    }
    for (auto &path : paths_) {
        path->markers.clear();
        abandon_parts(*path, status);
        end_lost(*path, status);
    }
}

void BulkSender::cancel_in_flight(bool all)
{
    for (auto &path : paths_) {
        if (path->ep == nullptr || path->cancelled ||
            (path->serving != 0 && !path->broken && !all)) {
            continue;
        }
        path->cancelled = cancel(path->ep);
    }
}

/* False if it has to be tried again: a queue pair that is told to give up may
 * need a place in its queue for that. */
bool BulkSender::cancel(uct_ep_h ep)
{
    return uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, nullptr) !=
           UCS_ERR_NO_RESOURCE;
}

bool BulkSender::written_in_place() const
{
    return std::any_of(paths_.begin(), paths_.end(), [](const auto &path) {
        return !path->rail.reads() && !path->rail.by_messages();
    });
}

void BulkSender::close()
{
    await_copies();
    for (auto &path : paths_) {
        uct_ep_h ep = path->link_owns() ? nullptr : path->ep;
        if (ep != nullptr) {
            endpoints_.destroy(ep); /* may end chunks of the path */
        }
        path->link.reset();
        path->ep = nullptr;
    }
    for (const Inbound &inbound : inbound_) {
        endpoints_.destroy(inbound.ep);
    }
    inbound_.clear();
}

} // namespace fuselink

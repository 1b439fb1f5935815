/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "bulk.h"

#include "../engine/engine.h"
#include "../peer/peer.h"
#include "../sched/window.h"
#include "clock.h"

#include <algorithm>

namespace fuselink {
namespace {

/* A NIC on another socket reads memory through the link between the two: a
 * microsecond more for the first bytes, as good as nothing for a chunk. So it
 * decides only where the rails are equal otherwise. */
constexpr sched::Nanos kFarOverhead(1000);

/* What other processes of the node have on the NIC. */
void consider_others(const LoadView &loads, const Rail &rail,
                     const sched::Limits &limits, sched::PathView &view)
{
    using Standing = sched::PathView::Standing;
    view.ahead     = rail.load.ahead;
    view.standing  = rail.load.standing;
    if (view.standing == Standing::Lent) {
        view.window = std::min(view.window, loads.borrow_max());
    } else if (view.standing == Standing::Taken) {
        view.window = limits.min_chunk; /* if there is no other NIC at all */
    }
}

} // namespace

BulkSender::BulkSender(Peer &peer) : peer_(peer)
{
}

BulkSender::~BulkSender()
{
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
    uint32_t turn = peer_.engine().next_home();
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
    transfer->demand.total = sched::Bytes(transfer->length);
    transfer->demand.home  = next_home();
    transfer->queued       = true;
    queue_.push_back(transfer);
    backlog_ += transfer->length;
    pump();
}

/* The memory that a get reads may be deregistered meanwhile. */
bool BulkSender::still_there(const Transfer &transfer) const
{
    auto at = reinterpret_cast<uintptr_t>(transfer.buffer);
    return peer_.engine().regions().contains(
        transfer.own_region, at + transfer.assigned,
        transfer.length - transfer.assigned);
}

void BulkSender::pump()
{
    /* Completions and pending callbacks come back here from inside
     * post_chunk(); one loop serves them all. */
    if (pumping_) {
        again_ = true;
        return;
    }
    if (!table_known_ || queue_.empty() || peer_.failed() ||
        peer_.bulk_held()) {
        return;
    }
    pumping_ = true;
    do {
        again_ = false;
        while (!queue_.empty() && !peer_.failed()) {
            Transfer *transfer = queue_.front();
            if (transfer->kind == Transfer::Kind::ServeGet &&
                !still_there(*transfer)) {
                stop(transfer, UCS_ERR_INVALID_ADDR);
                continue;
            }
            Pick pick = choose(*transfer);
            if (pick.path != nullptr) {
                post_chunk(*transfer, pick);
            } else if (pick.stuck) {
                queue_.pop_front();
                backlog_        -= transfer->length;
                transfer->queued = false;
                if (transfer->starting) {
                    transfer->handed_over = true; /* begin() does it */
                } else {
                    hand_over(transfer);
                }
            } else {
                break;
            }
        }
    } while (again_);
    pumping_ = false;
}

/* How the next chunk would go on the path, if it may. */
BulkSender::Carry BulkSender::carry(Transfer &transfer, Path &path)
{
    Rail &rail = path.rail;
    if (transfer.kind == Transfer::Kind::Get && path.by_messages) {
        return Carry::Not;
    }
    if (path.by_messages) {
        return Carry::Messages;
    }
    if (!rail.reads()) {
        return transfer.kind == Transfer::Kind::Get ? Carry::Not :
                                                      Carry::Hardware;
    }
    if (transfer.kind == Transfer::Kind::ServeGet) {
        return Carry::Messages; /* we have no key for the peer's buffer */
    }

    /* A NIC with memory protection: both ends must be registered. */
    Carry without = transfer.kind == Transfer::Kind::Get ? Carry::Not :
                                                           Carry::Messages;
    unsigned slot = path.remote.memory;
    if (slot >= wire::kMaxRails || transfer.region == nullptr) {
        return without;
    }
    if (!transfer.keys) {
        transfer.keys = std::make_shared<NicKeys>();
    }
    switch (transfer.keys->state(slot)) {
    case NicKeys::State::Known:
        break;
    case NicKeys::State::None:
        return without;
    case NicKeys::State::Unknown:
        peer_.request_keys(transfer.remote_region, transfer.keys);
        return Carry::NotYet;
    case NicKeys::State::Asked:
        return Carry::NotYet;
    }
    bool ok = transfer.keys->get(slot, rail.control().md()) !=
                  UCT_INVALID_RKEY &&
              peer_.engine().nics().handle(*transfer.region, rail.memory()) !=
                  nullptr;
    return ok ? Carry::Hardware : without;
}

/* Asks the policy for the next chunk. */
BulkSender::Pick BulkSender::choose(Transfer &transfer)
{
    Pick pick;
    const EngineSettings &settings = peer_.engine().settings();
    sched::PathView views[sched::max_paths];
    Pick            usable[sched::max_paths];
    size_t          count = 0;
    sched::Nanos    now   = now_ns();
    LoadView       &loads = peer_.engine().loads();
    loads.refresh(now);
    for (auto &candidate : paths_) {
        Path &p    = *candidate;
        if (p.state == Path::State::Out) {
            continue;
        }
        bool ready = p.state == Path::State::Ready || connect(p);
        if (peer_.failed()) {
            return pick;
        }
        Carry how = carry(transfer, p);
        if (how == Carry::Not) {
            continue;
        }
        bool open     = ready && !p.blocked && how != Carry::NotYet;
        usable[count] = {.path = &p, .how = how};
        views[count]  = sched::view_of(p.meter, now, settings.limits, open);
        if (!p.rail.near()) {
            views[count].overhead = views[count].overhead + kFarOverhead;
        }
        if (settings.fixed_weights) {
            views[count].rate   = p.weight;
            views[count].window = sched::window_for(p.weight,
                                                    settings.limits);
        } else {
            views[count].window = std::min(
                views[count].window,
                sched::window_share(p.rail.meter, now, settings.limits,
                                    p.sharers()));
            consider_others(loads, p.rail, settings.limits, views[count]);
        }
        ++count;
    }
    if (count == 0) {
        pick.stuck = transfer.assigned == 0 && !out_;
        return pick;
    }
    size_t remaining          = transfer.length - transfer.assigned;
    transfer.demand.remaining = sched::Bytes(remaining);
    transfer.demand.backlog   = sched::Bytes(backlog_ - remaining);
    sched::Choice choice = settings.policy->next({views, count},
                                                 transfer.demand,
                                                 settings.limits);
    if (!choice) {
        return pick;
    }
    pick        = usable[choice.path];
    pick.length = std::min<uint64_t>(choice.length.count(), remaining);
    if (pick.path->rail.reads() && !pick.path->by_messages) {
        const auto &cap = pick.path->rail.control().attr().cap;
        pick.length     = std::min(pick.length,
                                   transfer.kind == Transfer::Kind::Get ?
                                       cap.get.max_zcopy : cap.put.max_zcopy);
    }
    return pick;
}

/* Hands a chunk to the rail's put or get. */
ucs_status_t BulkSender::post_hardware(Transfer &transfer, Path &path,
                                       Chunk &chunk)
{
    uct_iov_t iov;
    iov.buffer = const_cast<char *>(transfer.buffer + transfer.assigned);
    iov.length = chunk.length;
    iov.memh   = UCT_MEM_HANDLE_NULL;
    iov.stride = 0;
    iov.count  = 1;

    uint64_t   remote = transfer.remote + transfer.assigned;
    uct_rkey_t rkey   = UCT_INVALID_RKEY;
    if (path.rail.reads()) { /* carry() has seen that both are there */
        rkey        = transfer.keys->get(path.remote.memory,
                                         path.rail.control().md());
        iov.memh    = peer_.engine().nics().handle(*transfer.region,
                                                   path.rail.memory());
    }
    if (transfer.kind != Transfer::Kind::Get) {
        return uct_ep_put_zcopy(path.ep, &iov, 1, remote, rkey, &chunk.comp);
    }
    if (chunk.length < path.rail.control().attr().cap.get.min_zcopy) {
        return uct_ep_get_bcopy(path.ep, copy_in, iov.buffer, chunk.length,
                                remote, rkey, &chunk.comp);
    }
    return uct_ep_get_zcopy(path.ep, &iov, 1, remote, rkey, &chunk.comp);
}

void BulkSender::post_chunk(Transfer &transfer, const Pick &pick)
{
    Path         &path = *pick.path;
    const size_t  length = pick.length;
    Chunk *chunk       = new_chunk();
    chunk->transfer    = &transfer;
    chunk->path        = &path;
    chunk->length      = length;
    chunk->comp.func   = on_chunk;
    chunk->comp.count  = 1;
    chunk->comp.status = UCS_OK;

    /* Counted before posting: a rail that fails inside the call ends other
     * chunks of this transfer, which must not free it under our feet. */
    ++transfer.outstanding;
    ++in_flight_;
    path.posted(sched::Bytes(length));
    bool messages       = pick.how == Carry::Messages;
    ucs_status_t status = UCS_INPROGRESS;
    chunk->by_messages  = messages;
    if (messages) {
        chunk->offset = transfer.assigned;
        chunk->sent   = 0;
        chunk->number = path.chunk_number++;
        path.parts.push_back(chunk);
    } else {
        status = post_hardware(transfer, path, *chunk);
    }
    if (status == UCS_OK || status == UCS_INPROGRESS) {
        ++path.chunks;
        peer_.engine().poller().hold(path.poll_index());
        transfer.assigned += length;
        backlog_          -= length;
        if (transfer.assigned == transfer.length) {
            transfer.queued = false;
            queue_.pop_front();
        }
        if (messages) {
            send_parts(path);
        } else if (transfer.kind == Transfer::Kind::ServeGet) {
            ++path.serving;
            path.markers.push_back({transfer.op, length});
            send_markers(path);
        }
        if (status == UCS_OK) {
            chunk_done(chunk);
        }
        return;
    }

    path.ended(sched::Bytes(length), false);
    free_chunk(chunk);
    --in_flight_;
    if (--transfer.outstanding == 0 && !transfer.queued) {
        finish(&transfer); /* it failed inside the call */
    }
    if (status == UCS_ERR_NO_RESOURCE) {
        block(path);
    } else {
        path.broken = true;
        peer_.fail(status);
    }
}

/* What could not be sent at once. False as send_markers(). */
bool BulkSender::send_waiting(Path &path)
{
    return send_markers(path) && send_parts(path);
}

/* False if the rail has no room: then the path is blocked until it has. */
bool BulkSender::send_markers(Path &path)
{
    while (!path.markers.empty()) {
        const wire::ChunkLanded &marker = path.markers.front();
        uint64_t header;
        static_assert(sizeof(marker.op) == sizeof(header));
        memcpy(&header, &marker.op, sizeof(header));
        uint64_t length = marker.length;
        /* UCT orders nothing on an endpoint without a fence, though streams
         * and reliable connections do it by themselves. */
        ucs_status_t status = uct_ep_fence(path.ep, 0);
        if (status == UCS_OK) {
            status = uct_ep_am_short(path.ep,
                                     static_cast<uint8_t>(wire::RailAm::Chunk),
                                     header, &length, sizeof(length));
        }
        if (status == UCS_ERR_NO_RESOURCE) {
            block(path);
            return false;
        }
        if (status != UCS_OK) {
            peer_.fail(status);
            return false;
        }
        path.markers.pop_front();
    }
    return true;
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
    peer_.engine().defer(peer_);
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

void BulkSender::chunk_done(Chunk *chunk)
{
    Path         &path     = *chunk->path;
    Transfer     *transfer = chunk->transfer;
    ucs_status_t  status   = chunk->comp.status;
    sched::Bytes  length(chunk->length);
    free_chunk(chunk);

    peer_.engine().poller().release(path.poll_index());
    --in_flight_;
    bool serves = transfer->kind == Transfer::Kind::ServeGet &&
                  !chunk->by_messages;
    path.serving -= serves;
    path.ended(length, status == UCS_OK);
    if (status != UCS_OK) {
        if (transfer->status == UCS_OK) {
            transfer->status = status;
        }
        broken_ = broken_ || serves;
        drop_unassigned(transfer);
        if (!chunk->by_messages) {
            path.broken = true;
        }
        peer_.fail(status);
    }
    --transfer->outstanding;
    if (transfer->over()) {
        finish(transfer);
    }
    pump();
}

/* --- the end --- */

void BulkSender::fail(ucs_status_t status)
{
    /* finish() calls the user, who may start nothing new: the peer refuses.
     * So the queue only shrinks here. */
    while (!queue_.empty()) {
        stop(queue_.front(), status);
    }
    for (auto &path : paths_) {
        path->markers.clear();
        abandon_parts(*path, status);
    }
}

void BulkSender::cancel_in_flight(bool all)
{
    for (auto &path : paths_) {
        if (path->ep == nullptr || path->cancelled ||
            (path->serving != 0 && !path->broken && !all)) {
            continue;
        }
        path->cancelled = true;
        uct_ep_flush(path->ep, UCT_FLUSH_FLAG_CANCEL, nullptr);
    }
}

bool BulkSender::written_in_place() const
{
    return std::any_of(paths_.begin(), paths_.end(), [](const auto &path) {
        return !path->rail.reads() && !path->rail.by_messages();
    });
}

void BulkSender::close()
{
    Engine &engine = peer_.engine();
    for (auto &path : paths_) {
        uct_ep_h ep = path->link_owns() ? nullptr : path->ep;
        if (ep != nullptr) {
            engine.destroy_lane(ep); /* may end chunks of the path */
        }
        path->link.reset();
        path->ep = nullptr;
    }
    for (const Inbound &inbound : inbound_) {
        engine.destroy_lane(inbound.ep);
    }
    inbound_.clear();
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "bulk.h"

#include "../engine/engine.h"
#include "../peer/peer.h"
#include "../sched/window.h"

#include <algorithm>

namespace fuselink {
namespace {

/* A NIC on another socket reads memory through the link between the two: a
 * microsecond more for the first bytes, as good as nothing for a chunk. So it
 * decides only where the rails are equal otherwise. */
constexpr sched::Nanos kFarOverhead(1000);

sched::Nanos now_ns()
{
    return sched::Nanos(static_cast<int64_t>(
        ucs_time_to_nsec(ucs_get_time())));
}

} // namespace

Path::Path(BulkSender &sender_, Rail &rail_, const wire::RailRecord &remote_)
    : sender(sender_), rail(rail_), remote(remote_), hook{},
      weight(remote_.bytes_per_second != 0 ?
                 std::min(rail_.speed(), double(remote_.bytes_per_second)) :
                 rail_.speed()),
      meter(weight)
{
    hook.path = this;
}

BulkSender::BulkSender(Peer &peer) : peer_(peer)
{
}

BulkSender::~BulkSender()
{
    auto drop = [](uct_pending_req_t *, void *) {};
    for (auto &path : paths_) {
        if (path->ep != nullptr) {
            uct_ep_pending_purge(path->ep, drop, nullptr);
            uct_ep_destroy(path->ep);
        }
    }
    for (uct_ep_h ep : inbound_) {
        uct_ep_destroy(ep);
    }
}

size_t BulkSender::set_table(const wire::RailTable &table)
{
    Engine &engine = peer_.engine();
    table_         = table;
    table_known_   = true;
    for (const auto &remote : table.rails) {
        Rail::Route route = Rail::route_to(remote, engine.uuid(), table.uuid);
        for (const auto &rail : engine.rails()) {
            if (paths_.size() < sched::max_paths &&
                rail->reaches(remote, route)) {
                ucs_debug("fuselink: path to %016lx: %s -> %s", peer_.uuid(),
                          rail->name().c_str(), remote.name.c_str());
                paths_.push_back(
                    std::make_unique<Path>(*this, *rail, remote));
            }
        }
    }
    return paths_.size();
}

bool BulkSender::connect(Path &path)
{
    if (path.state == Path::State::Asked) {
        return false;
    }
    const LowerIface &iface = path.rail.bulk();
    if (!peer_.engine().settings().connect_ep) {
        ucs_status_t status = iface.create_ep(path.remote.device_address,
                                              path.remote.iface_address,
                                              &path.ep);
        if (status != UCS_OK) {
            ucs_error("fuselink: cannot connect %s to rail %s of peer: %s",
                      path.rail.name().c_str(), path.remote.name.c_str(),
                      ucs_status_string(status));
            path.ep = nullptr;
            peer_.fail(status);
            return false;
        }
        path.state = Path::State::Ready;
        block(path); /* until it is connected */
        return true;
    }

    std::vector<uint8_t> address;
    ucs_status_t status = iface.create_unconnected_ep(&path.ep);
    if (status == UCS_OK) {
        status = iface.get_ep_address(path.ep, address);
    } else {
        path.ep = nullptr;
    }
    if (status != UCS_OK || address.size() > UINT8_MAX) {
        peer_.fail(status != UCS_OK ? status : UCS_ERR_UNSUPPORTED);
        return false;
    }
    path.state = Path::State::Asked;
    wire::RailAddr message{};
    message.header.type = static_cast<uint8_t>(wire::ControlType::RailAddr);
    message.rail        = path.remote.index;
    message.from        = path.rail.index();
    message.length      = static_cast<uint8_t>(address.size());
    peer_.send_control(&message, sizeof(message), address.data(),
                       address.size());
    return false;
}

void BulkSender::on_rail_address(const wire::RailAddr &message,
                                 const std::vector<uint8_t> &address)
{
    Engine &engine = peer_.engine();
    if (message.is_reply) {
        for (auto &path : paths_) {
            if (path->rail.index() == message.rail &&
                path->remote.index == message.from &&
                path->state == Path::State::Asked) {
                ucs_status_t status = path->rail.bulk().connect_ep(
                    path->ep, path->remote.device_address, address);
                if (status != UCS_OK) {
                    peer_.fail(status);
                    return;
                }
                path->state = Path::State::Ready;
                pump();
                return;
            }
        }
        ucs_debug("fuselink: unasked endpoint address for rail %d",
                  message.rail);
        return;
    }

    auto remote = std::find_if(table_.rails.begin(), table_.rails.end(),
                               [&](const wire::RailRecord &r) {
                                   return r.index == message.from;
                               });
    if (message.rail >= engine.rails().size() ||
        remote == table_.rails.end() ||
        inbound_.size() >= sched::max_paths) {
        ucs_debug("fuselink: endpoint address for an unknown rail");
        return;
    }
    /* The transport trusts the address that it is given to be one of its
     * own kind: only a pair that could be a path gets that far. */
    const Rail &rail = *engine.rails()[message.rail];
    if (!rail.reaches(*remote, Rail::route_to(*remote, engine.uuid(),
                                              table_.uuid))) {
        ucs_debug("fuselink: endpoint address for rails that are no path");
        return;
    }
    if (!engine.settings().connect_ep) {
        ucs_error("fuselink: peer %016lx connects endpoint to endpoint and "
                  "this process does not: UCX_FUSELINK_CONNECT must be the "
                  "same on both sides", peer_.uuid());
        peer_.fail(UCS_ERR_UNSUPPORTED);
        return;
    }
    const LowerIface &iface = rail.control();
    std::vector<uint8_t> own;
    uct_ep_h ep;
    ucs_status_t status = iface.create_unconnected_ep(&ep);
    if (status != UCS_OK) {
        peer_.fail(status);
        return;
    }
    inbound_.push_back(ep);
    status = iface.get_ep_address(ep, own);
    if (status == UCS_OK) {
        status = iface.connect_ep(ep, remote->device_address, address);
    }
    if (status != UCS_OK || own.size() > UINT8_MAX) {
        peer_.fail(status != UCS_OK ? status : UCS_ERR_UNSUPPORTED);
        return;
    }
    wire::RailAddr reply{};
    reply.header.type = static_cast<uint8_t>(wire::ControlType::RailAddr);
    reply.rail        = message.from;
    reply.from        = message.rail;
    reply.is_reply    = 1;
    reply.length      = static_cast<uint8_t>(own.size());
    peer_.send_control(&reply, sizeof(reply), own.data(), own.size());
}

BulkSender::Chunk *BulkSender::new_chunk()
{
    if (free_chunks_ == nullptr) {
        constexpr size_t kBlock = 64;
        chunk_blocks_.push_back(std::make_unique<Chunk[]>(kBlock));
        for (size_t i = 0; i < kBlock; ++i) {
            Chunk *chunk = &chunk_blocks_.back()[i];
            chunk->next  = free_chunks_;
            free_chunks_ = chunk;
        }
    }
    Chunk *chunk = free_chunks_;
    free_chunks_ = chunk->next;
    return chunk;
}

Transfer *BulkSender::new_transfer()
{
    if (free_transfers_.empty()) {
        transfer_pool_.push_back(std::make_unique<Transfer>());
        return transfer_pool_.back().get();
    }
    Transfer *transfer = free_transfers_.back();
    free_transfers_.pop_back();
    *transfer = Transfer{};
    return transfer;
}

void BulkSender::free_transfer(Transfer *transfer)
{
    free_transfers_.push_back(transfer);
}

void BulkSender::put(const void *buffer, size_t length, uint64_t remote,
                     uct_completion_t *comp)
{
    Transfer *transfer = new_transfer();
    transfer->kind     = Transfer::Kind::Put;
    transfer->buffer   = static_cast<const char *>(buffer);
    transfer->remote   = remote;
    transfer->length   = length;
    transfer->comp     = comp;
    transfer->epoch    = peer_.begin_op();
    start(transfer);
}

void BulkSender::serve_get(const void *buffer, size_t length, uint64_t remote,
                           const wire::OpId &op)
{
    Transfer *transfer = new_transfer();
    transfer->kind     = Transfer::Kind::ServeGet;
    transfer->buffer   = static_cast<const char *>(buffer);
    transfer->remote   = remote;
    transfer->length   = length;
    transfer->op       = op;
    start(transfer);
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
    const EngineSettings &settings = peer_.engine().settings();
    sched::PathView views[sched::max_paths];
    do {
        again_ = false;
        while (!queue_.empty() && !peer_.failed()) {
            Transfer *transfer = queue_.front();
            sched::Nanos now   = now_ns();
            for (size_t i = 0; i < paths_.size(); ++i) {
                Path &path = *paths_[i];
                bool open  = (path.state == Path::State::Ready ||
                              connect(path)) && !path.blocked;
                views[i] = sched::view_of(path.meter, now, settings.limits,
                                          open);
                if (!path.rail.near()) {
                    views[i].overhead = views[i].overhead + kFarOverhead;
                }
                if (settings.fixed_weights) {
                    views[i].rate   = path.weight;
                    views[i].window = sched::window_for(path.weight,
                                                        settings.limits);
                }
            }
            size_t remaining = transfer->length - transfer->assigned;
            transfer->demand.remaining = sched::Bytes(remaining);
            transfer->demand.backlog   = sched::Bytes(backlog_ - remaining);
            sched::Choice choice =
                settings.policy->next({views, paths_.size()},
                                      transfer->demand, settings.limits);
            if (!choice) {
                break;
            }
            size_t length = std::min<uint64_t>(choice.length.count(),
                                               remaining);
            post_chunk(*transfer, *paths_[choice.path], length);
        }
    } while (again_);
    pumping_ = false;
}

bool BulkSender::post_chunk(Transfer &transfer, Path &path, size_t length)
{
    Chunk *chunk       = new_chunk();
    chunk->transfer    = &transfer;
    chunk->path        = &path;
    chunk->length      = length;
    chunk->comp.func   = on_chunk;
    chunk->comp.count  = 1;
    chunk->comp.status = UCS_OK;

    uct_iov_t iov;
    iov.buffer = const_cast<char *>(transfer.buffer + transfer.assigned);
    iov.length = length;
    iov.memh   = UCT_MEM_HANDLE_NULL;
    iov.stride = 0;
    iov.count  = 1;

    /* Counted before posting: a rail that fails inside the call ends other
     * chunks of this transfer, which must not free it under our feet. */
    ++transfer.outstanding;
    path.meter.on_post(now_ns(), sched::Bytes(length));
    ucs_status_t status = uct_ep_put_zcopy(
        path.ep, &iov, 1, transfer.remote + transfer.assigned,
        UCT_INVALID_RKEY, &chunk->comp);
    if (status == UCS_OK || status == UCS_INPROGRESS) {
        ++path.chunks;
        peer_.engine().poller().hold(path.rail.poll_bulk_index());
        transfer.assigned += length;
        backlog_          -= length;
        if (transfer.assigned == transfer.length) {
            transfer.queued = false;
            queue_.pop_front();
        }
        if (transfer.kind == Transfer::Kind::ServeGet) {
            path.markers.push_back({transfer.op, length});
            send_markers(path);
        }
        if (status == UCS_OK) {
            chunk_done(chunk);
        }
        return true;
    }

    path.meter.on_abandon(now_ns(), sched::Bytes(length));
    chunk->next  = free_chunks_;
    free_chunks_ = chunk;
    if (--transfer.outstanding == 0 && !transfer.queued) {
        finish(&transfer); /* it failed inside the call */
    }
    if (status == UCS_ERR_NO_RESOURCE) {
        block(path);
    } else {
        peer_.fail(status);
    }
    return false;
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
    path.hook.req.func  = on_hook;
    ucs_status_t status = uct_ep_pending_add(path.ep, &path.hook.req, 0);
    if (status == UCS_OK) {
        path.hook.queued = true;
        return;
    }
    /* BUSY: there is room after all. */
    path.blocked   = false;
    path.connected = true;
    again_         = true;
    if (!path.markers.empty()) {
        send_markers(path);
    }
}

ucs_status_t BulkSender::on_hook(uct_pending_req_t *req)
{
    Path &path       = *reinterpret_cast<Path::Hook *>(req)->path;
    path.hook.queued = false;
    path.blocked     = false;
    path.connected   = true;
    if (path.sender.send_markers(path)) {
        path.sender.pump();
    }
    return UCS_OK;
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
    chunk->next  = free_chunks_;
    free_chunks_ = chunk;

    peer_.engine().poller().release(path.rail.poll_bulk_index());
    if (status == UCS_OK) {
        path.meter.on_complete(now_ns(), length);
    } else {
        path.meter.on_abandon(now_ns(), length);
        if (transfer->status == UCS_OK) {
            transfer->status = status;
        }
        drop_unassigned(transfer);
        peer_.fail(status);
    }
    if (--transfer->outstanding == 0 &&
        transfer->assigned == transfer->length) {
        finish(transfer);
    }
    pump();
}

void BulkSender::drop_unassigned(Transfer *transfer)
{
    if (!transfer->queued) {
        return;
    }
    backlog_          -= transfer->length - transfer->assigned;
    transfer->assigned = transfer->length;
    transfer->queued   = false;
    queue_.erase(std::find(queue_.begin(), queue_.end(), transfer));
}

void BulkSender::finish(Transfer *transfer)
{
    Transfer done = *transfer;
    free_transfer(transfer);
    if (done.kind == Transfer::Kind::Put) {
        if (done.comp != nullptr) {
            uct_invoke_completion(done.comp, done.status);
        }
        peer_.end_op(done.epoch);
    }
    /* A served get needs no message here: its chunks were announced, and if
     * one was not, the peer sees this connection fail as we do. */
}

void BulkSender::fail(ucs_status_t status)
{
    /* finish() calls the user, who may start nothing new: the peer refuses.
     * So the queue only shrinks here. */
    while (!queue_.empty()) {
        Transfer *transfer = queue_.front();
        if (transfer->status == UCS_OK) {
            transfer->status = status;
        }
        drop_unassigned(transfer);
        if (transfer->outstanding == 0) {
            finish(transfer);
        }
    }
    for (auto &path : paths_) {
        path->markers.clear();
        if (path->ep != nullptr) {
            uct_ep_flush(path->ep, UCT_FLUSH_FLAG_CANCEL, nullptr);
        }
    }
}

bool BulkSender::never_used(uct_ep_h ep) const
{
    for (const auto &path : paths_) {
        if (path->ep == ep) {
            return !path->connected && path->chunks == 0;
        }
    }
    return false;
}

bool BulkSender::drop_path(uct_ep_h ep)
{
    auto it = std::find_if(paths_.begin(), paths_.end(),
                           [&](const auto &path) { return path->ep == ep; });
    if (it == paths_.end()) {
        return !paths_.empty();
    }
    ucs_warn("fuselink: rail %s does not reach %s of peer %016lx: left out",
             (*it)->rail.name().c_str(), (*it)->remote.name.c_str(),
             peer_.uuid());
    uct_ep_pending_purge(ep, [](uct_pending_req_t *, void *) {}, nullptr);
    uct_ep_destroy(ep);
    paths_.erase(it);
    if (paths_.empty()) {
        return false;
    }
    pump();
    return true;
}

bool BulkSender::owns(uct_ep_h ep) const
{
    for (const auto &path : paths_) {
        if (path->ep == ep) {
            return true;
        }
    }
    return std::find(inbound_.begin(), inbound_.end(), ep) != inbound_.end();
}

} // namespace fuselink

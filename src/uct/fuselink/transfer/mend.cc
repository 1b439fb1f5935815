/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* BulkSender: a path that breaks.
 *
 * Its bytes go another way, but not before the peer has confirmed that nothing
 * of the old connection will be executed any more: a late copy of them would hit
 * memory that its user has got back by then. So
 *
 *     Broken   what the NIC still has ends, and our end of the connection
 *     Told     the peer was told, and ends its end
 *     Resting  it has answered: what was lost is sent again. The path is
 *              connected again after a while, when it is wanted
 *
 * See "Failures" in docs/architecture.md. */

#include "bulk.h"


#include <algorithm>

namespace fuselink {
namespace {

/* For completions of a connection that was told to give up. */
constexpr sched::Nanos kEnd = sched::Nanos::millis(1000);
/* The first rest, ms. Each is twice as long as the one before, up to 4 s. */
constexpr int64_t  kRest        = 500;
constexpr unsigned kMostDoubles = 3;
/* A peer has failed when all paths have broken so often in a row. */
constexpr unsigned kMostBreaks = 4;

} // namespace

/* Errors of a call, which say nothing of the connection. */
bool BulkSender::is_calls_error(ucs_status_t status)
{
    return status == UCS_ERR_INVALID_PARAM || status == UCS_ERR_NO_MEMORY ||
           status == UCS_ERR_UNSUPPORTED || status == UCS_ERR_EXCEEDS_LIMIT;
}

/* It does not connect. The others go on without it; one that has worked before
 * is tried again. */
void BulkSender::not_connected(Path &path, ucs_status_t status)
{
    if (path.breaks == 0) {
        leave_out(path);
    } else {
        break_path(path, status);
    }
}

/* The rail did not take what it was given. */
void BulkSender::post_failed(Path &path, ucs_status_t status)
{
    if (is_calls_error(status)) {
        path.broken = true;
        connection_.fail(status);
    } else {
        break_path(path, status);
    }
}

void BulkSender::break_path(Path &path, ucs_status_t status)
{
    if (!path.usable() || connection_.failed()) {
        return;
    }
    path.broken = true;
    ucs_debug("fuselink: path to %016lx breaks: %s -> %s: %s", connection_.uuid(),
              path.rail.name().c_str(), path.remote.name.c_str(),
              ucs_status_string(status));
    path.state   = Path::State::Broken;
    path.why     = status;
    path.planned = 0;
    path.blocked = path.retry = false;
    path.until   = env_.host.now() + kEnd;
    ++mending_;
    planned_ = false;
    connection_.defer();
}

/* Keeps a chunk that ended with an error for another path. */
bool BulkSender::lose(Chunk *chunk)
{
    Path &path = *chunk->path;
    if (connection_.failed() || chunk->by_messages ||
        is_calls_error(chunk->comp.status)) {
        return false;
    }
    break_path(path, chunk->comp.status);
    off_path(*chunk, false);
    path.lost.push_back(chunk);
    return true;
}

/* False if the peer has to be given up. */
bool BulkSender::mend()
{
    sched::Nanos now = env_.host.now();
    for (auto &path : paths_) {
        mend(*path, now);
    }
    if (std::none_of(paths_.begin(), paths_.end(), [](const auto &path) {
            return path->state == Path::State::Ready ||
                   path->breaks < kMostBreaks;
        })) {
        ucs_warn("fuselink: no rail reaches peer %016lx any more: each of its "
                 "%zu paths has failed %u times in a row", connection_.uuid(),
                 paths_.size(), kMostBreaks);
        return false;
    }
    if (starved_ && waits() && !connection_.failed() &&
        std::any_of(paths_.begin(), paths_.end(), [](const auto &path) {
            return path->state == Path::State::Resting;
        })) {
        revive(now); /* nobody else would look at the clock */
        pump();
        connection_.defer();
    }
    return true;
}

void BulkSender::mend(Path &path, sched::Nanos now)
{
    if (connection_.failed()) {
        return;
    }
    if (path.state != Path::State::Broken) {
        return; /* the peer's word, or the next transfer, brings it on */
    }
    uct_ep_h ep = path.ep == nullptr && path.link ? path.link->ep() : path.ep;
    if (ep != nullptr && !path.cancelled) {
        path.cancelled = cancel(ep);
        if (path.cancelled) {
            /* The call may take long itself. */
            path.until = env_.host.now() + kEnd;
        }
    }
    if (path.on_nic == 0 || now > path.until) {
        take_last(path);
        if (!connection_.failed()) {
            tear_down(path);
        }
    } else {
        connection_.defer();
    }
}

/* Nothing comes from or goes to this end any more. */
void BulkSender::tear_down(Path &path)
{
    uct_ep_h ep = path.link_owns() ? nullptr : path.ep;
    path.ep     = nullptr;
    if (ep != nullptr) {
        endpoints_.destroy(ep); /* may lose chunks */
    }
    if (path.link) {
        path.link->reset();
    }
    path.hook.queued = false;
    path.state       = Path::State::Told;
    /* The answer may take long, and others need the slots: what is sent again is
     * copied again. */
    for (auto *list : {&path.lost, &path.parts, &path.unacked}) {
        for (Chunk *chunk : *list) {
            release_staged(chunk->staged);
            chunk->staged = nullptr;
        }
    }
    wire::PathBroken message{};
    message.header.type = static_cast<uint8_t>(wire::ControlType::PathBroken);
    message.rail        = path.remote.index;
    message.from        = path.rail.index();
    message.next        = path.chunk_number;
    connection_.send_control(&message, sizeof(message));
    room_again();
}

void BulkSender::on_path_quiet(const wire::PathQuiet &message)
{
    auto it = std::find_if(paths_.begin(), paths_.end(), [&](const auto &path) {
        return path->rail.index() == message.rail &&
               path->remote.index == message.from &&
               path->state == Path::State::Told;
    });
    if (it == paths_.end()) {
        ucs_debug("fuselink: peer %016lx is quiet on a path that is whole",
                  connection_.uuid());
        return;
    }
    Path &path = **it;
    for (const auto *list : {&path.unacked, &path.parts}) {
        for (const Chunk *chunk : *list) {
            if (chunk->in_slot && chunk->waits != 1) {
                ucs_error("fuselink: rail %s does not end a put of a connection "
                          "that is gone", path.rail.name().c_str());
                connection_.fail(UCS_ERR_IO_ERROR);
                return;
            }
        }
    }
    /* Only now: a peer that has gone does not answer, and needs no word for
     * each of its connections. */
    if (path.breaks == 0) {
        ucs_warn("fuselink: rail %s to %s of peer %016lx has failed (%s): its "
                 "data goes over the other rails until it connects again",
                 path.rail.name().c_str(), path.remote.name.c_str(),
                 connection_.uuid(), ucs_status_string(path.why));
    }
    path.state = Path::State::Resting;
    path.until = env_.host.now() +
                 sched::Nanos::millis(kRest
                                      << std::min(path.breaks, kMostDoubles));
    path.breaks += path.breaks < kMostBreaks;

    std::deque<Chunk *> lost;
    lost.swap(path.lost);
    for (auto *list : {&path.unacked, &path.parts}) {
        for (Chunk *chunk : *list) {
            off_path(*chunk, false);
            lost.push_back(chunk);
            if (chunk->in_slot) {
                credits_.untake(chunk->loan); /* the peer has not looked */
            }
        }
        list->clear();
    }
    give_back_slots(); /* that were to be, when they were empty */
    auto is_served = [](const Chunk &chunk) {
        return chunk.transfer->kind == Transfer::Kind::ServeGet &&
               !chunk.by_messages;
    };
    /* Bytes that are in place, of which the peer has not heard. */
    for (const wire::ChunkLanded &marker : path.announced) {
        if (wire::chunk_before(marker.number, message.seen) ||
            std::any_of(lost.begin(), lost.end(), [&](const Chunk *chunk) {
                return is_served(*chunk) && chunk->number == marker.number;
            })) {
            continue;
        }
        wire::Landed landed{};
        landed.header.type = static_cast<uint8_t>(wire::ControlType::Landed);
        landed.op          = marker.op;
        landed.length      = marker.length;
        connection_.send_control(&landed, sizeof(landed));
    }
    path.announced.clear();
    path.markers.clear();
    for (Chunk *chunk : lost) {
        Transfer *transfer  = chunk->transfer;
        bool      announced = is_served(*chunk) &&
                              wire::chunk_before(chunk->number, message.seen);
        if (transfer->status == UCS_OK && !announced) {
            requeue(chunk);
            continue;
        }
        release_staged(chunk->staged);
        free_chunk(chunk);
        --transfer->outstanding;
        if (transfer->over()) {
            finish(transfer);
        }
    }
    connection_.defer();
    pump();
}

/* Paths that have rested may be connected again. Not before the peer has our answer,
 * if the pair broke at both ends: it takes no question until then, and a new pair
 * would keep us from being quiet. */
void BulkSender::revive(sched::Nanos now)
{
    for (auto &path : paths_) {
        if (path->state == Path::State::Resting && now >= path->until &&
            !rx_.owes_quiet(path->remote.index, path->rail.index())) {
            path->state     = Path::State::Idle;
            path->cancelled = path->broken = path->connected = false;
            path->chunks    = 0;
            --mending_;
        }
    }
}

void BulkSender::mended(Path &path)
{
    path.breaks = 0;
    ucs_info("fuselink: rail %s to %s of peer %016lx carries data again",
             path.rail.name().c_str(), path.remote.name.c_str(), connection_.uuid());
}

void BulkSender::on_peer_broke(uint8_t own, uint8_t remote)
{
    for (auto &path : paths_) {
        if (path->rail.index() == own && path->remote.index == remote &&
            path->link && path->link->ep() != nullptr) {
            break_path(*path, UCS_ERR_CONNECTION_RESET);
        }
    }
}

bool BulkSender::torn_down(uint8_t own, uint8_t remote) const
{
    return std::none_of(paths_.begin(), paths_.end(), [&](const auto &path) {
        return path->rail.index() == own && path->remote.index == remote &&
               path->link && path->link->ep() != nullptr;
    });
}

} // namespace fuselink

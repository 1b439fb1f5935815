/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "path_recovery.h"

#include "chunk.h"

#include <algorithm>
#include <cstring>

namespace fuselink {
namespace {

/* For completions of a connection that was told to give up. */
constexpr sched::Nanos kEnd = sched::Nanos::millis(1000);
/* Of a connection that has failed, what is not acknowledged for so long is ended: looked at
 * so often. */
constexpr sched::Nanos kSilentEnd = sched::Nanos::millis(500);
constexpr sched::Nanos kLook      = sched::Nanos::millis(50);
/* The first backoff, ms. Each is twice as long as the one before, up to 4 s. */
constexpr int64_t  kBackoff     = 500;
constexpr unsigned kMostDoubles = 3;
/* Between two tries of a silent wire. */
constexpr sched::Nanos kPause = sched::Nanos::millis(100);
/* From so many breaks in a row nobody waits for a path. */
constexpr unsigned kOftenBroken = 2;
/* A peer has failed when all paths have broken so often in a row. */
constexpr unsigned kMostBreaks = 4;

Path::Recovery::Use use_of(const Path &path)
{
    using Use = Path::Recovery::Use;
    return !path.pair || path.chunks != 0 ? Use::Ours :
           path.pair->ready()             ? Use::None :
                                            Use::Unready;
}

/* False if it has to be tried again: a queue pair that is told to give up may
 * need a place in its queue for that. */
bool cancel(uct_ep_h ep)
{
    return uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, nullptr) !=
           UCS_ERR_NO_RESOURCE;
}

} // namespace

void PathRecovery::probe(Path &path) const
{
    wire::ChunkLanded nothing{};
    uint64_t          first;
    memcpy(&first, &nothing, sizeof(first));
    uct_ep_am_short(path.ep, static_cast<uint8_t>(wire::RailAm::Chunk), first,
                    reinterpret_cast<char *>(&nothing) + sizeof(first),
                    sizeof(nothing) - sizeof(first));
}

void PathRecovery::post_failed(Path &path, ucs_status_t status)
{
    if (is_calls_error(status)) {
        path.recovery.broken = true;
        connection_.fail(status);
    } else {
        break_path(path, status);
        path.recovery.use  = Path::Recovery::Use::Ours;
        path.recovery.ours = true;
    }
}

void PathRecovery::break_path(Path &path, ucs_status_t status)
{
    if (!path.usable() || connection_.failed()) {
        return;
    }
    path.recovery.broken = true;
    ucs_debug("fuselink: path to %016lx breaks: %s -> %s: %s",
              connection_.uuid(), path.rail.name().c_str(),
              path.remote.name.c_str(), ucs_status_string(status));
    path.health.broke(connection_.uuid(), status, path.has_link(),
                      path.recovery.alone ||
                          (path.rail.traits().stream && host_.now() < away_until_),
                      host_.now());
    path.state          = Path::State::Broken;
    path.planned        = 0;
    path.room.blocked   = path.room.retry = false;
    path.recovery.why   = status;
    path.recovery.use   = use_of(path);
    path.recovery.ours  = path.recovery.ours ||
                          path.recovery.use == Path::Recovery::Use::Ours;
    path.recovery.until = host_.now() + kEnd;
    ++broken_;
    ended_ = ended_ || (path.rail.traits().stream && !path.recovery.silent &&
                        path.has_link());
    paths_.drop_plan();
    connection_.defer();
}

void PathRecovery::break_silent(Path &path, bool by_chance)
{
    if (path.usable()) {
        path.recovery.silent = true;
        path.recovery.alone  = by_chance;
        break_path(path, UCS_ERR_ENDPOINT_TIMEOUT);
    }
}

void PathRecovery::leave_behind(Path &path)
{
    if (path.usable()) {
        path.recovery.left_behind = true;
        break_silent(path, true);
    }
}

bool PathRecovery::advance()
{
    for (auto &path : paths_) {
        advance(*path);
    }
    if (std::none_of(paths_.begin(), paths_.end(), [](const auto &path) {
            return path->state == Path::State::Ready ||
                   path->recovery.in_a_row() < kMostBreaks;
        })) {
        ucs_warn("fuselink: no rail reaches peer %016lx any more: each of its "
                 "%zu paths has failed %u times in a row", connection_.uuid(),
                 paths_.size(), kMostBreaks);
        return false;
    }
    return true;
}

void PathRecovery::advance(Path &path)
{
    if (connection_.failed()) {
        return;
    }
    if (path.state != Path::State::Broken) {
        return; /* the peer's answer, or the next transfer, brings it on */
    }
    uct_ep_h ep = path.ep == nullptr && path.pair ? path.pair->ep() : path.ep;
    if (ep != nullptr && !path.recovery.cancelled) {
        /* What the kernel has still to send would arrive late, or keep its buffer
         * for minutes. */
        if (path.rail.traits().stream) {
            learn_address(path, ep);
            host_.streams().end(ep, path.rail.carrier);
        }
        path.recovery.cancelled = cancel(ep);
        if (path.recovery.cancelled) {
            /* The call may take long itself. */
            path.recovery.until = host_.now() + kEnd;
        }
    }
    if (path.on_nic == 0 || host_.now() > path.recovery.until) {
        drain_completions(path);
        if (!connection_.failed()) {
            tear_down(path);
        }
    } else {
        connection_.defer();
    }
}

void PathRecovery::learn_address(Path &path, uct_ep_h ep)
{
    SocketAddress there;
    if (path.stream.here.family == 0) {
        host_.streams().addresses(ep, path.stream.here, there);
    }
}

/* Nothing comes from or goes to this end any more. */
void PathRecovery::tear_down(Path &path)
{
    uct_ep_h ep = path.pair_owns() ? nullptr : path.ep;
    path.ep     = nullptr;
    path.stream.keeps = Path::Keeps::Kernel; /* the next one's, which knows nothing */
    if (ep != nullptr) {
        endpoints_.destroy(ep); /* may lose chunks */
    }
    if (path.pair) {
        path.pair->reset();
    }
    path.room.hook.queued = false;
    path.state            = Path::State::Draining;
    paths_.forget_notices(path);
    listener_.on_torn_down(path);
    wire::PathBroken message{};
    message.header.type = static_cast<uint8_t>(wire::ControlType::PathBroken);
    message.rail        = path.remote.index;
    message.from        = path.rail.index();
    message.next        = path.chunk_number;
    /* Of a wire over which others still hear something only the path is given up. */
    if (path.recovery.silent && !path.recovery.alone) {
        if (!path.stream.was_up) {
            message.silent = wire::kSilentAtFirst;
        } else if (path.stream.wire->evidence.silent()) {
            message.silent = wire::kSilentSince;
        }
    }
    message.unheard     = path.recovery.lost_its_wire();
    message.family      = path.stream.here.family;
    message.port        = path.stream.here.port;
    std::copy(path.stream.here.ip.begin(), path.stream.here.ip.end(), message.ip);
    path.stream.here           = {};
    connection_.send_control(&message, sizeof(message));
    pump_.room_again();
}

/* Every put of the path into slots has ended, as those of a connection do that is
 * gone. */
bool PathRecovery::puts_ended(const Path &path) const
{
    bool ended = true;
    auto look  = [&](const Chunk &chunk) {
        ended = ended && (!chunk.in_slot || chunk.waits == 1);
    };
    path.unacked.for_each(look);
    for (const Chunk *chunk : path.parts) {
        look(*chunk);
    }
    return ended;
}

void PathRecovery::on_path_quiet(const wire::PathQuiet &message)
{
    Path *found = paths_.find(message.rail, message.from, [](const Path &path) {
        return path.state == Path::State::Draining;
    });
    if (found == nullptr) {
        ucs_debug("fuselink: peer %016lx is quiet on a path that is whole",
                  connection_.uuid());
        return;
    }
    Path &path = *found;
    if (!puts_ended(path)) {
        ucs_error("fuselink: rail %s does not end a put of a connection "
                  "that is gone", path.rail.name().c_str());
        connection_.fail(UCS_ERR_IO_ERROR);
        return;
    }
    /* Only now: a peer that has gone does not answer, and needs no line for
     * each of its connections. */
    path.health.drained(path.has_link(),
                        !path.lost.empty() || !path.unacked.empty() ||
                            !path.parts.empty(),
                        host_.now() < away_until_, host_.now());
    begin_backoff(path);
    listener_.on_drained(path, message.seen);
    connection_.defer();
    pump_.pump();
}

/* A silent wire is tried soon again, by a new connection each time: a kernel asks for the
 * same one again after 1, 3 and 7 s, and a cable may be back in between. Such a try that
 * nobody answers is no break of its own while the rest lasts, and what an unanswered
 * connection takes, that the path has had before. */
void PathRecovery::begin_backoff(Path &path)
{
    const sched::Nanos now      = host_.now();
    using Use                   = Path::Recovery::Use;
    Path::Recovery    &recovery = path.recovery;
    const bool         tried    = recovery.silent && !path.room.connected &&
                       path.rail.traits().stream;
    path.state   = Path::State::Backoff;
    recovery.out = true;
    if ((recovery.unlinked && path.has_link()) || recovery.left_behind) {
        retry(path); /* its link is back by now, or its wire was never given up */
        return;
    }
    if (!tried || now >= recovery.rests_until) {
        recovery.rests_until = now +
                               sched::Nanos::millis(
                                   kBackoff << std::min(recovery.in_a_row(),
                                                        kMostDoubles)) +
                               (tried ? StreamWatch::kUnanswered :
                                        sched::Nanos());
        /* Else it is for the peer to count: who only receives over a pair, or is read
         * from, never sees that it carries again. */
        unsigned &count = recovery.use == Use::Unready ? recovery.vain_breaks :
                                                         recovery.breaks;
        count += recovery.use != Use::None && count < kMostBreaks;
    }
    recovery.until = tried ? std::min(recovery.rests_until, now + kPause) :
                             recovery.rests_until;
    path.health.rests(connection_.uuid(), recovery.until, now);
}

/* Of the connections over a silent wire one tries it at a time: if it carries, all hear of
 * that. */
bool PathRecovery::may_try(Path &path, sched::Nanos now)
{
    return now >= path.recovery.until &&
           (now >= path.recovery.rests_until || path.stream.wire == nullptr ||
            path.stream.wire->evidence.may_try(now));
}

void PathRecovery::rest(Path &path)
{
    path.planned      = 0;
    path.room.blocked = path.room.retry = false;
    path.recovery.use = path.pair ? Path::Recovery::Use::Unready :
                                    Path::Recovery::Use::Ours;
    ++broken_;
    begin_backoff(path);
    paths_.drop_plan();
    connection_.defer();
}

/* Where no other has a link, the NIC of a queue pair sends again for a while, which may be
 * enough. What has one end for all peers (dc) is for its NIC to end. */
bool PathRecovery::may_leave(const Path &path) const
{
    return path.rail.traits().stream ||
           ((path.rail.by_ep() || !path.rail.reads()) &&
            std::any_of(paths_.begin(), paths_.end(),
                        [](const auto &one) { return one->has_link(); }));
}

void PathRecovery::on_carrier(Path &path)
{
    if (path.has_link() == path.recovery.had_link) {
        return;
    }
    path.recovery.had_link = path.has_link();
    if (!path.has_link() && path.state == Path::State::Ready && may_leave(path)) {
        path.recovery.unlinked = true;
        break_path(path, UCS_ERR_UNREACHABLE);
    } else if (path.has_link() && path.state == Path::State::Backoff) {
        path.recovery.end_row();
        path.health.linked(host_.now());
        retry(path);
    }
}

void PathRecovery::retry(Path &path)
{
    if (path.state == Path::State::Backoff) {
        path.recovery.until = path.recovery.rests_until = host_.now();
        connection_.defer();
    }
}

/* Not before the peer has our answer, if the pair broke at both ends: it takes no
 * question until then, and a new pair would keep us from being drained. */
void PathRecovery::revive(sched::Nanos now)
{
    for (auto &path : paths_) {
        Path::Recovery &recovery = path->recovery;
        if (path->state == Path::State::Backoff && path->has_link() &&
            !owes_quiet(*path) && may_try(*path, now)) {
            path->state          = Path::State::Idle;
            path->room.connected = false;
            path->chunks         = 0;
            path->stream.watch         = {}; /* it is another connection */
            path->stream.watch.answers = path->stream.check.answers();
            path->stream.posted = path->stream.ends = 0;
            recovery.cancelled = recovery.broken = false;
            recovery.silent = recovery.alone = false;
            recovery.unlinked  = recovery.left_behind = false;
            --broken_;
        }
    }
}

bool PathRecovery::may_be_back() const
{
    return std::any_of(paths_.begin(), paths_.end(), [](const auto &path) {
        return path->state == Path::State::Broken ||
               path->state == Path::State::Draining ||
               (path->state == Path::State::Backoff &&
                path->recovery.in_a_row() < kOftenBroken);
    });
}

bool PathRecovery::backs_off() const
{
    return std::any_of(paths_.begin(), paths_.end(), [](const auto &path) {
        return path->state == Path::State::Backoff && path->has_link();
    });
}

void PathRecovery::carries_again(Path &path)
{
    path.recovery.end_row();
    path.recovery.out = path.recovery.ours = false;
    path.health.works(host_.now());
}

/* Who has lost nothing of its own over it may never send anything there either. */
void PathRecovery::on_pair_ready(Path &path)
{
    path.recovery.vain_breaks = 0;
    if (path.recovery.out && !path.recovery.ours) {
        path.recovery.out = false;
        path.health.linked(host_.now());
    }
}

void PathRecovery::on_peer_broke(uint8_t own, uint8_t remote, bool unheard)
{
    for (auto &path : paths_) {
        if (path->rail.index() == own && path->remote.index == remote &&
            path->pair && path->pair->ep() != nullptr) {
            break_path(*path, unheard ? UCS_ERR_ENDPOINT_TIMEOUT :
                                        UCS_ERR_CONNECTION_RESET);
        }
    }
}

bool PathRecovery::torn_down(uint8_t own, uint8_t remote) const
{
    return paths_.find(own, remote, [](const Path &path) {
        return path.pair && path.pair->ep() != nullptr;
    }) == nullptr;
}

/* What its kernel sends is not acknowledged any more. */
bool PathRecovery::is_silent(const Path &path) const
{
    StreamState state;
    return path.rail.traits().stream && host_.streams().look(path.ep, state) &&
           state.retransmits != 0 && state.since_ack > kSilentEnd;
}

void PathRecovery::cancel_in_flight(bool all)
{
    const sched::Nanos now  = host_.now();
    const bool         look = now >= look_at_;
    if (look) {
        look_at_ = now + kLook;
    }
    for (auto &path : paths_) {
        if (path->ep == nullptr || path->recovery.cancelled) {
            continue;
        }
        const bool ends = all || path->recovery.broken ||
                          (look && is_silent(*path));
        if (path->serving != 0 && !ends) {
            continue;
        }
        /* What its kernel has still to send would arrive when the wire works again,
         * and be written where a get has ended. */
        if (ends && path->rail.traits().stream) {
            host_.streams().end(path->ep, path->rail.carrier);
        }
        path->recovery.cancelled = cancel(path->ep);
    }
}

} // namespace fuselink

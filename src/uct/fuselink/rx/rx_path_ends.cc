/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rx_path_ends.h"

#include <algorithm>

namespace fuselink {
namespace {

/* What was still in the network comes within this time. */
constexpr sched::Nanos kInNetwork = sched::Nanos::millis(100);
/* Then polls of the interface that find nothing: its buffer is empty. */
constexpr unsigned kEmptyPolls = 2;

} // namespace

/* --- what comes --- */

bool RxPathEnds::on_announced(uint8_t rail, uint8_t own, uint32_t number)
{
    if (rail >= wire::kMaxRails) {
        return false;
    }
    Path &path = paths_[{rail, own}];
    if (wire::chunk_before(number, path.from)) {
        return false;
    }
    path.from = wire::chunk_mark(path.from, number);
    path.seen = number + 1;
    return true;
}

bool RxPathEnds::admit(const wire::DataPart &part)
{
    Path &path = paths_[{part.rail, part.remote}];
    if (ucs_unlikely(wire::chunk_before(part.chunk, path.from))) {
        return false;
    }
    path.from = wire::chunk_mark(path.from, part.chunk);
    return true;
}

void RxPathEnds::on_part(const wire::DataPart &part, const char *data,
                      size_t length)
{
    if (!admit(part)) {
        return;
    }
    Path &path = paths_[{part.rail, part.remote}];
    if (part.place & wire::kPartFirst) {
        path.open   = part.chunk + 1;
        path.of_get = false;
        path.length = 0;
    }
    /* All that came before it is here. */
    const bool   whole  = path.open == part.chunk + 1;
    bool         gpu    = false; /* then the staging answers */
    ucs_status_t status = UCS_ERR_INVALID_ADDR;
    RxTarget target;
    if (!whole) {
        /* Those before may have met a key that had ended. */
        status = (part.place & wire::kPartRevocable) ? UCS_ERR_INVALID_ADDR :
                                                       UCS_ERR_IO_ERROR;
        ucs_debug("fuselink: peer %016lx: part of a chunk without those before",
                  conn_.uuid());
    } else if (targets_.find(part, length, target) &&
               staging_.goes_on(part, target.op_of_get())) {
        gpu = target.on_gpu;
        if (put(path, target, part, data, length)) {
            status = UCS_OK;
        }
    }
    if (status != UCS_OK && whole) {
        ucs_log((part.place & wire::kPartRevocable) ? UCS_LOG_LEVEL_DEBUG :
                                                      UCS_LOG_LEVEL_ERROR,
                "fuselink: %zu bytes of bulk data of peer %016lx are for "
                "memory that it may not write: dropped", length,
                conn_.uuid());
    }
    if ((status != UCS_OK && whole) || (part.place & wire::kPartLast)) {
        path.open = 0;
        if (!gpu && !staging_.after(part, status)) {
            acknowledge(part, status);
        }
    }
}

/* False if the memory has gone meanwhile. */
bool RxPathEnds::put(Path &path, const RxTarget &target,
                  const wire::DataPart &part, const char *data, size_t length)
{
    if (target.on_gpu) {
        if (target.get != nullptr) {
            target.get->arriving += length;
        }
        staging_.part(part, target.to, data, length, target.op_of_get());
        return true;
    }
    if (!targets_.write(target, part, data, length)) {
        return false;
    }
    if (target.get != nullptr) {
        if (!path.of_get || path.get != target.op) {
            path.length = 0;
        }
        path.of_get  = true;
        path.get     = target.op;
        path.length += length;
        gets_.landed(*target.get, length);
    }
    return true;
}

void RxPathEnds::acknowledge(const wire::DataPart &part, ucs_status_t status)
{
    wire::ChunkAck ack{};
    ack.header.type = static_cast<uint8_t>(wire::ControlType::ChunkAck);
    ack.chunk       = part.chunk;
    ack.status      = status;
    ack.rail        = part.rail;
    ack.remote      = part.remote;
    conn_.send_control(&ack, sizeof(ack));
}

/* --- paths that broke --- */

void RxPathEnds::on_broken(const void *data, size_t length)
{
    wire::PathBroken message;
    if (!wire::parse(data, length, message) ||
        message.rail >= rails_.list().size() ||
        message.from >= wire::kMaxRails) {
        return;
    }
    Path &path  = paths_[{message.from, message.rail}];
    breaks_    += !path.broken;
    path.broken = true;
    path.next   = message.next;
    path.far    = {};
    path.ended  = false;
    if (message.family == 4 || message.family == 6) {
        path.far.family = message.family;
        path.far.port   = message.port;
        std::copy(std::begin(message.ip), std::end(message.ip),
                  path.far.ip.begin());
    }
    path.empty  = 0;
    path.after  = host_.now() + kInNetwork;
    bulk_.on_peer_broke(message.rail, message.from, message.unheard != 0);
    conn_.defer();
}

bool RxPathEnds::owes_drained(uint8_t from, uint8_t own) const
{
    auto it = paths_.find({from, own});
    return it != paths_.end() && it->second.broken;
}

void RxPathEnds::drain_broken()
{
    for (auto &[key, path] : paths_) {
        if (!path.broken || conn_.failed()) {
            continue;
        }
        const auto [from, own] = key;
        if (!drained(from, own, path)) {
            conn_.defer();
        } else if (!conn_.failed()) {
            tell_drained(from, own, path);
        }
    }
}

/* The peer may name a connection of its own rail only: with others it would end those
 * of others. */
void RxPathEnds::end_stream(const Rail &rail, uint8_t from, Path &path)
{
    const SocketAddress far = path.far;
    path.far                = {};
    for (const auto &record : bulk_.table().rails) {
        if (record.index == from && record.net.family == far.family &&
            std::equal(far.ip.begin(),
                       far.ip.begin() + static_cast<long>(record.net.size()),
                       record.net.bytes.begin())) {
            /* One that is not there any more, or was not accepted yet, brings
             * nothing either. */
            host_.streams().end_from(rail.control().handle(), far, rail.carrier);
            path.ended = true;
        }
    }
}

bool RxPathEnds::drained(uint8_t from, uint8_t own, Path &path)
{
    if (!bulk_.torn_down(own, from)) {
        return false;
    }
    const Rail &rail = *rails_.list()[own];
    if (rail.traits().stream && path.far.family != 0) {
        end_stream(rail, from, path);
    }
    if (!rail.by_ep() && !path.ended && host_.now() < path.after) {
        return false;
    }
    if (rail.traits().stream && !path.ended) {
        path.empty = poller_.poll_now(rail.poll_index()) == 0 ?
                         path.empty + 1 : 0;
        if (path.empty < kEmptyPolls) {
            return false;
        }
    }
    if (rail.reads() && !rail.by_ep()) {
        poller_.drain(rail.poll_index()); /* no link has done it */
    }
    path.from = path.next; /* what is late is dropped from now on */
    if (!staging_.settle(from, own)) {
        return false;
    }
    bulk_.drop_inbound(own, from);
    return true;
}

void RxPathEnds::tell_drained(uint8_t from, uint8_t own, Path &path)
{
    path.broken = false;
    --breaks_;
    Get *get = path.open != 0 && path.of_get ? gets_.find(path.get) : nullptr;
    if (get != nullptr) {
        get->landed -= path.length; /* the chunk comes whole again */
    }
    wire::PathQuiet answer{};
    answer.header.type = static_cast<uint8_t>(wire::ControlType::PathQuiet);
    answer.rail        = from;
    answer.from        = own;
    answer.seen        = wire::chunk_mark(path.seen, path.next);
    path.open          = 0;
    path.seen = path.from = path.next;
    conn_.send_control(&answer, sizeof(answer));
    bulk_.pump_later(); /* it may be asked for now */
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "queue_pair.h"

#include "../uct/pair_iface.h"
#include "wire/messages.h"
#include "world.h"

#include <cstring>

namespace fuselink::sim {
namespace {

constexpr auto    kNoticeId   = static_cast<uint8_t>(wire::RailAm::Chunk);
constexpr Instant kSeenWithin = kMillisecond;

bool is_control(uint8_t id, const std::vector<uint8_t> &message,
                wire::ControlHeader &header)
{
    if (id != static_cast<uint8_t>(wire::RailAm::Control) ||
        message.size() < sizeof(header)) {
        return false;
    }
    memcpy(&header, message.data(), sizeof(header));
    return true;
}

} // namespace

bool QueuePair::is_proved() const
{
    return worked_at != 0 && world.time().now() > worked_at + kSeenWithin;
}

std::shared_ptr<QueuePair> QueuePair::other() const
{
    return world.find_queue_pair(remote);
}

void QueuePair::connect(uint32_t remote_number, Nic &remote_nic)
{
    remote = remote_number;
    state  = State::Connected;
    connected_at_ = world.time().now();
    if (world.breaks_new != 0) {
        --world.breaks_new;
        world.count(Count::BrokenNew);
        fail_in = 0;
    }
    out_   = std::make_shared<Channel>(world, nic, remote_nic,
                                       world.profile().nic_patience,
                                       world.profile().send_again / 20);
    std::weak_ptr<QueuePair> weak = weak_from_this();
    out_->on_give_up              = [weak] {
        auto self = weak.lock();
        if (!self) {
            return;
        }
        auto peer = self->other(); /* whose acknowledgements went this way */
        self->fail(true);
        if (peer && !peer->posted.empty()) {
            peer->fail(true);
        }
    };
}

void QueuePair::post(std::shared_ptr<PairWork> work)
{
    posted.push_back(work);
    if (work->kind == PairWork::Kind::Message && work->am_id < 30) {
        has_messages = true;
    }
    has_data = has_data || work->length > 0;
    if (has_data && !has_messages && fail_in == SIZE_MAX && world.breaks_again != 0 &&
        world.broke_at != 0 && connected_at_ > world.broke_at) {
        --world.breaks_again;
        world.count(Count::BrokenAgain);
        fail_in = world.again_after;
    }
    if (work->kind == PairWork::Kind::Message && work->am_id == kNoticeId &&
        !has_messages && is_proved() && other() && other()->is_proved() &&
        world.holds_notice()) {
        world.count(Count::NoticesHeld);
        held_ = work;
    }
    if (held_) { /* nothing goes past it */
        break_held();
        return;
    }
    const size_t bytes = work->kind == PairWork::Kind::Get ? 0 : work->length;
    if (fail_in != SIZE_MAX) {
        fail_in -= std::min(fail_in, bytes + 1);
    }
    send_bytes(work);
}

/* What is in front of a notice that is held has ended: now it breaks. */
void QueuePair::break_held()
{
    if (!held_ || posted.front() != held_) {
        return;
    }
    world.count(Count::QpErrors);
    auto pair = shared_from_this();
    world.time().after(0, [pair] {
        auto peer = pair->other();
        pair->fail(true);
        if (peer) {
            peer->fail(true);
        }
    });
}

/* In segments, so that it can break in the middle. Bytes that are not copied are
 * read when they have to be at the latest: nobody may have changed them. */
void QueuePair::send_bytes(const std::shared_ptr<PairWork> &work)
{
    const size_t length = work->kind == PairWork::Kind::Get ? 0 : work->length;
    const size_t piece  = work->kind == PairWork::Kind::Message ?
                              length + 1 : world.profile().segment;
    size_t       offset = 0;
    const auto   pair   = shared_from_this();
    do {
        const size_t now  = std::min(piece, length - offset);
        const bool   last = offset + now == length;
        out_->send(now + 60, [pair, work, offset, now, last] {
            if (pair->state != State::Connected) {
                if (pair->lingers_) {
                    pair->arrive_late(work, offset, now, last);
                }
                return;
            }
            const uint8_t *from =
                work->copy.empty() ?
                    pair->process.see(
                        reinterpret_cast<uintptr_t>(work->source)) :
                    work->copy.data();
            std::vector<uint8_t> data;
            if (now != 0) {
                data.assign(from + offset, from + offset + now);
            }
            if (pair->fail_in == 0) {
                pair->world.count(Count::QpErrors);
                auto       peer = pair->other();
                const bool late = pair->late_by != 0;
                pair->fail(true);
                if (late) {
                    pair->arrive_late(work, offset, now, last);
                } else if (peer) {
                    peer->fail(true);
                }
                return;
            }
            auto peer = pair->other();
            if (!peer || !peer->answers(*pair)) {
                /* Nobody answers: the NIC tries for a while. */
                pair->world.time().after(
                    pair->world.profile().nic_patience,
                    [pair] { pair->fail(true); });
                return;
            }
            peer->arrive(work, offset, std::move(data), last);
        });
        offset += now;
    } while (offset < length);
}

bool QueuePair::answers(const QueuePair &asker) const
{
    return state == State::Connected && remote == asker.number && process.alive;
}

/* What was copied when it was sent: other bytes may not be what they were. */
void QueuePair::arrive_late(const std::shared_ptr<PairWork> &work, size_t offset,
                            size_t length, bool last)
{
    auto       peer = other();
    const bool sent = work->kind != PairWork::Kind::Get &&
                      (!work->copy.empty() || length == 0);
    if (!peer || !peer->answers(*this) || !sent) {
        lingers_ = false; /* nor what is behind it */
        return;
    }
    world.count(Count::HeldBack);
    peer->arrive(work, offset,
                 {work->copy.data() + offset, work->copy.data() + offset + length},
                 last);
}

/* At this NIC, from the other. */
void QueuePair::arrive(const std::shared_ptr<PairWork> &work, size_t offset,
                       std::vector<uint8_t> data, bool last)
{
    auto asker = other();
    bool well  = true;
    switch (work->kind) {
    case PairWork::Kind::Message:
        if (iface != nullptr) {
            note_lane(work->am_id, data);
            iface->receive(work->am_id, std::move(data));
        }
        break;
    case PairWork::Kind::Put:
    case PairWork::Kind::Get:
        well = work->length == 0 ||
               (work->rkey_process == process.index() &&
                process.find(work->rkey, work->remote, work->length) !=
                    nullptr);
        if (!well) {
            world.journal().note("bad key", process.index(), work->length);
            world.count(Count::BadKeys);
        } else if (work->kind == PairWork::Kind::Put) {
            process.write(work->remote + offset, data.data(), data.size(),
                          Hand::Nic, "a put by a NIC");
        } else {
            answer(*asker, work);
            return;
        }
        break;
    case PairWork::Kind::Nothing:
        break;
    }
    if (!last && well) {
        return;
    }
    if (!well) { /* remote access error: both ends */
        if (asker) {
            asker->fail(true);
        }
        fail(true);
        return;
    }
    if (!asker) {
        return; /* it has gone by now */
    }
    auto pair = asker->shared_from_this();
    out_->send(40, [pair, work] { pair->done(work, true); });
}

void QueuePair::note_lane(uint8_t id, const std::vector<uint8_t> &message)
{
    wire::ControlHeader header;
    if (is_control(id, message, header)) {
        heard_from    = header.sender;
        heard_session = header.session;
        heard_lane    = header.lane;
    }
}

void QueuePair::check_put_again(const Process &at, uint8_t id,
                                const std::vector<uint8_t> &message)
{
    wire::ControlHeader header;
    if (!is_control(id, message, header) ||
        header.type != static_cast<uint8_t>(wire::ControlType::PutData) ||
        (header.flags & wire::kPutAgain) == 0) {
        return;
    }
    for (const auto &[number, pair] : at.world().queue_pairs()) {
        const auto peer = pair->other();
        if (&pair->process == &at && pair->iface != nullptr &&
            pair->state == State::Connected && pair->heard_from == header.sender &&
            pair->heard_session == header.session &&
            wire::lane_before(pair->heard_lane, header.lane) &&
            (!peer || peer->state == State::Error)) {
            at.world().journal().violate("a put comes again, and the queue pair that "
                                         "had it could execute it yet");
        }
    }
}

/* Bytes of this process's memory, for who reads it. */
void QueuePair::answer(QueuePair &asker, const std::shared_ptr<PairWork> &work)
{
    const size_t piece = world.profile().segment;
    const auto   pair  = asker.shared_from_this();
    size_t       offset = 0;
    do {
        const size_t now = std::min(piece, work->length - offset);
        std::vector<uint8_t> data(now);
        if (now != 0) {
            memcpy(data.data(), process.see(work->remote + offset), now);
        }
        out_->send(now + 60, [pair, work, offset, data = std::move(data)] {
            if (pair->state != State::Connected) {
                return;
            }
            if (work->keep) {
                work->copy.resize(work->length);
                if (!data.empty()) {
                    memcpy(work->copy.data() + offset, data.data(),
                           data.size());
                }
            } else {
                pair->process.write(
                    reinterpret_cast<uintptr_t>(work->to + offset),
                    data.data(), data.size(), Hand::Nic, "a get by a NIC");
            }
            work->done += data.size();
            if (work->done == work->length) {
                pair->done(work, true);
            }
        });
        offset += now;
    } while (offset < work->length);
}

bool QueuePair::lag(Instant time)
{
    if (!out_ || out_->under_way() == 0) {
        return false;
    }
    out_->hold(time);
    return true;
}

/* The NIC reports it; in the order of posting, for it acknowledges so. */
void QueuePair::done(const std::shared_ptr<PairWork> &work, bool well)
{
    auto it = std::find(posted.begin(), posted.end(), work);
    if (it == posted.end() || iface == nullptr) {
        return;
    }
    posted.erase(it);
    if (well && worked_at == 0) {
        worked_at = world.time().now();
    }
    has_carried = has_carried || (well && work->length > 0);
    iface->complete(shared_from_this(), work, well);
    if (held_ && !posted.empty()) {
        break_held();
    }
}

/* The other end answers nothing any more. What it has executed, and could not
 * acknowledge, this NIC sends again for a while. */
void QueuePair::miss_acknowledgement()
{
    if (posted.empty()) {
        return;
    }
    world.time().after(world.profile().nic_patience,
                       [pair = shared_from_this(), first = posted.front()] {
        if (!pair->posted.empty() && pair->posted.front() == first) {
            pair->fail(true);
        }
    });
}

void QueuePair::fail(bool tell)
{
    if (state == State::Error) {
        return;
    }
    world.journal().note("queue pair fails", process.index(), number, tell);
    state = State::Error;
    world.broke_at = tell ? world.time().now() : world.broke_at;
    if (out_ && late_by != 0 && tell) {
        lingers_ = true;
        out_->on_give_up = nullptr;
        out_->hold(late_by);
    } else if (out_) {
        out_->cut();
    }
    auto works = std::move(posted);
    posted.clear();
    auto peer = other();
    if (peer && peer->answers(*this)) {
        peer->miss_acknowledgement();
    }
    if (iface == nullptr) {
        return;
    }
    for (const auto &work : works) {
        iface->complete(shared_from_this(), work, false);
    }
    if (tell) {
        iface->has_failed(shared_from_this());
    }
}

} // namespace fuselink::sim

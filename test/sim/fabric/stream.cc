/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "stream.h"

#include "../uct/stream_ep.h"
#include "wire/messages.h"
#include "world.h"

#include <utility>

namespace fuselink::sim {
namespace {

constexpr auto kNoticeId = static_cast<uint8_t>(wire::RailAm::Chunk);
constexpr auto kUsersId  = static_cast<uint8_t>(wire::RailAm::User);

} // namespace

size_t Stream::room(unsigned side) const
{
    const End   &end  = ends[side];
    const size_t held = end.to_send_bytes + end.on_wire;
    const size_t most = world.profile().send_buffer;
    return held >= most ? 0 : most - held;
}

void Stream::write(unsigned side, std::shared_ptr<StreamRecord> record,
                   size_t offset, const uint8_t *data, size_t length)
{
    End &end = ends[side];
    if (end.error || end.closed) {
        return;
    }
    const size_t piece = world.profile().segment;
    do {
        const size_t now = std::min(piece, length);
        Segment      segment{record, offset, {data, data + now}};
        end.to_send_bytes += segment.size();
        end.to_send.push_back(std::move(segment));
        offset += now;
        data   += now;
        length -= now;
    } while (length != 0);
    transmit(side);
}

void Stream::transmit(unsigned side)
{
    End &end   = ends[side];
    End &other = ends[1 - side];
    while (!end.to_send.empty() && !end.error && !holds[side] &&
           end.on_wire + other.received_bytes < world.profile().receive_buffer) {
        const StreamRecord &record = *end.to_send.front().record;
        if (!has_messages && record.type == StreamRecord::Type::Message &&
            record.am_id == kNoticeId && world.holds_notice()) {
            world.count(Count::NoticesHeld);
            holds[side] = true;
            if (end.puts_open == 0) {
                lose_notice(side);
            } else {
                lose_notice_later(side);
            }
            return;
        }
        if (!has_messages && record.type == StreamRecord::Type::Put) {
            put_begins(side);
        }
        if (!has_messages && record.type == StreamRecord::Type::Message &&
            record.am_id == kUsersId && end.to_send.front().offset == 0) {
            world.count(Count::Aside);
        }
        end.puts_open += record.type == StreamRecord::Type::Put &&
                         end.to_send.front().offset == 0;
        auto segment = std::make_shared<Segment>(std::move(end.to_send.front()));
        end.to_send.pop_front();
        const size_t size = segment->size();
        end.to_send_bytes -= size;
        end.busy_since     = end.on_wire == 0 ? world.time().now() : end.busy_since;
        end.busy_acked     = end.on_wire == 0 ? 0 : end.busy_acked;
        if (end.out->tries() == 0 && end.unheard_tries == 0) { /* else it waits behind others */
            end.sent_at = world.time().now();
        }
        end.on_wire       += size;
        end.out->send(size + 40, [this, side, segment] {
            End &to = ends[1 - side];
            if (to.iface == nullptr || to.ended || !to.process->alive) {
                refuse(side);
                return;
            }
            const size_t bytes = segment->size();
            to.came           += bytes;
            to.came_at         = world.time().now();
            to.received_bytes += bytes;
            to.received.push_back(std::move(*segment));
            notify(1 - side);
            arrived(side, bytes);
        });
        if (reset_in[side] != SIZE_MAX) {
            reset_in[side] -= std::min(reset_in[side], size);
            if (reset_in[side] == 0) {
                reset(side);
                return;
            }
        }
    }
    if (end.closed && end.to_send.empty() && !end.end_sent && !end.error) {
        end.end_sent = true;
        end.out->send(40, [this, side] {
            ends[1 - side].eof = true;
            notify(1 - side);
        });
    }
}

void Stream::arrived(unsigned side, size_t bytes)
{
    End &end     = ends[side];
    end.unheard += bytes;
    if (!may_wait(side)) {
        acknowledge(side);
    } else if (!end.late) {
        end.late = true;
        world.time().after(world.profile().late_answer,
                           [weak = weak_from_this(), side] {
                               auto self = weak.lock();
                               if (self && self->ends[side].late) {
                                   self->acknowledge(side);
                               }
                           });
    }
}

/* The other kernel may wait with its acknowledgement: for more than one segment, and for
 * its program, if that has read so little that the window shrinks (Linux,
 * __tcp_ack_snd_check()). */
bool Stream::may_wait(unsigned side) const
{
    const End     &end     = ends[side], &other = ends[1 - side];
    const Profile &profile = world.profile();
    return profile.late_answer != 0 && !end.error &&
           (end.unheard <= profile.segment ||
            other.received_bytes > profile.receive_buffer / 2);
}

/* That may be lost. */
void Stream::acknowledge(unsigned side)
{
    End &end = ends[side];
    end.late = false;
    if (!ends[1 - side].out->is_silent()) {
        hear(side);
    } else if (end.unheard_since == 0) {
        end.unheard_since = world.time().now();
        const Profile &profile = world.profile();
        const bool     probes  = profile.tail_probe != 0 && end.on_wire > profile.segment;
        ask_again(side, probes ? profile.tail_probe : profile.send_again, probes);
    }
}

void Stream::hear(unsigned side)
{
    End &end          = ends[side];
    end.on_wire      -= std::min(end.on_wire, end.unheard);
    end.acked        += end.unheard;
    end.busy_acked   += end.unheard;
    end.acked_at      = world.time().now();
    end.unheard       = 0;
    end.unheard_since = 0;
    end.unheard_tries = 0;
    end.late          = false;
    notify(side); /* there is room */
    transmit(side);
}

/* As long as it has patience. What comes twice is acknowledged again. */
void Stream::ask_again(unsigned side, Instant pause, bool probes)
{
    world.time().after(pause, [weak = weak_from_this(), side, pause, probes] {
        auto self = weak.lock();
        if (!self || self->ends[side].unheard == 0) {
            return;
        }
        End          &end     = self->ends[side];
        World        &world   = self->world;
        const Instant now     = world.time().now();
        const Instant again   = world.profile().send_again;
        if (!end.out->is_silent() && !self->ends[1 - side].out->is_silent()) {
            self->hear(side);
        } else if (now - end.unheard_since > world.profile().patience) {
            world.count(Count::GaveUp);
            self->fail(side);
        } else {
            end.unheard_tries += !probes;
            end.sent_at        = now;
            end.resent        += world.profile().segment;
            self->ask_again(side, probes ? again :
                                           std::min(2 * pause,
                                                    again << world.profile().most_doubles));
        }
    });
}

void Stream::forget_wire(unsigned side)
{
    ends[side].on_wire = ends[side].unheard = 0;
    ends[side].unheard_since = 0;
    ends[side].late          = false;
}

Stream::Segment Stream::read(unsigned side)
{
    End    &end     = ends[side];
    Segment segment = std::move(end.received.front());
    end.received.pop_front();
    end.received_bytes -= segment.size();
    if (ends[1 - side].late) {
        acknowledge(1 - side);
    }
    transmit(1 - side);
    return segment;
}

bool Stream::ready(unsigned side) const
{
    const End &end = ends[side];
    return end.iface != nullptr &&
           (!end.received.empty() ||
            ((end.eof || end.error) && !end.handled) ||
            (end.ep != nullptr && end.ep->wants_to_write() && room(side) != 0));
}

bool Stream::brings(unsigned from, unsigned to) const
{
    for (unsigned side : {0u, 1u}) {
        const End &reader = ends[side], &writer = ends[1 - side];
        if (reader.iface != nullptr && !reader.ended && writer.process != nullptr &&
            reader.process->index() == to && writer.process->index() == from &&
            (!reader.received.empty() || writer.on_wire != 0 || !writer.to_send.empty())) {
            return true;
        }
    }
    return false;
}

void Stream::notify(unsigned side)
{
    if (ends[side].iface != nullptr && ready(side)) {
        ends[side].iface->is_ready(shared_from_this(), side);
    }
}

void Stream::close(unsigned side)
{
    End &end = ends[side];
    if (end.iface == nullptr) {
        return;
    }
    --end.process->sockets;
    end.iface = nullptr;
    end.ep    = nullptr;
    end.closed = true;
    /* If the end of it does not arrive, the other kernel asks now and then whether the
     * connection is alive, as UCX has it do. */
    world.time().after(world.profile().keepalive, [weak = weak_from_this(), side] {
        auto self = weak.lock();
        if (self && self->ends[1 - side].iface != nullptr) {
            self->fail(1 - side);
        }
    });
    if (!end.received.empty()) { /* nobody will read it: a reset */
        end.received.clear();
        end.received_bytes = 0;
        end.to_send.clear();
        end.to_send_bytes = 0;
        end.end_sent      = true;
        auto keep         = shared_from_this();
        end.out->stop_repeating();
        end.out->send(40, [keep, side] { keep->fail(1 - side); });
    }
    transmit(side);
}

/* Nobody has the socket any more: a reset comes back, behind what is on its way from
 * there. */
void Stream::refuse(unsigned side)
{
    End &to = ends[1 - side];
    if (to.error) {
        fail(side); /* that sends nothing any more */
        return;
    }
    auto keep = shared_from_this();
    to.out->send(40, [keep, side] { keep->fail(side); });
}

/* The kernel gives the connection up at this end. */
void Stream::fail(unsigned side)
{
    End &end = ends[side];
    if (end.error) {
        return;
    }
    end.error = true;
    end.to_send.clear();
    end.to_send_bytes = 0;
    end.out->cut();
    forget_wire(side);
    notify(side);
}

void Stream::acknowledged(unsigned side)
{
    End &end = ends[side];
    end.puts_open -= end.puts_open != 0;
    if (holds[side] && end.puts_open == 0) {
        lose_notice(side);
    }
}

void Stream::lose_notice(unsigned side)
{
    if (world.silence_of_notice == 0) {
        reset(side);
        return;
    }
    world.count(Count::NoticesSilenced);
    fall_silent(side, std::exchange(world.silence_of_notice, 0));
    holds[side] = false;
    transmit(side);
}

/* What it waits for may not come: its wire is silent. Kernels hold nothing back for ever. */
void Stream::lose_notice_later(unsigned side)
{
    constexpr Instant kLongest = kSecond;
    world.time().after(kLongest, [weak = weak_from_this(), side] {
        if (auto keep = weak.lock(); keep != nullptr && keep->holds[side]) {
            keep->lose_notice(side);
        }
    });
}

void Stream::put_begins(unsigned side)
{
    if (world.silence_of_put != 0) {
        fall_silent(side, std::exchange(world.silence_of_put, 0));
    } else if (is_again && world.silence_again != 0) {
        world.count(Count::SilentAgain);
        fall_silent(side, std::exchange(world.silence_again, 0));
    } else if (is_again && world.breaks_again != 0 && reset_in[side] == SIZE_MAX) {
        --world.breaks_again;
        world.count(Count::BrokenAgain);
        reset_after(side, 1 + world.again_after);
    }
}

/* Its NIC. */
void Stream::fall_silent(unsigned side, Instant time)
{
    Nic &nic = *ends[side].nic;
    nic.mute = nic.deaf = true;
    world.time().after(time, [&nic] { nic.mute = nic.deaf = false; });
}

void Stream::reset(unsigned side)
{
    if (ends[side].error) {
        return;
    }
    world.count(Count::Resets);
    if (hold_for[side] != 0) {
        world.count(Count::HeldBack, ends[side].on_wire != 0);
        ends[side].out->hold(hold_for[side]);
    }
    ends[1 - side].out->cut();
    forget_wire(1 - side);
    ends[side].to_send.clear();
    ends[side].to_send_bytes = 0;
    /* What is on its way comes first. */
    auto keep = shared_from_this();
    ends[side].out->stop_repeating();
    ends[side].out->send(40, [keep, side] { keep->fail(1 - side); });
    ends[side].error = true;
    notify(side);
}

void Stream::end(unsigned side, bool has_link)
{
    End &end = ends[side];
    end.received.clear(); /* also if it has broken: it could still be read */
    end.received_bytes = 0;
    end.ended          = true;
    if (end.error || end.iface == nullptr) {
        return;
    }
    holds[side] = false;
    end.to_send.clear();
    end.to_send_bytes = 0;
    end.out->stop_repeating();
    if (has_link) {
        auto keep = shared_from_this(); /* behind what is on its way already */
        end.out->send(40, [keep, side] { keep->fail(1 - side); });
    }
    end.error = true;
    notify(side);
}

void Stream::reset_after(unsigned side, size_t bytes)
{
    if (bytes == 0) {
        reset(side);
    } else {
        reset_in[side] = bytes;
    }
}

} // namespace fuselink::sim

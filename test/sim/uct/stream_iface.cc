/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "stream_iface.h"

#include "stream_ep.h"

#include <algorithm>
#include <cstring>

namespace fuselink::sim {
namespace {

/* What UCX's TCP reads at a time. */
constexpr size_t kReceive = 8192;

/* Ports of those who connect: above the numbers of interfaces, at which these
 * listen. */
constexpr uint32_t kFirstPort = 32768;

} // namespace

StreamIface::StreamIface(Process &process, Nic &nic)
    : NicIface(process, nic), second_(process.has_stream(nic.index))
{
}

StreamIface::~StreamIface()
{
    for (auto &stream : streams_) {
        for (unsigned side : {0u, 1u}) {
            if (stream->ends[side].iface == this) {
                stream->close(side);
            }
        }
    }
}

/* The process was killed: its kernel closes the sockets, and nobody is told. */
void StreamIface::die()
{
    for (auto &stream : streams_) {
        for (unsigned side : {0u, 1u}) {
            if (stream->ends[side].iface == this) {
                stream->close(side);
            }
        }
    }
    listening = false;
}

void StreamIface::describe(uct_iface_attr_t &attr) const
{
    const Profile &profile = world().profile();
    attr.cap.flags = UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_AM_BCOPY |
                     UCT_IFACE_FLAG_AM_ZCOPY | UCT_IFACE_FLAG_PUT_ZCOPY |
                     UCT_IFACE_FLAG_PENDING | UCT_IFACE_FLAG_CB_SYNC |
                     UCT_IFACE_FLAG_CONNECT_TO_IFACE |
                     UCT_IFACE_FLAG_CONNECT_TO_EP |
                     UCT_IFACE_FLAG_EP_CHECK |
                     UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE;
    attr.cap.event_flags = UCT_IFACE_FLAG_EVENT_SEND_COMP |
                           UCT_IFACE_FLAG_EVENT_RECV | UCT_IFACE_FLAG_EVENT_FD;
    attr.device_addr_len = sizeof(StreamAddress);
    attr.ep_addr_len     = sizeof(StreamEp::Address);
    auto &am       = attr.cap.am;
    am.max_short   = profile.stream_message;
    am.max_bcopy   = profile.stream_message;
    am.max_zcopy   = profile.stream_message;
    am.max_hdr     = 512;
    am.max_iov     = 4;
    am.opt_zcopy_align = am.align_mtu = 1;
    auto &put      = attr.cap.put;
    put.max_zcopy  = SIZE_MAX - 4096;
    put.max_iov    = 4;
    put.opt_zcopy_align = put.align_mtu = 1;
    attr.bandwidth.dedicated = 0;
    attr.bandwidth.shared    = nic().rate;
    attr.latency             = ucs_linear_func_make(30e-6, 0);
    attr.overhead            = 5e-6;
    attr.priority            = 0;
}

size_t StreamIface::write_device_address(uint8_t *out) const
{
    StreamAddress address;
    ip_of(nic(), address.ip);
    memcpy(out, &address, sizeof(address));
    return sizeof(address);
}

bool StreamIface::reaches(const uint8_t *device) const
{
    return device[0] == 4;
}

void StreamIface::is_ready(std::shared_ptr<Stream> stream, unsigned side)
{
    Stream::End &end = stream->ends[side];
    process().last_event = world().time().now();
    if (!end.in_ready) {
        end.in_ready = true;
        ready_.push_back({std::move(stream), side});
        bell().ring();
    }
}

unsigned StreamIface::progress()
{
    unsigned count = 0;
    if (!ready_.empty()) {
        Ready ready = std::move(ready_.front());
        ready_.pop_front();
        ready.stream->ends[ready.side].in_ready = false;
        if (ready.stream->ends[ready.side].iface == this) {
            count = handle(*ready.stream, ready.side);
            if (ready.stream->ends[ready.side].iface == this) {
                ready.stream->notify(ready.side);
            }
        }
    }
    if (ready_.empty()) {
        bell().hush();
    }
    return count;
}

unsigned StreamIface::handle(Stream &stream, unsigned side)
{
    Stream::End &end   = stream.ends[side];
    unsigned     count = 0;
    size_t       bytes = 0;
    while (!end.received.empty() && bytes < kReceive && end.iface == this) {
        Stream::Segment segment = stream.read(side);
        bytes += segment.size();
        count += take(stream, side, segment);
    }
    if (end.iface != this) {
        return count;
    }
    if (end.received.empty() && (end.error || end.eof) && !end.handled) {
        end.handled = true;
        if (stream.given_up && end.ep != nullptr && !end.error) {
            connect_again(stream, *end.ep);
            return count + 1;
        }
        if (end.ep != nullptr) {
            world().journal().note("stream ends", process().index(), id(),
                                   end.error);
            end.ep->break_down(UCS_ERR_ENDPOINT_TIMEOUT);
        } else {
            stream.close(side); /* nobody's: nobody is told */
        }
        drop(stream);
        return count + 1;
    }
    if (end.ep != nullptr) {
        count += end.ep->continue_writing();
    }
    return count;
}

void StreamIface::adopt(const std::shared_ptr<Stream> &stream)
{
    streams_.remove_if([this](const std::shared_ptr<Stream> &one) {
        return one->ends[0].iface != this && one->ends[1].iface != this;
    });
    streams_.push_back(stream);
}

void StreamIface::drop(const Stream &stream)
{
    streams_.remove_if([&](const std::shared_ptr<Stream> &one) {
        return one.get() == &stream;
    });
}

/* One piece of a record has been read. */
bool StreamIface::take(Stream &stream, unsigned side, Stream::Segment &segment)
{
    StreamRecord &record = *segment.record;
    const bool    last   = segment.offset + segment.data.size() ==
                           record.length;
    switch (record.type) {
    case StreamRecord::Type::Connect:
        greet(stream, side);
        return true;
    case StreamRecord::Type::Accept:
        if (stream.ends[side].ep != nullptr) {
            stream.ends[side].ep->is_connected();
        }
        return true;
    case StreamRecord::Type::Message:
        record.bytes.insert(record.bytes.end(), segment.data.begin(),
                            segment.data.end());
        if (last) {
            world().journal().note("stream brings", process().index(),
                                   record.am_id, record.bytes.size(),
                                   record.bytes.empty() ? 0 :
                                                          record.bytes[0]);
            world().note_heard(stream.ends[1 - side].iface_id,
                               stream.ends[1 - side].process->index(), process().index());
            deliver(record.am_id, record.bytes, false);
        }
        return last;
    case StreamRecord::Type::Put:
        process().write(record.address + segment.offset, segment.data.data(),
                        segment.data.size(), Hand::Cpu, "a put over a stream");
        if (last) {
            record.use->executed += record.length;
            auto ack  = std::make_shared<StreamRecord>();
            ack->type = StreamRecord::Type::PutAck;
            ack->sn   = record.sn;
            stream.write(side, std::move(ack), 0, nullptr, 0);
        }
        return last;
    case StreamRecord::Type::PutAck:
        stream.acknowledged(side);
        if (stream.ends[side].ep != nullptr) {
            stream.ends[side].ep->acknowledged(record.sn);
        }
        return true;
    }
    return false;
}

/* A peer's interface connects. Where this one is about to connect to it as well,
 * one connection is left: that of the lower number. */
void StreamIface::greet(Stream &stream, unsigned side)
{
    Stream::End   &end  = stream.ends[side];
    const uint32_t peer = stream.ends[1 - side].iface_id;
    end.greeted         = true;
    StreamEp *own       = find_own(stream, peer);
    if (own != nullptr && own->stream == nullptr) {
        own->use(stream.shared_from_this(), side); /* it has not begun */
    } else if (own != nullptr) {
        world().count(Count::Crossed);
        if (id() < peer) {
            stream.given_up = true; /* it will take ours */
            own->keep_stale(stream.shared_from_this(), side);
            return;
        }
        auto lost = own->stream;
        own->use(stream.shared_from_this(), side);
        lost->given_up = true;
        lost->ends[0].ep = nullptr;
        lost->close(0);
        drop(*lost);
    }
    auto accept  = std::make_shared<StreamRecord>();
    accept->type = StreamRecord::Type::Accept;
    stream.write(side, std::move(accept), 0, nullptr, 0);
    if (own != nullptr) {
        own->is_connected();
    }
}

/* The connection of the peer's for which this one was given up does not come: who has
 * begun it has closed both. */
void StreamIface::connect_again(Stream &stream, StreamEp &ep)
{
    auto keep = stream.shared_from_this();
    stream.close(0);
    drop(stream);
    connect(ep.remote, *stream.ends[1].nic, ep, stream.target);
}

/* The endpoint of ours that the stream is meant for, if it is not connected. */
StreamEp *StreamIface::find_own(const Stream &stream, uint32_t peer) const
{
    if (stream.target != 0) {
        auto it = named_.find(stream.target);
        return it != named_.end() &&
                       it->second->state == StreamEp::State::Connecting ?
                   it->second : nullptr;
    }
    for (const auto &one : streams_) {
        StreamEp *ep = one->ends[0].iface == this ? one->ends[0].ep : nullptr;
        if (ep != nullptr && ep->state == StreamEp::State::Connecting &&
            ep->name == 0 && ep->remote == peer && one.get() != &stream) {
            return ep;
        }
    }
    return nullptr;
}

ucs_status_t StreamIface::create_ep(const uct_ep_params_t *params,
                                    uct_ep_h              *ep_p)
{
    auto ep = std::make_unique<StreamEp>(*this);
    ucs_status_t status = ep->init();
    if (status != UCS_OK) {
        return status;
    }
    if (!(params->field_mask & UCT_EP_PARAM_FIELD_IFACE_ADDR)) {
        ep->take_name();
        *ep_p = ep.release()->handle();
        return UCS_OK;
    }
    ep->remote = number_in(params->iface_addr);
    StreamAddress address;
    memcpy(static_cast<void *>(&address), params->dev_addr, sizeof(address));
    const unsigned node   = address.ip[3] - 1u;
    const unsigned subnet = address.ip[1];
    if (node >= world().nodes() || subnet >= world().nics(node).size()) {
        return UCS_ERR_UNREACHABLE;
    }
    for (auto &stream : streams_) {
        for (unsigned side : {0u, 1u}) {
            Stream::End &end = stream->ends[side];
            if (end.iface == this && end.ep == nullptr && end.greeted &&
                stream->target == 0 && !stream->given_up &&
                !end.error && !end.eof &&
                stream->ends[1 - side].iface_id == ep->remote) {
                world().count(Count::TakenOver);
                ep->use(stream, side);
                ep->state = StreamEp::State::Connected;
                *ep_p     = ep.release()->handle();
                return UCS_OK;
            }
        }
    }
    if (!has_socket()) {
        return UCS_ERR_IO_ERROR;
    }
    connect(ep->remote, world().nics(node)[subnet], *ep, 0);
    *ep_p = ep.release()->handle();
    return UCS_OK;
}

/* For a connection of its own: one that the peer has made needs none. */
bool StreamIface::has_socket()
{
    if (process().sockets < process().most_sockets) {
        return true;
    }
    world().count(Count::NoMemory);
    ++process().streams_of[nic().ip_device].given_up;
    return false;
}

/* A kernel looks for a host that it has not heard of for 3 s, for all who want it at once,
 * and then tells all of them that it is not there. */
void StreamIface::fail_if_not_found(const std::shared_ptr<Stream> &stream, Nic &remote)
{
    constexpr Instant kLooksFor = 3 * kSecond;
    const auto is_silent = [&own = nic(), &remote] {
        return !own.reaches(remote) || !remote.reaches(own);
    };
    if (!is_silent()) {
        return;
    }
    const Instant now   = world().time().now();
    Instant      &until = looks_until_[&remote];
    until               = now < until ? until : now + kLooksFor;
    world().time().after(until - now, [stream, is_silent] {
        if (!stream->answered && is_silent()) {
            stream->fail(0);
        }
    });
}

std::shared_ptr<Stream> StreamIface::connect(uint32_t remote, Nic &remote_nic,
                                             StreamEp &ep, uint32_t target)
{
    const Profile &profile = world().profile();
    auto           stream  = std::make_shared<Stream>(world());
    stream->has_messages   = !second_ && target == 0;
    stream->target         = target;
    stream->is_again       = !stream->has_messages &&
        std::any_of(world().streams().begin(), world().streams().end(),
                    [&](const auto &one) {
                        return one->ends[0].ended && !one->has_messages &&
                               one->ends[0].iface_id == id() &&
                               one->ends[1].iface_id == remote;
                    });
    stream->port           = static_cast<uint16_t>(
        kFirstPort + world().streams().size() % (UINT16_MAX - kFirstPort));
    world().count(Count::Streams);
    world().streams().push_back(stream);
    Nic *nics[2] = {&nic(), &remote_nic};
    for (unsigned side : {0u, 1u}) {
        Stream::End &end = stream->ends[side];
        end.nic          = nics[side];
        end.out = std::make_shared<Channel>(world(), *nics[side],
                                            *nics[1 - side], profile.patience,
                                            profile.send_again);
        std::weak_ptr<Stream> weak = stream;
        end.out->on_give_up        = [weak, side] {
            auto held = weak.lock();
            if (!held) {
                return;
            }
            held->fail(side);
            /* The other end has nothing to send, and asks now and then whether
             * the connection is alive, as UCX has it do. */
            held->world.time().after(
                2 * held->world.profile().patience,
                [held, side] { held->fail(1 - side); });
        };
    }
    Stream::End &end = stream->ends[0];
    end.process      = &process();
    end.iface        = this;
    end.iface_id     = id();
    ++process().sockets;
    stream->ends[1].iface_id = remote;
    adopt(stream);
    ep.use(stream, 0);
    if (profile.down && !nic().plugged) {
        world().time().after(kMicrosecond, [stream] { stream->fail(0); });
    } else if (profile.resolves) {
        fail_if_not_found(stream, remote_nic);
    }

    /* Its last word came before, and UCX prints that nobody listens. Who leaves before
     * it has said anything has no way to say so, nor to who loses it unread. */
    if (world().ends_well && world().find_iface(remote) == nullptr &&
        world().has_heard(remote, process().index())) {
        world().journal().violate("a process calls one that has said that it goes");
    }
    auto hello  = std::make_shared<StreamRecord>();
    hello->type = StreamRecord::Type::Connect;
    World &world_ref = world();
    end.out->send(40, [stream, hello, remote, &world_ref] {
        auto *iface = static_cast<StreamIface *>(world_ref.find_iface(remote));
        Stream::End &here = stream->ends[1];
        if (stream->ends[0].iface == nullptr) {
            return; /* it has given up meanwhile */
        }
        if (iface == nullptr || !iface->listening ||
            !iface->process().alive) {
            world_ref.count(Count::Refused);
            stream->refuse_to_connect();
            return;
        }
        Process &process = iface->process();
        if (process.sockets >= process.most_sockets) {
            iface->listening = false; /* as UCX does, for good */
            world_ref.count(Count::NoMemory);
            stream->refuse_to_connect();
            return;
        }
        ++process.sockets;
        here.process = &process;
        here.iface   = iface;
        iface->adopt(stream);
        here.acked_at = here.came_at = stream->world.time().now();
        const auto accept = [stream, hello] {
            Stream::End &end = stream->ends[1];
            end.received.push_back({hello, 0, {}});
            end.received_bytes += end.received.back().size();
            stream->notify(1);
        };
        const bool waits = here.out->is_silent(); /* for who connects to have its answer */
        here.out->send(40, [stream, accept, waits] {
            stream->answered         = true;
            stream->ends[0].acked_at = stream->world.time().now();
            if (waits && stream->ends[0].iface != nullptr &&
                stream->ends[1].iface != nullptr && !stream->ends[1].error) {
                accept();
            }
        });
        if (!waits) {
            accept();
        }
    });
    world().time().after(profile.patience, [weak = std::weak_ptr(stream)] {
        auto held = weak.lock();
        if (held && !held->answered) {
            held->fail(0);
        }
    });
    return stream;
}

} // namespace fuselink::sim

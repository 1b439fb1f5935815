/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "stream_iface.h"

#include <algorithm>
#include <cstring>

namespace fuselink::sim {
namespace {

/* What UCX's TCP reads at a time. */
constexpr size_t kReceive = 8192;


/* Ports of those who connect: above the numbers of interfaces, at which these
 * listen. */
constexpr uint32_t kFirstPort = 32768;

/* What an endpoint that connects to another says of itself. */
struct EpAddress {
    uint32_t iface, name;
    uint16_t node, subnet;
};

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
    attr.ep_addr_len     = sizeof(EpAddress);
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
            return count + 1; /* the peer's own connection is on its way */
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
            stream.close(side);
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
                stream->target == 0 &&
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
    return false;
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

    /* Its last word came before, and UCX prints that nobody listens. */
    if (world().ends_well && world().find_iface(remote) == nullptr) {
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
            stream->fail(0);
            return;
        }
        Process &process = iface->process();
        if (process.sockets >= process.most_sockets) {
            iface->listening = false; /* as UCX does, for good */
            world_ref.count(Count::NoMemory);
            stream->fail(0);
            return;
        }
        ++process.sockets;
        here.process = &process;
        here.iface   = iface;
        iface->adopt(stream);
        here.acked_at = here.came_at = stream->world.time().now();
        here.out->send(40, [stream] {
            stream->answered         = true;
            stream->ends[0].acked_at = stream->world.time().now();
        });
        here.received.push_back({hello, 0, {}});
        here.received_bytes += here.received.back().size();
        stream->notify(1);
    });
    world().time().after(profile.patience, [weak = std::weak_ptr(stream)] {
        auto held = weak.lock();
        if (!held) {
            return;
        }
        const StreamEp *waits = held->given_up ? held->ends[0].ep : nullptr;
        if (waits != nullptr) { /* for a connection that did not come */
            held->ends[0].handled = false;
        }
        if (!held->answered || waits != nullptr) {
            held->fail(0);
        }
    });
    return stream;
}

/* --- endpoints --- */

StreamEp::~StreamEp()
{
    iface_.named_.erase(name);
    purge(UCS_ERR_CANCELED);
    if (!stream || stream->ends[side].ep != this) {
        return;
    }
    Stream::End &end   = stream->ends[side];
    end.ep             = nullptr;
    const bool is_used = stream->ends[1 - side].ep != nullptr && !end.error &&
                         state == State::Connected;
    if (!is_used) {
        stream->close(side);
    }
}

void StreamEp::take_name()
{
    name                = ++iface_.last_ep_;
    iface_.named_[name] = this;
}

ucs_status_t StreamEp::address(uint8_t *out) const
{
    const EpAddress address{iface_.id(), name,
                            static_cast<uint16_t>(iface_.nic().node),
                            static_cast<uint16_t>(iface_.nic().index)};
    memcpy(out, &address, sizeof(address));
    return UCS_OK;
}

ucs_status_t StreamEp::connect_to(const uint8_t *bytes)
{
    EpAddress address;
    memcpy(&address, bytes, sizeof(address));
    if (name == 0 || address.node >= world().nodes() ||
        address.subnet >= world().nics(address.node).size()) {
        return UCS_ERR_UNREACHABLE;
    }
    remote = address.iface;
    world().count(Count::EpsToEps);
    if (!stream) { /* else the other was first */
        if (!iface_.has_socket()) {
            return UCS_ERR_IO_ERROR;
        }
        iface_.connect(remote, world().nics(address.node)[address.subnet],
                       *this, address.name);
    }
    return UCS_OK;
}

void StreamEp::use(std::shared_ptr<Stream> taken, unsigned at)
{
    stream                 = std::move(taken);
    side                   = at;
    stream->ends[side].ep  = this;
}

ucs_status_t StreamEp::room() const
{
    if (state == State::Closed || failed) {
        return UCS_ERR_CONNECTION_RESET;
    }
    return state == State::Connecting || tx_.record != nullptr ?
               UCS_ERR_NO_RESOURCE : UCS_OK;
}

void StreamEp::is_connected()
{
    if (state == State::Connecting) {
        state = State::Connected;
        dispatch();
    }
}

/* The kernel has ended it. In here the error handler is called, as from UCX's
 * own calls. */
void StreamEp::break_down(ucs_status_t status)
{
    if (state == State::Closed) {
        return;
    }
    state = State::Closed;
    stream->ends[side].handled = true;
    purge(status);
    auto keep = stream;
    stream->ends[side].ep = nullptr;
    stream->close(side);
    owner().fail_ep(*this, UCS_ERR_ENDPOINT_TIMEOUT);
}

ucs_status_t StreamEp::send(StreamRecord record, std::vector<uint8_t> copy,
                            const void *data, size_t length,
                            uct_completion_t *comp)
{
    const Stream::End &end = stream->ends[side];
    if (end.error) {
        break_down(UCS_ERR_CONNECTION_RESET);
        return UCS_ERR_CONNECTION_RESET;
    }
    record.length = length;
    tx_.record    = std::make_shared<StreamRecord>(std::move(record));
    tx_.copy      = std::move(copy);
    tx_.data      = tx_.copy.empty() ? static_cast<const uint8_t *>(data) :
                                       tx_.copy.data();
    tx_.offset    = 0;
    tx_.comp      = nullptr;
    push();
    if (tx_.record == nullptr) {
        return UCS_OK;
    }
    tx_.comp = comp;
    return UCS_INPROGRESS;
}

/* As much of it as the kernel takes. */
void StreamEp::push()
{
    const size_t length = tx_.record->length;
    bool         first  = tx_.offset == 0;
    while (first || tx_.offset < length) {
        const size_t room = stream->room(side);
        if (room == 0) {
            return;
        }
        const size_t now = std::min(room, length - tx_.offset);
        stream->write(side, tx_.record, tx_.offset, tx_.data + tx_.offset, now);
        tx_.offset += now;
        first       = false;
    }
    tx_.record.reset();
}

unsigned StreamEp::continue_writing()
{
    unsigned count = 0;
    if (state != State::Connected) {
        return 0;
    }
    if (tx_.record != nullptr) {
        const size_t before = tx_.offset;
        push();
        count += tx_.record == nullptr || tx_.offset != before;
        if (tx_.record == nullptr && tx_.comp != nullptr) {
            uct_completion_t *comp = tx_.comp;
            tx_.comp               = nullptr;
            uct_invoke_completion(comp, UCS_OK);
        }
    }
    waiting_ = false;
    return tx_.record == nullptr ? count + dispatch() : count;
}

ucs_status_t StreamEp::am_short(uint8_t id, uint64_t header, const void *data,
                                unsigned length)
{
    ucs_status_t status = room();
    if (status != UCS_OK) {
        waiting_ = true;
        return status;
    }
    StreamRecord record{.type = StreamRecord::Type::Message, .am_id = id};
    auto         bytes = pack_short(header, data, length);
    const size_t size  = bytes.size();
    status             = send(std::move(record), std::move(bytes), nullptr, size,
                              nullptr);
    need_flush_ = true;
    return status == UCS_INPROGRESS ? UCS_OK : status;
}

ssize_t StreamEp::am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg)
{
    ucs_status_t status = room();
    if (status != UCS_OK) {
        waiting_ = true;
        return status;
    }
    StreamRecord record{.type = StreamRecord::Type::Message, .am_id = id};
    auto bytes = pack_bcopy(pack, arg, world().profile().stream_message);
    const size_t size = bytes.size();
    status = send(std::move(record), std::move(bytes), nullptr, size, nullptr);
    need_flush_ = true;
    return status == UCS_OK || status == UCS_INPROGRESS ?
               static_cast<ssize_t>(size) : static_cast<ssize_t>(status);
}

ucs_status_t StreamEp::am_zcopy(uint8_t id, const void *header,
                                unsigned header_length, const uct_iov_t *iov,
                                size_t count, uct_completion_t *comp)
{
    ucs_status_t status = room();
    if (status != UCS_OK) {
        waiting_ = true;
        return status;
    }
    StreamRecord record{.type = StreamRecord::Type::Message, .am_id = id};
    auto         bytes = pack_zcopy(header, header_length, iov, count);
    const size_t size  = bytes.size();
    need_flush_        = true;
    return send(std::move(record), std::move(bytes), nullptr, size, comp);
}

ucs_status_t StreamEp::put(const void *data, size_t length, uint64_t to,
                           uct_completion_t *comp)
{
    StreamRecord record{.type = StreamRecord::Type::Put};
    StreamUse &use      = iface_.process().streams_of[iface_.nic().ip_device];
    record.address      = to;
    record.sn           = ++put_sn_;
    record.use          = &use;
    ucs_status_t status = send(std::move(record), {}, data, length, nullptr);
    if (UCS_STATUS_IS_ERR(status)) {
        return status;
    }
    use.given += length;
    if (comp != nullptr) {
        puts_.push_back({put_sn_, comp});
    }
    return UCS_INPROGRESS;
}

ucs_status_t StreamEp::put_zcopy(const uct_iov_t *iov, size_t count,
                                 uint64_t to, uct_rkey_t,
                                 uct_completion_t *comp)
{
    ucs_status_t status = room();
    if (status != UCS_OK) {
        waiting_ = true;
        return status;
    }
    if (count != 1) {
        return UCS_ERR_INVALID_PARAM; /* fuselink has no other */
    }
    return put(iov[0].buffer, length_of(iov, count), to, comp);
}

ucs_status_t StreamEp::flush(unsigned flags, uct_completion_t *comp)
{
    if (flags & UCT_FLUSH_FLAG_CANCEL) {
        purge(UCS_ERR_CANCELED);
        return UCS_OK;
    }
    ucs_status_t status = room();
    if (status != UCS_OK) {
        waiting_ = true;
        return status;
    }
    if (need_flush_) {
        status = put(nullptr, 0, 0, nullptr);
        if (UCS_STATUS_IS_ERR(status)) {
            return status;
        }
        need_flush_ = false;
    }
    if (acked_ == put_sn_) {
        return UCS_OK;
    }
    if (comp != nullptr) {
        puts_.push_back({put_sn_, comp});
    }
    return UCS_INPROGRESS;
}

ucs_status_t StreamEp::check()
{
    return state == State::Closed ? UCS_ERR_CONNECTION_RESET : UCS_OK;
}

void StreamEp::acknowledged(uint32_t sn)
{
    acked_ = sn;
    while (!puts_.empty() && puts_.front().sn <= sn) {
        uct_completion_t *comp = puts_.front().comp;
        puts_.pop_front();
        uct_invoke_completion(comp, UCS_OK);
    }
}

void StreamEp::purge(ucs_status_t status)
{
    uct_completion_t *sending = tx_.comp;
    /* UCX forgets what of a message or put was not written yet; where the
     * connection goes on, its end could not be told from the next. */
    if (tx_.record != nullptr && stream && !stream->ends[side].error &&
        tx_.offset != 0) {
        stream->reset(side);
    }
    tx_ = {};
    if (sending != nullptr) {
        uct_invoke_completion(sending, status);
    }
    while (!puts_.empty()) {
        uct_completion_t *comp = puts_.front().comp;
        puts_.pop_front();
        uct_invoke_completion(comp, status);
    }
}

} // namespace fuselink::sim

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "stream_ep.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fuselink::sim {

StreamEp::~StreamEp()
{
    iface_.named_.erase(name);
    purge(UCS_ERR_CANCELED);
    drop_stale();
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
    const Address address{iface_.id(), name,
                            static_cast<uint16_t>(iface_.nic().node),
                            static_cast<uint16_t>(iface_.nic().index)};
    memcpy(out, &address, sizeof(address));
    return UCS_OK;
}

ucs_status_t StreamEp::connect_to(const uint8_t *bytes)
{
    Address address;
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

/* UCX holds the peer's socket until its own has connected, so that the peer does not
 * connect again meanwhile. */
void StreamEp::keep_stale(std::shared_ptr<Stream> given_up, unsigned at)
{
    drop_stale();
    stale_      = std::move(given_up);
    stale_side_ = at;
}

void StreamEp::drop_stale()
{
    if (auto gone = std::exchange(stale_, nullptr)) {
        gone->close(stale_side_);
    }
}

void StreamEp::is_connected()
{
    drop_stale();
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
    auto           keep = stream;
    const unsigned at   = side;
    if (keep->ends[at].eof && !keep->ends[at].error) {
        keep->ends[at].ep = nullptr; /* closed by who has read its end */
    }
    owner().fail_ep(*this, UCS_ERR_ENDPOINT_TIMEOUT); /* else its socket is there */
    keep->ends[at].ep = nullptr;
    keep->close(at);
}

ucs_status_t StreamEp::send(StreamRecord record, std::vector<uint8_t> copy,
                            const void *data, size_t length,
                            uct_completion_t *comp)
{
    const Stream::End &end = stream->ends[side];
    if (end.error) {
        if (!end.received.empty()) { /* UCX reads nothing more of it */
            world().count(Count::LostUnread);
            world().note_missed(stream->ends[1 - side].process->index(),
                                owner().process().index());
        }
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

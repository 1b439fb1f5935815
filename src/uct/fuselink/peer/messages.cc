/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: the user's active messages. They keep their order because all go
 * over the control lane. */

#include "peer.h"

#include "../engine/engine.h"

namespace fuselink {
namespace {

constexpr uint8_t kWrapped = static_cast<uint8_t>(wire::RailAm::Wrapped);

struct PackUser { /* a wrapped message */
    wire::UserHeader    header;
    uct_pack_callback_t pack;
    void               *arg;
};

size_t pack_user(void *dest, void *arg)
{
    auto *p = static_cast<PackUser *>(arg);
    memcpy(dest, &p->header, sizeof(p->header));
    return sizeof(p->header) +
           p->pack(static_cast<char *>(dest) + sizeof(p->header), p->arg);
}

struct PackPieces { /* scattered memory behind a header */
    const void      *header;
    size_t           header_length;
    const uct_iov_t *iov;
    size_t           iovcnt;
    Engine          &engine;
    ucs_status_t     status; /* of copies from GPUs */

    void copy(void *out, const uct_iov_t &piece, const char *from)
    {
        auto *memory = static_cast<const Region *>(piece.memh);
        if (ucs_likely(memory == nullptr || !memory->on_gpu())) {
            memcpy(out, from, piece.length);
        } else if (engine.hop().out(out, from, piece.length) != UCS_OK) {
            status = UCS_ERR_IO_ERROR;
        }
    }
};

size_t pack_pieces(void *dest, void *arg)
{
    auto *p   = static_cast<PackPieces *>(arg);
    auto *out = static_cast<char *>(dest);
    if (p->header_length != 0) { /* header may be null then */
        memcpy(out, p->header, p->header_length);
        out += p->header_length;
    }
    for (size_t i = 0; i < p->iovcnt; ++i) {
        const uct_iov_t &piece = p->iov[i];
        for (unsigned k = 0; k < piece.count; ++k) {
            if (piece.length != 0) { /* buffer may be null else */
                p->copy(out, piece, static_cast<char *>(piece.buffer) +
                                        k * piece.stride);
                out += piece.length;
            }
        }
    }
    return static_cast<size_t>(out - static_cast<char *>(dest));
}

} // namespace

/* What am_short() does not do itself: obstacles, and ids that are fuselink's. */
ucs_status_t Peer::am_short_otherwise(uint8_t id, uint64_t header,
                                      const void *payload, unsigned length)
{
    if (obstacles_ != 0) {
        ucs_status_t status = obstacle_status();
        if (status != UCS_OK) {
            return status;
        }
    }
    return wire::is_own_id(id) ? wrapped_short(id, header, payload, length) :
                                 lane_short(id, header, payload, length);
}

ucs_status_t Peer::wrapped_short(uint8_t id, uint64_t header,
                                 const void *payload, unsigned length)
{
    struct {
        wire::UserHeader own;
        uint64_t         header;
    } head{{id, 0, 0, 0}, header};
    uct_iov_t piece{const_cast<void *>(payload), length, UCT_MEM_HANDLE_NULL,
                    0, 1};
    return am_copied(kWrapped, &head, sizeof(head), &piece, 1);
}

ssize_t Peer::am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg,
                       unsigned flags)
{
    if (ucs_unlikely(obstacles_ != 0)) {
        ucs_status_t status = obstacle_status();
        if (status != UCS_OK) {
            return status;
        }
    }
    ssize_t sent;
    if (ucs_likely(!wire::is_own_id(id))) {
        sent = uct_ep_am_bcopy(control_, id, pack, arg, flags);
    } else {
        PackUser user{{id, 0, 0, 0}, pack, arg};
        sent = uct_ep_am_bcopy(control_, kWrapped, pack_user, &user, flags);
        sent -= sent < 0 ? 0 : static_cast<ssize_t>(sizeof(user.header));
    }
    if (ucs_likely(sent >= 0)) {
        unflushed_ = unfenced_ = true;
        return sent;
    }
    return rail_status(static_cast<ucs_status_t>(sent));
}

ucs_status_t Peer::am_zcopy(PeerUser &user, uint8_t id, const void *header,
                            unsigned header_len, const uct_iov_t *iov,
                            size_t iovcnt, unsigned flags,
                            uct_completion_t *comp)
{
    if (ucs_unlikely(obstacles_ != 0)) {
        ucs_status_t status = obstacle_status();
        if (status != UCS_OK) {
            return status;
        }
    }
    if (header_len > kMaxUserHeader || iovcnt > kMaxIov) {
        return UCS_ERR_INVALID_PARAM;
    }
    char      buffer[sizeof(wire::UserHeader) + kMaxUserHeader];
    uct_iov_t lane_iov[kMaxIov];
    if (ucs_unlikely(wire::is_own_id(id))) {
        wire::UserHeader own{id, 0, 0, 0};
        memcpy(buffer, &own, sizeof(own));
        if (header_len != 0) { /* header may be null then */
            memcpy(buffer + sizeof(own), header, header_len);
        }
        id          = kWrapped;
        header      = buffer;
        header_len += sizeof(own);
    }
    for (size_t i = 0; i < iovcnt; ++i) {
        lane_iov[i]      = iov[i];
        lane_iov[i].memh = UCT_MEM_HANDLE_NULL;
        /* UCP leaves the handle of nothing as it is. */
        auto *memory     = iov[i].length == 0 ? nullptr :
                           static_cast<const Region *>(iov[i].memh);
        if (ucs_unlikely(memory != nullptr && memory->on_gpu())) {
            return am_copied(id, header, header_len, iov, iovcnt);
        }
        if (rail_->traits().stream) {
            continue; /* the kernel copies from any memory */
        }
        auto *region = static_cast<Region *>(iov[i].memh); /* ours */
        if (rail_->reads() && region != nullptr) {
            lane_iov[i].memh = engine_.nics().handle(*region,
                                                     rail_->memory());
        }
        if (lane_iov[i].memh == UCT_MEM_HANDLE_NULL) {
            return am_copied(id, header, header_len, iov, iovcnt);
        }
    }
    SendOp &op = begin_lane_op(false);
    ucs_status_t status = uct_ep_am_zcopy(control_, id, header, header_len,
                                          lane_iov, iovcnt, flags, &op.comp);
    settle_lane_op(op, status, user, comp);
    if (status == UCS_OK || status == UCS_INPROGRESS) {
        unflushed_ = unfenced_ = true;
        return status;
    }
    return rail_status(status);
}

/* A message from memory that the lane's NIC does not know: datagrams are too
 * short for a registration to pay, and others may fail to register. Messages
 * of both kinds have the same limit, so what was accepted fits. */
ucs_status_t Peer::am_copied(uint8_t id, const void *header,
                             size_t header_length, const uct_iov_t *iov,
                             size_t iovcnt)
{
    PackPieces message{header, header_length, iov, iovcnt, engine_, UCS_OK};
    ssize_t sent = uct_ep_am_bcopy(control_, id, pack_pieces, &message, 0);
    if (message.status != UCS_OK) { /* what went out is not what was meant */
        fail(message.status);
        return message.status;
    }
    if (sent < 0) {
        return rail_status(static_cast<ucs_status_t>(sent));
    }
    unflushed_ = unfenced_ = true;
    return UCS_OK;
}

/* An operation of the control lane that uses the user's memory. */
SendOp &Peer::begin_lane_op(bool is_get)
{
    SendOp &op = sends_.begin();
    arm(op.comp, on_sent);
    op.peer      = this;
    op.user      = nullptr;
    op.user_comp = nullptr;
    op.epoch.reset();
    if (is_get) {
        op.epoch = begin_op();
    }
    return op;
}

/* `status` is what the lane returned for it. */
void Peer::settle_lane_op(SendOp &op, ucs_status_t status, PeerUser &user,
                          uct_completion_t *comp)
{
    if (status == UCS_INPROGRESS) {
        op.user      = &user;
        op.user_comp = comp;
        ++user.open;
        return;
    }
    const auto epoch = op.epoch;
    sends_.end(op);
    if (epoch) {
        end_op(*epoch);
    }
}

void Peer::on_sent(uct_completion_t *comp)
{
    auto             &op     = *reinterpret_cast<SendOp *>(comp);
    Peer             *peer   = op.peer;
    PeerUser         *user   = op.user;
    uct_completion_t *told   = op.user_comp;
    ucs_status_t      status = comp->status;
    const auto        epoch  = op.epoch;
    peer->sends_.end(op);
    peer->user_op_ended(user);
    if (told != nullptr) {
        uct_invoke_completion(told, status);
    }
    if (epoch) {
        peer->end_op(*epoch);
    }
}

} // namespace fuselink

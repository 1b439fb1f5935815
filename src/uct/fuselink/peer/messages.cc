/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "messages.h"

#include "../wire/messages.h"

#include <algorithm>
#include <cstring>
#include <vector>

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
                memcpy(out, static_cast<char *>(piece.buffer) +
                                k * piece.stride, piece.length);
                out += piece.length;
            }
        }
    }
    return static_cast<size_t>(out - static_cast<char *>(dest));
}

bool on_gpu(const uct_iov_t &piece)
{
    auto *memory = piece.length == 0 ? nullptr :
                                       static_cast<const Region *>(piece.memh);
    return ucs_unlikely(memory != nullptr && memory->on_gpu());
}

/* The bytes of scattered memory, some of it a GPU's. Where a copy of a few
 * microseconds is made, an allocation counts for little. */
ucs_status_t gather(GpuCopies &copies, const uct_iov_t *iov, size_t iovcnt,
                    std::vector<char> &bytes)
{
    for (size_t i = 0; i < iovcnt; ++i) {
        for (unsigned k = 0; k < iov[i].count && iov[i].length != 0; ++k) {
            auto *from = static_cast<char *>(iov[i].buffer) +
                         k * iov[i].stride;
            const size_t at = bytes.size();
            bytes.resize(at + iov[i].length);
            if (!on_gpu(iov[i])) {
                memcpy(&bytes[at], from, iov[i].length);
                continue;
            }
            ucs_status_t status = copies.out(&bytes[at], from, iov[i].length);
            if (status != UCS_OK) {
                return UCS_ERR_IO_ERROR;
            }
        }
    }
    return UCS_OK;
}

} // namespace

ucs_status_t Messages::am_short(uint8_t id, uint64_t header, const void *payload,
                            unsigned length)
{
    if (channel_.obstacles() != 0) {
        ucs_status_t status = pending_.admission();
        if (status != UCS_OK) {
            return status;
        }
    }
    return wire::is_own_id(id) ? wrapped_short(id, header, payload, length) :
                                 channel_.am_short(id, header, payload, length);
}

ucs_status_t Messages::wrapped_short(uint8_t id, uint64_t header,
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

ssize_t Messages::am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg,
                       unsigned flags)
{
    if (ucs_unlikely(channel_.obstacles() != 0)) {
        ucs_status_t status = pending_.admission();
        if (status != UCS_OK) {
            return status;
        }
    }
    if (ucs_likely(!wire::is_own_id(id))) {
        return channel_.am_bcopy(id, pack, arg, flags);
    }
    PackUser user{{id, 0, 0, 0}, pack, arg};
    ssize_t sent = channel_.am_bcopy(kWrapped, pack_user, &user, flags);
    return sent < 0 ? sent : sent - static_cast<ssize_t>(sizeof(user.header));
}

ucs_status_t Messages::am_zcopy(PeerUser &user, uint8_t id, const void *header,
                            unsigned header_len, const uct_iov_t *iov,
                            size_t iovcnt, unsigned flags,
                            uct_completion_t *comp)
{
    if (ucs_unlikely(channel_.obstacles() != 0)) {
        ucs_status_t status = pending_.admission();
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
        if (channel_.rail()->traits().stream) {
            continue; /* the kernel copies from any memory */
        }
        auto *region = static_cast<Region *>(iov[i].memh); /* ours */
        if (channel_.rail()->reads() && region != nullptr) {
            lane_iov[i].memh = nics_.handle(*region,
                                            channel_.rail()->memory());
        }
        if (lane_iov[i].memh == UCT_MEM_HANDLE_NULL) {
            return am_copied(id, header, header_len, iov, iovcnt);
        }
    }
    LaneOp &op = ops_.begin(false);
    ucs_status_t status = uct_ep_am_zcopy(channel_.ep(), id, header, header_len,
                                          lane_iov, iovcnt, flags, &op.comp);
    ops_.settle(op, status, user, comp);
    if (status == UCS_OK || status == UCS_INPROGRESS) {
        channel_.note_message();
        return status;
    }
    return channel_.outcome(status);
}

/* A message from memory that the lane's NIC does not know: datagrams are too
 * short for a registration to pay, and others may fail to register. Messages
 * of both kinds have the same limit, so what was accepted fits. */
ucs_status_t Messages::am_copied(uint8_t id, const void *header,
                             size_t header_length, const uct_iov_t *iov,
                             size_t iovcnt)
{
    /* Before the message is begun: it would go out, also if a copy failed. */
    std::vector<char> bytes;
    uct_iov_t         whole;
    if (std::any_of(iov, iov + iovcnt, on_gpu)) {
        ucs_status_t status = gather(copies_, iov, iovcnt, bytes);
        if (status != UCS_OK) {
            conn_.fail(status);
            return status;
        }
        whole  = {bytes.data(), bytes.size(), UCT_MEM_HANDLE_NULL, 0, 1};
        iov    = &whole;
        iovcnt = 1;
    }
    PackPieces message{header, header_length, iov, iovcnt};
    ssize_t sent = uct_ep_am_bcopy(channel_.ep(), id, pack_pieces, &message, 0);
    if (sent < 0) {
        return channel_.outcome(static_cast<ucs_status_t>(sent));
    }
    channel_.note_message();
    return UCS_OK;
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "messages.h"

#include "../wire/messages.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace fuselink {
namespace {

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
    ucs_status_t status = pending_.admission();
    if (status == UCS_OK) {
        channel_.am_short(id, header, payload, length);
    }
    return status;
}

ssize_t Messages::am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg)
{
    ucs_status_t status = pending_.admission();
    if (status != UCS_OK) {
        return status;
    }
    return channel_.am_bcopy(id, pack, arg, max_message_);
}

ucs_status_t Messages::am_zcopy(uint8_t id, const void *header,
                                unsigned header_len, const uct_iov_t *iov,
                                size_t iovcnt)
{
    ucs_status_t status = pending_.admission();
    if (status != UCS_OK) {
        return status;
    }
    if (header_len > kMaxUserHeader || iovcnt > kMaxIov) {
        return UCS_ERR_INVALID_PARAM;
    }
    size_t length = header_len;
    for (size_t i = 0; i < iovcnt; ++i) {
        length += iov[i].length * iov[i].count;
    }
    if (!channel_.may_accept(sizeof(wire::UserMessage) + length)) {
        return UCS_ERR_NO_RESOURCE;
    }
    /* Before the message is begun: it would go out, also if a copy failed. */
    std::vector<char> bytes;
    uct_iov_t         whole;
    if (std::any_of(iov, iov + iovcnt, on_gpu)) {
        status = gather(copies_, iov, iovcnt, bytes);
        if (status != UCS_OK) {
            conn_.fail(status);
            return status;
        }
        whole  = {bytes.data(), bytes.size(), UCT_MEM_HANDLE_NULL, 0, 1};
        iov    = &whole;
        iovcnt = 1;
    }
    PackPieces message{header, header_len, iov, iovcnt};
    channel_.am_bcopy(id, pack_pieces, &message, length);
    return UCS_OK;
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "completion_notices.h"

#include "chunk.h"

#include <algorithm>
#include <cstring>

namespace fuselink {

void CompletionNotices::announce(const Chunk &chunk)
{
    Path &path = *chunk.path;
    path.notices.push_back({chunk.transfer->op, chunk.length, chunk.number,
                            path.rail.index(), {}});
    path.unseen.push_back(path.notices.back());
    if (path.watched()) {
        paths_.note_notice(path);
    }
    send(path);
}

void CompletionNotices::acknowledged(const Chunk &chunk)
{
    auto &unseen = chunk.path->unseen;
    while (!unseen.empty() &&
           wire::chunk_before(unseen.front().number, chunk.number)) {
        unseen.pop_front();
    }
}

bool CompletionNotices::send(Path &path)
{
    while (!path.notices.empty() && path.usable()) {
        const wire::ChunkLanded notice = path.notices.front();
        uint64_t header;
        static_assert(sizeof(notice.op) == sizeof(header));
        memcpy(&header, &notice.op, sizeof(header));
        /* UCT orders nothing on an endpoint without a fence, though streams
         * and reliable connections do it by themselves. */
        ucs_status_t status = uct_ep_fence(path.ep, 0);
        if (status == UCS_OK) {
            status = uct_ep_am_short(path.ep,
                                     static_cast<uint8_t>(wire::RailAm::Chunk),
                                     header, &notice.length,
                                     sizeof(notice) - sizeof(header));
        }
        if (status == UCS_ERR_NO_RESOURCE) {
            room_.block(path);
            return false;
        }
        if (status != UCS_OK) {
            recovery_.post_failed(path, status);
            return false;
        }
        path.notices.pop_front();
    }
    return path.usable();
}

void CompletionNotices::send_unseen(Path &path, uint32_t seen,
                                    const Fifo<Chunk *> &lost)
{
    for (const wire::ChunkLanded &notice : path.unseen) {
        if (wire::chunk_before(notice.number, seen) ||
            std::any_of(lost.begin(), lost.end(), [&](const Chunk *chunk) {
                return chunk->serves_in_place() &&
                       chunk->number == notice.number;
            })) {
            continue;
        }
        wire::Landed landed{};
        landed.header.type = static_cast<uint8_t>(wire::ControlType::Landed);
        landed.op          = notice.op;
        landed.length      = notice.length;
        connection_.send_control(&landed, sizeof(landed));
    }
    path.unseen.clear();
    path.notices.clear();
}

} // namespace fuselink

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_CHUNK_TRACE_H
#define FUSELINK_TRANSFER_CHUNK_TRACE_H

#include "../host/host.h"
#include "../watch/trace.h"
#include "chunk.h"
#include "path.h"

namespace fuselink {

/** Notes chunks to one peer in the trace, if the user asked for one. One thread at a
 *  time (the worker's). */
class ChunkTrace {
public:
    /** The others outlive this. `trace`: null if there is none; `peer`: its
     *  identity. */
    ChunkTrace(Trace *trace, const Host &host, uint64_t peer)
        : trace_(trace), host_(host), peer_(peer)
    {
    }

    bool    on() const { return trace_ != nullptr; }
    /** For begin(): before the chunk is posted. Only if on(). */
    int64_t now() const { return host_.now().count(); }

    /** What was posted, when, and what spoke for its path. Only if on(). */
    void begin(Chunk &chunk, int64_t since, const sched::PathView &seen)
    {
        const Transfer &transfer = *chunk.transfer;
        Trace::Event    event;
        event.start  = since;
        event.peer   = peer_;
        event.length = chunk.length;
        event.kind   = transfer.kind == Transfer::Kind::Put ? Trace::Kind::Put :
                       transfer.kind == Transfer::Kind::Get ? Trace::Kind::Get :
                                                              Trace::Kind::Serve;
        event.rail   = chunk.path->rail.index();
        event.remote = chunk.path->remote.index;
        event.planned = transfer.demand.planned;
        event.from = from(chunk);
        event.to   = to(chunk);
        Trace::describe(seen, event);
        chunk.traced = trace_->begin(event);
    }
    /** It is over; nothing if it is not in the trace. */
    void end(const Chunk &chunk, bool arrived)
    {
        if (ucs_unlikely(chunk.traced != 0)) {
            trace_->end(chunk.traced, now(), arrived);
        }
    }

private:
    static uint8_t from(const Chunk &chunk)
    {
        return chunk.staged == nullptr ? Trace::kItself :
               chunk.staged->near      ? static_cast<uint8_t>(
                                        Trace::kGpu + chunk.staged->near.lender->entry) :
                                         Trace::kHost;
    }
    static uint8_t to(const Chunk &chunk)
    {
        return !chunk.by_messages           ? Trace::kItself :
               !chunk.in_slot               ? Trace::kMessages :
               chunk.pool == wire::kHostPool ? Trace::kHost :
                                               static_cast<uint8_t>(Trace::kGpu +
                                                                    chunk.pool - 1);
    }

    Trace         *trace_;
    const Host    &host_;
    const uint64_t peer_;
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "chunk_selector.h"

#include "../sched/window.h"
#include "chunk.h"
#include "chunk_length.h"

#include <algorithm>

namespace fuselink {

/* Paths that could carry the bytes, and how. */
struct ChunkSelector::Candidates {
    sched::PathViews room;
    Path            *paths[sched::max_paths];
    TxMethod         methods[sched::max_paths];
    bool             direct[sched::max_paths]; /* reads the GPU's memory */
    size_t           count = 0;
    bool             full  = false; /* a NIC has as much as it should */
    bool             waits_for_nic = false; /* one may read the GPU's memory */
};

/* Before paths are looked at: what is known of them. */
void ChunkSelector::refresh(sched::Nanos now)
{
    loads_.refresh(now);
    plans_.refresh(now);
    if (ucs_unlikely(recovery_.active())) {
        recovery_.revive(now);
    }
    const size_t backlog = transfers_.backlog();
    if (!settings_.fixed_weights && query_.due(backlog, now)) {
        query_.ask(backlog, now);
    }
}

/* Adds the view of a path that the policy gets. */
void ChunkSelector::show(Path &path, bool open, sched::Nanos now,
                         Candidates &candidates)
{
    sched::PathView &view = candidates.room.at[candidates.count];
    view = sched::view_of(path.meter, now, settings_.limits, open);
    view.overhead += path.rail.far_overhead();
    view.planned   = path.planned;
    if (settings_.fixed_weights) {
        view.rate   = path.weight;
        view.window = sched::window_for(path.weight, settings_.limits);
        return;
    }
    candidates.full |= path.rail.nic.show(path.meter, now, settings_.limits,
                                          loads_.borrow_max(), view);
    if (view.in_flight >= view.window) { /* it is not empty then */
        path.meter.on_full();
    }
    if (ucs_unlikely(query_.known(now))) {
        query_.show(path.remote.index, settings_.limits, view);
    }
}

/* Where a segment is, if that is in a slot of another GPU. */
const StagingSegment *ChunkSelector::near_of(const RetransmitSegment *segment)
{
    return segment != nullptr && segment->staged != nullptr && segment->staged->near ?
               segment->staged : nullptr;
}

/* Looks at all paths in play. `copied`: the bytes are in the host's memory. False if
 * the connection has failed. */
bool ChunkSelector::collect(Transfer &transfer,
                            const RetransmitSegment *segment, bool copied,
                            sched::Nanos now, Candidates &candidates)
{
    /* It waits for a copy that has not begun, or for a NIC that needs none. */
    const bool uncopied = transfer.from_gpu && segment == nullptr &&
                          transfer.staging.first == nullptr;
    const StagingSegment *near = near_of(segment);
    for (auto &candidate : paths_) {
        Path &path = *candidate;
        if (!paths_.in_play(path)) {
            continue;
        }
        bool ready = path.state == Path::State::Ready;
        if (!ready && wireup_.connect(path)) {
            ready = true;
            if (ucs_unlikely(uncopied)) {
                pump_.pump(); /* copies for it may begin, of which nobody knew */
            }
        }
        TxMethod method = ucs_likely(!connection_.failed()) ?
                              methods_.method(transfer, path) :
                              TxMethod::None;
        if (connection_.failed()) {
            return false; /* and the transfer may have ended */
        }
        if (method == TxMethod::None) {
            continue;
        }
        const bool direct = ucs_unlikely(transfer.from_gpu) &&
                            segment == nullptr &&
                            methods_.may_read_gpu(transfer, path, method);
        candidates.waits_for_nic =
            candidates.waits_for_nic ||
            (ucs_unlikely(uncopied) &&
             (methods_.may_read_gpu_soon(transfer, path, method) ||
              methods_.lender_for(transfer, path, method) != nullptr));
        if (ucs_unlikely(near != nullptr) &&
            !methods_.may_read_near(*near, path, method)) {
            continue;
        }
        if (ucs_unlikely(transfer.from_gpu) && !direct && near == nullptr &&
            method != TxMethod::NotYet &&
            !methods_.may_read_copy(path, method)) {
            method = TxMethod::Messages; /* it reads the GPU's memory, not
                                            ours */
        }
        bool open = ready && !path.room.blocked && method != TxMethod::NotYet &&
                    (ucs_likely(copied) || direct);
        candidates.paths[candidates.count]   = &path;
        candidates.methods[candidates.count] = method;
        candidates.direct[candidates.count]  = direct;
        show(path, open, now, candidates);
        ++candidates.count;
    }
    return true;
}

/* The shortest chunk that is worth a path of its own. What is copied for a GPU's sake is
 * cut as it is copied. Long ones are for fast NICs of which others have nothing, or little:
 * they count on short ones, and so does who learns what a path carries. */
sched::Bytes ChunkSelector::least(const Transfer &transfer, sched::Nanos now,
                                  const Candidates &candidates)
{
    using Standing = sched::PathView::Standing;
    const sched::Limits &limits = settings_.limits;
    const sched::Bytes   most   = std::min(sched::BulkTrials::kLong, limits.max_chunk);
    if (settings_.fixed_weights || transfer.demand.planned ||
        candidates.count < 2 || limits.min_chunk >= most ||
        ucs_unlikely(transfer.from_gpu || transfer.to_gpu)) {
        return limits.min_chunk;
    }
    for (size_t i = 0; i < candidates.count; ++i) {
        const sched::PathView &view = candidates.room.at[i];
        if (!candidates.paths[i]->meter.known() || view.probe ||
            view.rate < sched::BulkTrials::kFastForLong || view.window < most ||
            view.standing == Standing::Lent || view.standing == Standing::Taken) {
            return limits.min_chunk;
        }
    }
    const bool matters = transfer.demand.total >= limits.min_chunk * 2;
    return trials_.long_chunks(now, matters) ? most : limits.min_chunk;
}

/* No path can carry the bytes as they are. */
TxDecision::Verdict ChunkSelector::without_candidates(const Transfer &transfer,
                                                      bool is_segment)
{
    const bool whole = paths_.any_usable();
    const bool begun = is_segment || transfer.rest() != transfer.length;
    /* Of a get that has begun the paths that carried it may be away: it is read
     * anew only when none of them is to come back soon. What is written waits for a
     * path, whose recovery knows when there will be none. */
    if (transfer.kind == Transfer::Kind::Get &&
        (begun ? !recovery_.may_be_back() && transfers_.rests(transfer) :
                 !recovery_.active() || whole) &&
        !wireup_.leaves_out()) {
        return TxDecision::Verdict::Never;
    }
    if (recovery_.active()) {
        /* No path is whole, or none that can: TCP cannot read what a get has
         * begun to. */
        pump_.starve();
    }
    return whole ? TxDecision::Verdict::Pass : TxDecision::Verdict::Wait;
}

/* Of what the policy wants, as many bytes as the method takes at once.
 *
 * Few slots are a window of their own. So that it is not shorter than the path's, each
 * gets its part of that. Otherwise the rate that is measured is that of the slots'
 * return; it makes short chunks, with which slots bring even less, until all is sent
 * in the shortest. */
size_t ChunkSelector::length(const Transfer &transfer,
                             const TxDecision &decision, size_t wanted,
                             size_t window, size_t remaining,
                             bool is_segment) const
{
    const Path &path   = *decision.path;
    size_t      length = std::min(wanted, remaining);
    size_t      slot   = SIZE_MAX;
    if (decision.method == TxMethod::Slot) {
        const SlotCredits &credits = slots_.credits(decision.pool);
        slot                       = credits.size();
        const size_t part =
            std::min(window / std::max<size_t>(credits.held(), 1),
                     settings_.limits.max_chunk.count());
        length = std::min({std::max(wanted, part / 256 * 256), remaining, slot});
    }
    const auto &cap = path.rail.control().attr().cap;
    if (path.rail.reads() && !path.by_messages) {
        length = std::min(length, transfer.kind == Transfer::Kind::Get ?
                                      cap.get.max_zcopy : cap.put.max_zcopy);
    }
    if (ucs_likely(!transfer.from_gpu) || is_segment) {
        return length;
    }
    const size_t least = settings_.limits.min_chunk.count();
    if (decision.direct) { /* nothing of what is copied */
        return without_remainder(length, transfer.tail - transfer.staging.until,
                                 least,
                                 slot != SIZE_MAX ? slot : cap.put.max_zcopy);
    }
    /* No more than there is of what was copied at once, which is about as long as
     * a chunk. */
    const StagingSegment &staged = *transfer.staging.first;
    return without_remainder(length,
                             staged.offset + staged.length - transfer.assigned,
                             least, slot);
}

TxDecision ChunkSelector::next(Transfer &transfer,
                               const RetransmitSegment *segment)
{
    using Verdict = TxDecision::Verdict;
    TxDecision decision;
    const StagingSegment *copy   = segment != nullptr ?
                                       segment->staged :
                                       transfer.staging.first;
    const bool            near   = near_of(segment) != nullptr;
    if (ucs_unlikely(near && copy->failed)) {
        decision.verdict = Verdict::Move;
        return decision;
    }
    const bool            copied = !transfer.from_gpu ||
                                   (copy != nullptr && !copy->copying);
    if (ucs_unlikely(!copied && (segment != nullptr ||
                                 !methods_.any_for_gpus()))) {
        decision.verdict = segment != nullptr ? Verdict::Pass : Verdict::Wait;
        return decision; /* until it is copied */
    }
    const sched::Nanos now = host_.now();
    Candidates         candidates;
    refresh(now);
    if (!collect(transfer, segment, copied, now, candidates)) {
        return decision;
    }
    if (ucs_unlikely(near && candidates.count == 0)) {
        decision.verdict = Verdict::Move;
        return decision;
    }
    if (candidates.count == 0) {
        decision.verdict = without_candidates(transfer, segment != nullptr);
        return decision;
    }
    const size_t remaining    = segment != nullptr ? segment->length :
                                                     transfer.rest();
    transfer.demand.remaining = sched::Bytes(remaining);
    transfer.demand.planned   = paths_.planned() && !near;
    transfer.demand.backlog   = sched::Bytes(transfers_.backlog() - remaining);
    sched::Limits limits      = settings_.limits;
    limits.min_chunk          = least(transfer, now, candidates);
    sched::Choice choice =
        settings_.policy->next({candidates.room.at, candidates.count},
                               transfer.demand, limits);
    if (!choice) {
        if (ucs_unlikely(near)) {
            decision.verdict = Verdict::Pass;
        }
        if (candidates.full) {
            pump_.await_room();
        } else if (ucs_unlikely(recovery_.active()) && pump_.idle()) {
            /* None that is left has room, and perhaps none ever will: its wire is
             * silent, and has nothing of ours that would tell. One that rests may be
             * back first. */
            pump_.starve();
        }
        /* With nothing on its way the policy waits for a NIC that others may
         * have copies for. */
        const bool uncopied = transfer.from_gpu && segment == nullptr &&
                              transfer.staging.first == nullptr;
        if (uncopied && (!candidates.waits_for_nic || pump_.idle())) {
            decision.verdict = Verdict::Pass;
        }
        return decision;
    }
    if (ucs_unlikely(traces_)) {
        seen_         = candidates.room.at[choice.path];
        decision.seen = &seen_;
    }
    decision.verdict = Verdict::Send;
    decision.path    = candidates.paths[choice.path];
    decision.method  = candidates.methods[choice.path];
    decision.direct  = candidates.direct[choice.path];
    if (decision.method == TxMethod::Slot) {
        decision.pool = slots_.pool_for(*decision.path);
    }
    decision.length  = length(transfer, decision, choice.length.count(),
                              candidates.room.at[choice.path].window.count(),
                              remaining, segment != nullptr);
    return decision;
}

} // namespace fuselink

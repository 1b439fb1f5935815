/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_BULK_H
#define FUSELINK_TRANSFER_BULK_H

#include "../conn/connection.h"
#include "../conn/endpoints.h"
#include "../memory/region.h"
#include "../memory/remote_key.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"
#include "bulk_context.h"
#include "chunk_selector.h"
#include "chunk_tx.h"
#include "key_source.h"
#include "near_tx.h"
#include "path_recovery.h"
#include "path_room.h"
#include "path_set.h"
#include "path_wireup.h"
#include "retransmission.h"
#include "rx_paths.h"
#include "send_buffers.h"
#include "slot_borrowing.h"
#include "transfer_memory.h"
#include "transfer_owner.h"
#include "transfer_queue.h"
#include "transfer_trials.h"
#include "tx_loop.h"
#include "tx_methods.h"
#include "tx_staging.h"

#include <vector>

namespace fuselink {

/**
 * Sends bulk data to one peer over all paths: transfers are cut into chunks, the
 * policy chooses a path for each, and a transfer ends when every byte is in the
 * peer's memory.
 *
 * It puts its parts together and hands each call to the one whose business it is:
 *
 *     TransferQueue   what is to be sent, and its end
 *     TxLoop          gives it to paths: asks
 *     ChunkSelector   which path, how many bytes, by which of the TxMethods; and
 *     ChunkTx         posts chunks and sees to their end
 *     TxStaging       copies of GPUs' memory on the way, and
 *     NearTx          which of it goes over other GPUs to the NICs beside these
 *     PathSet, PathWireup, PathRoom, PathRecovery, Retransmission
 *                     the paths, and what becomes of bytes when they break
 *
 * One thread at a time (the worker's).
 */
class BulkSender {
public:
    /** All outlive this. */
    BulkSender(Connection &connection, Endpoints &endpoints,
               TransferOwner &owner, KeySource &keys, const RxPaths &rx,
               const BulkContext &context);
    ~BulkSender() { close(); }
    BulkSender(const BulkSender &)            = delete;
    BulkSender &operator=(const BulkSender &) = delete;

    const Connection &connection() const { return connection_; }

    /** The peer's rails are known: makes the paths. Returns how many. */
    size_t set_table(const wire::RailTable &table)
    {
        return paths_.set_table(table);
    }
    /** There are more: see PathSet. What waits may go over these. From progress, or a
     *  rail's callback. */
    void add_own(Rail &rail)
    {
        paths_.add_own(rail);
        loop_.pump_later();
    }
    void add_remote(const wire::RailRecord &remote)
    {
        paths_.add_remote(remote);
        loop_.pump_later();
    }
    /** The peer's rails. */
    const wire::RailTable &table() const { return paths_.table(); }
    bool   ready() const { return paths_.table_known(); }
    bool   has_paths() const { return !paths_.empty(); }
    /** The slot of the peer's memory keys for one of its rails. */
    uint8_t memory_slot(uint8_t rail) const { return paths_.memory_slot(rail); }
    /** Some path carries bulk data by messages, or may come to. Every path has
     *  them: data for a peer's GPU goes by messages while the peer has lent no
     *  slots. */
    bool may_use_messages() const { return !paths_.empty(); }
    /** Some path's NIC can read the peer's memory. */
    bool reads() const { return paths_.reads(); }
    /** Gets are answered by puts into our memory, on some path. */
    bool written_in_place() const { return paths_.written_in_place(); }

    /* Transfers. */

    /** Sends length > 0 bytes; comp ends with the last of them. If that is
     *  before the return, the status is returned instead. */
    ucs_status_t put(PeerUser &user, const void *buffer, size_t length,
                     uint64_t remote, Region *region, const RemoteKey &key,
                     uct_completion_t *comp)
    {
        return transfers_.begin(Transfer::Kind::Put, user, buffer, length,
                                remote, region, key, comp);
    }
    /** Reads length > 0 bytes; only if reads(). */
    ucs_status_t get(PeerUser &user, void *buffer, size_t length,
                     uint64_t remote, Region *region, const RemoteKey &key,
                     uct_completion_t *comp)
    {
        return transfers_.begin(Transfer::Kind::Get, user, buffer, length,
                                remote, region, key, comp);
    }
    /** Sends what the peer asked for. */
    void serve_get(const GetToServe &get) { transfers_.serve(get); }
    /** The peer does not want this get any more. It is told when nothing of
     *  it is under way. False if it is not known (any more). */
    bool stop_serving(const wire::OpId &op)
    {
        return transfers_.stop_serving(op);
    }
    /** Gets that are served. */
    size_t serving() const { return transfers_.serving(); }
    size_t confirming() const { return transfers_.confirming(); }
    /** Ends the puts and gets of one user: what is under way arrives. */
    void cancel(const PeerUser &user) { transfers_.cancel(user); }
    /** The same, and nobody is told. */
    void forget(const PeerUser &user) { transfers_.forget(user); }

    /** Gives chunks to paths as far as windows allow. */
    void pump() { loop_.pump(); }
    void pump_later() { loop_.pump_later(); }

    /* What the peer says: untrusted. */

    /** Wireup of a path. */
    void on_rail_address(const wire::RailAddr       &message,
                         const std::vector<uint8_t> &address)
    {
        wireup_.on_rail_address(message, address);
    }
    /** A chunk which went by messages has landed. */
    void on_chunk_ack(const wire::ChunkAck &ack) { chunks_.on_ack(ack); }
    /** What others send to its rails. */
    void on_grant(const wire::LoadGrant &grant)
    {
        selector_.load_query().on_grant(grant, host_.now());
    }
    /** It lends slots of its memory, */
    void on_slot_grant(const void *data, size_t length)
    {
        if (slots_.on_grant(data, length)) {
            loop_.pump();
        }
    }
    /** and wants some back. */
    void on_slot_recall(const void *data, size_t length)
    {
        slots_.on_recall(data, length);
    }
    /** It is drained on a path that broke. */
    void on_path_quiet(const wire::PathQuiet &message)
    {
        recovery_.on_path_quiet(message);
    }

    /* Messages that go over paths that are streams. */

    /** Begins to connect one, unless that was done. */
    void connect(Path &path) { wireup_.connect(path); }
    /** Those that broke may be connected again if their time has come. Bulk data that
     *  waits for them hears of it: with none left that is broken, nobody else would look. */
    void revive(sched::Nanos now)
    {
        if (ucs_unlikely(recovery_.active())) {
            recovery_.revive(now);
            if (loop_.starves()) {
                loop_.pump_later();
            }
        }
    }
    /** Messages have arrived on it. */
    void carries(Path &path)
    {
        if (ucs_unlikely(path.recovery.out)) {
            recovery_.carries_again(path);
        }
    }
    /** It had no room. */
    void no_room(Path &path) { room_.block(path); }
    /** It did not take what it was given. */
    void post_failed(Path &path, ucs_status_t status)
    {
        recovery_.post_failed(path, status);
    }
    /** Its kernel has all that was given to it. If not, it counts as full until then. */
    bool is_through(Path &path) { return room_.is_through(path); }

    /* Paths that break. */

    /** A path is broken. False if it is none of ours. */
    bool on_path_error(uct_ep_h ep, ucs_status_t status)
    {
        return wireup_.on_path_error(ep, status);
    }
    /** Its wire does not carry, or it does, and by chance what asks for a connection was
     *  lost. From progress. */
    void on_silent(Path &path, bool by_chance = false)
    {
        recovery_.break_silent(path, by_chance);
    }
    /** Its kernel waits for long, while its wire may carry: what was under way as nothing
     *  came from the peer. From progress. */
    void on_left_behind(Path &path) { recovery_.leave_behind(path); }
    /** Nothing came from the peer for long: what breaks until then is of that. */
    void on_away(sched::Nanos until) { recovery_.on_away(until); }
    /** It does not connect, of which the peer knows. From progress. */
    void on_unanswered(Path &path)
    {
        recovery_.break_path(path, UCS_ERR_ENDPOINT_TIMEOUT);
    }
    /** Its wire carries something again. */
    void on_speaking(Path &path) { recovery_.retry(path); }
    /** Links of our NICs have changed, or of the peer's: a bit for each of its rails
     *  without one. */
    void on_carrier()
    {
        for (auto &path : paths_) {
            recovery_.on_carrier(*path);
        }
    }
    void on_peer_carrier(uint16_t down)
    {
        paths_.note_remote_down(down);
        on_carrier();
    }
    /** See PathRecovery::learn_address(). */
    void learn_address(Path &path) { recovery_.learn_address(path, path.ep); }
    /** Something for the other kernel to acknowledge, if there is room. */
    void probe(Path &path) { recovery_.probe(path); }
    /** The peer's end of a pair of queue pairs is gone. */
    void on_peer_broke(uint8_t own, uint8_t remote, bool unheard)
    {
        recovery_.on_peer_broke(own, remote, unheard);
    }
    /** Nothing is left of ours that the peer's NICs could reach. */
    bool torn_down(uint8_t own, uint8_t remote) const
    {
        return recovery_.torn_down(own, remote);
    }
    /** The other end of one that the peer had connected endpoint to endpoint. */
    void drop_inbound(uint8_t own, uint8_t remote)
    {
        wireup_.inbound().drop(own, remote);
    }
    /** Leaves paths out that did not connect, with a warning for each, and
     *  brings those on that broke, and looks for room. Not from a rail's
     *  callback. False if no path remains. */
    bool run_deferred();
    /** The peer has ended a path that is a stream, since this was asked last. */
    bool take_ended() { return recovery_.take_ended(); }

    /* How it ends: the peer has failed. */

    /** Drops all that was not given to a path, or goes by messages. */
    void fail(ucs_status_t status);
    /** Ends what is under way: on paths that carry nothing for the peer's
     *  gets, or on all. Not from a rail's callback. */
    void cancel_in_flight(bool all) { recovery_.cancel_in_flight(all); }
    /** A path broke that may have had bytes of a get in it. */
    bool broken() const { return chunks_.broken(); }
    /** Nothing is under way. */
    bool idle() const { return loop_.idle(); }
    /** Destroys all endpoints, when no copy is under way any more. */
    void close();

    /* For plans over all peers. */

    PathSet       &paths() { return paths_; }
    const PathSet &paths() const { return paths_; }
    /** Bytes that wait for a path. */
    size_t backlog() const { return transfers_.backlog(); }

private:
    Connection    &connection_;
    const Host    &host_;

    /* Parts refer to parts that come later, but none calls another before all are
     * there, nor when they go. Those that others know by an abstract class only
     * (Pump and listeners) come before these. */
    PathSet        paths_;
    SlotBorrowing  slots_;
    TxLoop         loop_;
    TransferTrials trials_;
    SendBuffers    buffers_;
    TransferQueue  transfers_;
    ChunkTx        chunks_;
    Retransmission retransmission_;
    PathRoom       room_;
    PathRecovery   recovery_;
    PathWireup     wireup_;
    TransferMemory memory_;
    TxMethods      methods_;
    TxStaging      staging_;
    NearTx         near_;
    ChunkSelector  selector_;
};

} // namespace fuselink

#endif

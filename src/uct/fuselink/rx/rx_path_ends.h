/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RX_RX_PATH_ENDS_H
#define FUSELINK_RX_RX_PATH_ENDS_H

#include "../conn/connection.h"
#include "../host/host.h"
#include "../rail/poller.h"
#include "../rail/rails.h"
#include "../rma/open_gets.h"
#include "../transfer/bulk.h"
#include "../wire/messages.h"
#include "rx_staging.h"
#include "rx_target.h"

#include <cstdint>
#include <map>
#include <utility>

namespace fuselink {

/**
 * The receiving ends of one peer's paths of bulk data: what comes there by
 * messages, and the far end of recovering a path that broke.
 *
 * The peer sends again what was lost with a path, and wants to know first that
 * nothing of the old connection will be written here any more. What it has to
 * wait for depends on who writes:
 *
 * - the NIC, for a pair of queue pairs: until ours is in the state of error,
 *   where it takes no more;
 * - the NIC, where it has one queue for all peers: until what is in the network
 *   has come. The peer's end sends nothing more;
 * - UCX, for a stream: until that has ended at this end, too; where it is not known
 *   which connection it was, as before, and what the kernel still has of it is read;
 * - fuselink, for messages: late ones are known by their numbers.
 *
 * What the peer says is untrusted. One thread at a time (the worker's).
 */
class RxPathEnds {
public:
    RxPathEnds(Connection &conn, Host &host, const Rails &rails,
               Poller &poller, BulkSender &bulk, OpenGets &gets,
               RxTargets &targets, RxStaging &staging)
        : conn_(conn), host_(host), rails_(rails), poller_(poller),
          bulk_(bulk), gets_(gets), targets_(targets), staging_(staging)
    {
    }
    RxPathEnds(const RxPathEnds &)            = delete;
    RxPathEnds &operator=(const RxPathEnds &) = delete;

    /** A chunk of a get, which the peer's NIC has written, is announced on the
     *  path from its rail `rail` to ours of number `own`. False if it is of a
     *  connection that has ended: it is sent again, or a wire::Landed has come. */
    bool on_announced(uint8_t rail, uint8_t own, uint32_t number);
    /** The same for a chunk, or a part of one, that comes by messages. */
    bool admit(const wire::DataPart &part);
    /** A part of a chunk by messages, for a rail that there is. */
    void on_part(const wire::DataPart &part, const char *data, size_t length);

    /** A wire::PathBroken. */
    void on_broken(const void *data, size_t length);
    /** The peer waits to hear that this path of its is drained. */
    bool owes_drained(uint8_t from, uint8_t own) const;
    /** From progress: polls an interface, and ends endpoints. */
    void drain()
    {
        if (ucs_unlikely(breaks_ != 0) && !conn_.failed()) {
            drain_broken();
        }
    }

private:
    struct Path {
        uint32_t   open = 0; /* number of the chunk that is coming in by parts,
                                plus one */
        bool       of_get = false;
        wire::OpId get{};     /* whose it is, */
        uint64_t   length = 0; /* and what of it is here */
        uint32_t   seen = 0; /* chunks below were announced; */
        uint32_t   from = 0; /* these broke with an earlier connection */
        bool       broken = false; /* the peer waits until it is drained */
        uint32_t   next = 0;
        SocketAddress far;  /* where it began, if that is known; until ended */
        bool       ended = false; /* nothing of it can come any more */
        unsigned   empty = 0; /* polls in a row that found nothing */
        sched::Nanos after;
    };

    bool put(Path &path, const RxTarget &target, const wire::DataPart &part,
             const char *data, size_t length);
    void acknowledge(const wire::DataPart &part, ucs_status_t status);
    void drain_broken();
    bool drained(uint8_t from, uint8_t own, Path &path);
    void end_stream(const Rail &rail, uint8_t from, Path &path);
    void tell_drained(uint8_t from, uint8_t own, Path &path);

    Connection  &conn_;
    Host        &host_;
    const Rails &rails_;
    Poller      &poller_;
    BulkSender  &bulk_;
    OpenGets    &gets_;
    RxTargets   &targets_;
    RxStaging   &staging_;
    /* By the peer's rail and ours. */
    std::map<std::pair<uint8_t, uint8_t>, Path> paths_;
    unsigned breaks_ = 0; /* of them */
};

} // namespace fuselink

#endif

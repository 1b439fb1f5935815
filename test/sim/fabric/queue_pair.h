/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_FABRIC_QUEUE_PAIR_H
#define FUSELINK_TEST_SIM_FABRIC_QUEUE_PAIR_H

#include "channel.h"
#include "process.h"

#include <deque>
#include <memory>
#include <vector>

namespace fuselink::sim {

class PairIface;
class PairEp;

/** What a queue pair is asked to do. */
struct PairWork {
    enum class Kind : uint8_t { Message, Put, Get, Nothing };

    Kind                 kind = Kind::Message;
    uint8_t              am_id = 0;
    std::vector<uint8_t> copy;             /* bytes to send, or */
    const uint8_t       *source = nullptr; /* where they are */
    uint8_t             *to     = nullptr; /* Get: where they go, or */
    bool                 keep   = false;   /* into `copy`, for the user */
    size_t               length = 0;
    uint64_t             remote = 0;
    uint64_t             rkey   = 0;
    unsigned             rkey_process = 0;
    size_t               done   = 0;       /* Get: bytes that have come */
    uint64_t             tag    = 0;       /* the endpoint's */
};

/**
 * One end of a reliable connection, as the NIC has it: it executes what comes
 * without asking the program, and tells the program of the end of its own work by
 * a completion, when the program looks.
 */
struct QueuePair : std::enable_shared_from_this<QueuePair> {
    enum class State : uint8_t { Init, Connected, Error };

    QueuePair(World &world, Process &process, Nic &nic, PairIface &iface)
        : world(world), process(process), nic(nic), iface(&iface)
    {
    }

    void connect(uint32_t remote_number, Nic &remote_nic);
    /** Only if Connected. */
    void post(std::shared_ptr<PairWork> work);
    /** All that was posted ends with an error, and nothing more is done, in
     *  either direction. `tell`: the program did not ask for it. */
    void fail(bool tell);
    /** What its NIC has sent arrives so much later. False if there is nothing. */
    bool lag(Instant time);
    /** A message is handed out. Puts of a lane that broke do not come again where its
     *  end of that could execute them yet. */
    static void check_put_again(const Process &at, uint8_t id,
                                const std::vector<uint8_t> &message);
    /** Of the queue pair at the other end, if it is still there. */
    std::shared_ptr<QueuePair> other() const;

    World     &world;
    Process   &process;
    Nic       &nic;
    PairIface *iface; /* null: destroyed */
    PairEp    *ep = nullptr;
    uint32_t   number = 0;
    uint32_t   remote = 0;
    State      state  = State::Init;
    size_t     fail_in = SIZE_MAX; /* bytes */
    Instant    late_by = 0; /* when it fails, what it has sent arrives yet, so much
                               later, and the other end is not told */
    bool       has_messages = false; /* not bulk data alone */
    bool       has_data = false;
    bool       has_carried = false; /* data, and its program was told so */
    Instant    worked_at = 0; /* something came to its end for the first time */
    uint64_t   heard_from = 0; /* whose lane of messages it is, as they say; */
    uint32_t   heard_session = 0; /* in which connection of theirs; */
    uint8_t    heard_lane = 0; /* its number */

    std::deque<std::shared_ptr<PairWork>> posted; /* and not completed */

    /** Its program has seen it work, as far as one can tell from outside. */
    bool is_proved() const;

private:
    void miss_acknowledgement();
    void note_lane(uint8_t id, const std::vector<uint8_t> &message);
    void send_bytes(const std::shared_ptr<PairWork> &work);
    void arrive(const std::shared_ptr<PairWork> &work, size_t offset,
                std::vector<uint8_t> data, bool last);
    void answer(QueuePair &asker, const std::shared_ptr<PairWork> &work);
    void done(const std::shared_ptr<PairWork> &work, bool well);
    void break_held();
    void arrive_late(const std::shared_ptr<PairWork> &work, size_t offset,
                     size_t length, bool last);
    bool answers(const QueuePair &asker) const;

    bool                      lingers_ = false;
    Instant                   connected_at_ = 0;
    std::shared_ptr<Channel>  out_;
    std::shared_ptr<PairWork> held_; /* a notice that is not sent */
};

} // namespace fuselink::sim

#endif

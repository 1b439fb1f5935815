/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_MESSAGE_PINS_H
#define FUSELINK_CONN_MESSAGE_PINS_H

#include "../ucx.h"
#include "../wire/messages.h"

#include <vector>

namespace fuselink {

class MessagePins;

/** A message that an endpoint sends from the log: it stays there until the endpoint has
 *  sent it all, also if the peer has had it another way by then. */
struct MessagePin {
    uct_completion_t    comp{}; /* first: UCX gives back a pointer to it */
    MessagePins        *pins   = nullptr;
    wire::MessageNumber number = 0;
    bool                held   = false;
};

/**
 * Those of one connection, and what the peer has acknowledged meanwhile.
 *
 * One thread at a time (the worker's).
 */
class MessagePins {
public:
    class Client {
    public:
        /** The peer has had all messages before this one, as it has said; less of them
         *  are pinned now. */
        virtual void on_unpinned(wire::MessageNumber seen) = 0;

    protected:
        ~Client() = default;
    };

    explicit MessagePins(Client &client) : client_(client) {}
    MessagePins(const MessagePins &)            = delete;
    MessagePins &operator=(const MessagePins &) = delete;

    bool any() const { return !held_.empty(); }
    /** Of an endpoint that is about to send message `number`: its completion, for that
     *  call. */
    uct_completion_t &prepare(MessagePin &pin, wire::MessageNumber number);
    /** The endpoint sends it from now on. `first` is the first message of the log. */
    void hold(MessagePin &pin, wire::MessageNumber first);
    /** Of what the peer has acknowledged, what no endpoint is sending. The log has so many
     *  `messages`, from `first` on. */
    wire::MessageNumber before(wire::MessageNumber seen, wire::MessageNumber first,
                               size_t messages);

private:
    static void on_sent(uct_completion_t *comp);

    Client                   &client_;
    std::vector<MessagePin *> held_;
    wire::MessageNumber       seen_ = 0; /* while some are: what is acknowledged */
};

} // namespace fuselink

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_UNIT_CONN_FAKE_CONNECTION_H
#define FUSELINK_TEST_UNIT_CONN_FAKE_CONNECTION_H

#include "conn/connection.h"

#include <cstring>
#include <vector>

/** A connection that keeps what it is told, for a test to look at. */
class FakeConnection final : public fuselink::Connection {
public:
    using Message = std::vector<uint8_t>;

    explicit FakeConnection(uint32_t session = 7, uint64_t uuid = 0xabc)
        : Connection(uuid, session, calls)
    {
    }

    void fail(ucs_status_t status) override
    {
        failed_ = failed() ? failed_ : status;
    }
    void defer() override { ++deferred; }
    void rouse() override { ++roused; }
    void send_control(void *head, size_t head_length, const void *body,
                      size_t body_length) override
    {
        auto   *bytes = static_cast<const uint8_t *>(head);
        Message message(bytes, bytes + head_length);
        if (body_length != 0) {
            auto *more = static_cast<const uint8_t *>(body);
            message.insert(message.end(), more, more + body_length);
        }
        sent.push_back(message);
    }

    /** The last message, which is one of type T. */
    template <typename T> T last() const
    {
        T message{};
        memcpy(&message, sent.back().data(),
               std::min(sizeof(message), sent.back().size()));
        return message;
    }

    fuselink::UserCalls  calls; /* not used before it is there */
    unsigned             deferred = 0;
    unsigned             roused   = 0;
    std::vector<Message> sent;
};

#endif

/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCT_STREAM_EP_H
#define FUSELINK_TEST_SIM_UCT_STREAM_EP_H

#include "stream_iface.h"

#include <deque>

namespace fuselink::sim {

/** One end of a connection of stream NICs, for who sends on it. */
class StreamEp final : public SimEp {
public:
    /** What one that connects to another says of itself. */
    struct Address {
        uint32_t iface, name;
        uint16_t node, subnet;
    };

    explicit StreamEp(StreamIface &owner) : SimEp(owner), iface_(owner) {}
    ~StreamEp() override;

    ucs_status_t am_short(uint8_t id, uint64_t header, const void *data,
                          unsigned length) override;
    ssize_t am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg) override;
    ucs_status_t am_zcopy(uint8_t id, const void *header,
                          unsigned header_length, const uct_iov_t *iov,
                          size_t count, uct_completion_t *comp) override;
    ucs_status_t put_zcopy(const uct_iov_t *iov, size_t count, uint64_t remote,
                           uct_rkey_t rkey, uct_completion_t *comp) override;
    ucs_status_t flush(unsigned flags, uct_completion_t *comp) override;
    ucs_status_t check() override;
    ucs_status_t room() const override;
    /* Endpoint to endpoint. */
    ucs_status_t address(uint8_t *out) const override;
    ucs_status_t connect_to(const uint8_t *address) override;
    StreamEp    *as_stream() override { return this; }
    void         take_name();

    /** The kernel has more room for what UCX holds, or for what waits. */
    bool     wants_to_write() const
    {
        return tx_.record != nullptr || waiting_;
    }
    unsigned continue_writing();
    void     acknowledged(uint32_t sn);
    void     is_connected();
    /** All that is under way ends; completions are called. */
    void     purge(ucs_status_t status);
    void     use(std::shared_ptr<Stream> stream, unsigned side);
    void     break_down(ucs_status_t status);
    /** The peer's connection, which has lost a crossing with this one. */
    void     keep_stale(std::shared_ptr<Stream> given_up, unsigned at);

    std::shared_ptr<Stream> stream;
    unsigned                side = 0;
    uint32_t                remote = 0;
    uint32_t                name   = 0; /* of one that connects to an endpoint */
    enum class State { Connecting, Connected, Closed } state =
        State::Connecting;

private:
    struct Tx {
        std::shared_ptr<StreamRecord> record;
        std::vector<uint8_t>          copy;
        const uint8_t                *data   = nullptr;
        size_t                        offset = 0;
        uct_completion_t             *comp   = nullptr; /* when it is sent */
    };
    struct PutComp {
        uint32_t          sn;
        uct_completion_t *comp;
    };

    ucs_status_t send(StreamRecord record, std::vector<uint8_t> copy,
                      const void *data, size_t length, uct_completion_t *comp);
    ucs_status_t put(const void *data, size_t length, uint64_t remote,
                     uct_completion_t *comp);
    void         push();
    void         drop_stale();

    StreamIface        &iface_;
    Tx                  tx_;
    std::deque<PutComp> puts_;
    std::shared_ptr<Stream> stale_;
    unsigned            stale_side_ = 0;
    uint32_t            put_sn_ = 0, acked_ = 0;
    bool                need_flush_ = false;
    bool                waiting_    = true; /* somebody may be in the queue */
};

} // namespace fuselink::sim

#endif

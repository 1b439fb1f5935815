/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* UCP's active messages. */

#include "../stack/link.h"
#include "cases.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>

namespace fltest {
namespace {

constexpr unsigned kId    = 3;
constexpr unsigned kReply = 4;

/* What a message is made of; its number is the first 8 bytes of the header, or
 * of the data if there is no header. */
struct Shape {
    size_t   header;
    size_t   size;
    unsigned flags;
    unsigned pieces;
};

/* Without what UCX 1.13 cannot do on any transport: its new engine has no
 * rendezvous of a list, and both lose the descriptor of an empty one. */
std::vector<Shape> all_shapes()
{
    bool is_new = *getenv("UCX_PROTO_ENABLE") == 'y';
    std::vector<Shape> shapes;
    for (unsigned flags : {0u, unsigned{UCP_AM_SEND_FLAG_EAGER},
                           unsigned{UCP_AM_SEND_FLAG_RNDV}}) {
        for (size_t header : {0ul, 8ul, 100ul}) {
            for (size_t size : {0ul, 8ul, 100ul, 1000ul, 8000ul, 8192ul, 20000ul,
                                70000ul, 300001ul, 2000003ul}) {
                bool is_rndv = flags == UCP_AM_SEND_FLAG_RNDV;
                if (size == 0 && (header == 0 || is_rndv)) {
                    continue;
                }
                unsigned pieces = is_rndv && is_new ? 1 : shapes.size() % 4 + 1;
                shapes.push_back({header, size, flags, pieces});
            }
        }
    }
    return shapes;
}

/* A message as it is sent, with all that must live until it is. */
class Message {
public:
    Message(const Shape &shape, uint64_t number)
        : shape_(shape), header_(shape.header), body_(shape.size, shape.pieces)
    {
        fill(header_.data(), header_.size(), number);
        if (shape.header != 0) {
            memcpy(header_.data(), &number, 8);
            body_.write(number);
        } else {
            numbered_ = std::make_unique<Buffer>(shape.size);
            numbered_->write(number);
            memcpy(numbered_->data(), &number, 8);
        }
    }

    Request send(Endpoint &ep, unsigned id, unsigned flags = 0)
    {
        return ep.send_am(id, header_.data(), header_.size(),
                          numbered_ ? *numbered_ : body_,
                          shape_.flags | flags);
    }

private:
    Shape                   shape_;
    std::vector<uint8_t>    header_;
    Buffer                  body_;
    std::unique_ptr<Buffer> numbered_;
};

/* Receives messages in all the ways there are, and checks them. What comes in
 * callbacks is noted, for fail() must not be called there. */
class Receiver {
public:
    Receiver(Worker &worker, std::vector<Shape> shapes, unsigned flags)
        : worker_(worker), shapes_(std::move(shapes)), seen_(shapes_.size())
    {
        worker.on_am(
            kId,
            [this](const void *header, size_t header_length, void *data,
                   size_t length, const ucp_am_recv_param_t &param) {
                return on_message(header, header_length, data, length, param);
            },
            flags);
    }

    bool done()
    {
        serve();
        return (complete_ == shapes_.size() && kept_.empty() &&
                fetched_.empty()) || !wrong_.empty();
    }

    void require_good() const
    {
        REQUIRE(wrong_.empty(), "%s", wrong_.c_str());
        REQUIRE(held_ != 0 || !whole_, "no data was kept for later");
    }

    /* All data comes in one piece that can be kept. */
    void expect_whole() { whole_ = true; }

private:
    struct Kept {
        uint64_t number;
        bool     has_number; /* else it is in the data */
        void    *data;
        size_t   length;
    };
    struct Fetched {
        Fetched(uint64_t number, bool has_number, void *description,
                size_t length, unsigned pieces)
            : number(number), has_number(has_number),
              description(description), buffer(length, pieces)
        {
        }

        uint64_t number;
        bool     has_number;
        void    *description; /* null: being fetched */
        Buffer   buffer;
        Request  request{};
    };

    ucs_status_t on_message(const void *header, size_t header_length,
                            void *data, size_t length,
                            const ucp_am_recv_param_t &param)
    {
        uint64_t number = 0;
        if (header_length != 0) {
            memcpy(&number, header, 8);
            if (number >= shapes_.size() ||
                header_length != shapes_[number].header ||
                mismatch(static_cast<const char *>(header) + 8,
                         header_length - 8, number, 8) >= 0) {
                note("wrong header", number);
                return UCS_OK;
            }
        }
        bool has_number = header_length != 0;
        if (param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
            /* Some are fetched at once, some later. */
            Fetched &fetched = fetched_.emplace_back(number, has_number, data,
                                                     length, 1 + count_ % 3);
            if (++count_ % 2) {
                fetch(fetched);
            }
            return UCS_INPROGRESS;
        }
        if ((param.recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) && ++count_ % 2) {
            kept_.push_back({number, has_number, data, length});
            ++held_;
            return UCS_INPROGRESS;
        }
        if (whole_ && !(param.recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA)) {
            note("data that cannot be kept", number);
        }
        check(number, has_number, data, length);
        return UCS_OK;
    }

    void fetch(Fetched &fetched)
    {
        void *description = std::exchange(fetched.description, nullptr);
        fetched.request   = worker_.receive_am(fetched.buffer, description);
    }

    /* What the callbacks left. */
    void serve()
    {
        while (!kept_.empty()) {
            Kept kept = kept_.front();
            kept_.pop_front();
            check(kept.number, kept.has_number, kept.data, kept.length);
            ucp_am_data_release(worker_.handle(), kept.data);
        }
        for (auto it = fetched_.begin(); it != fetched_.end();) {
            if (it->description != nullptr) {
                fetch(*it);
            }
            if (!it->request.done()) {
                ++it;
                continue;
            }
            if (it->request.status() != UCS_OK ||
                it->request.length() != it->buffer.size()) {
                note(ucs_status_string(it->request.status()), it->number);
            }
            std::vector<char> flat = it->buffer.flat();
            check(it->number, it->has_number, flat.data(), flat.size());
            it = fetched_.erase(it);
        }
    }

    void check(uint64_t number, bool has_number, const void *data,
               size_t length)
    {
        size_t skip = 0;
        if (!has_number) {
            memcpy(&number, data, 8);
            skip = 8;
        }
        if (number >= shapes_.size() || seen_[number] ||
            length != shapes_[number].size ||
            has_number != (shapes_[number].header != 0)) {
            note("unexpected message", number);
            return;
        }
        seen_[number] = true;
        ++complete_;
        ptrdiff_t at = mismatch(static_cast<const char *>(data) + skip,
                                length - skip, number, skip);
        if (at >= 0) {
            note("wrong data", number);
        }
    }

    void note(const char *what, uint64_t number)
    {
        if (wrong_.empty()) {
            wrong_ = format("%s, message %lu, number %zu to come", what,
                            number, complete_);
        }
    }

    Worker            &worker_;
    std::vector<Shape> shapes_;
    std::vector<bool>  seen_;
    std::deque<Kept>   kept_;
    std::list<Fetched> fetched_;
    size_t             complete_ = 0;
    unsigned           count_    = 0;
    unsigned           held_     = 0;
    bool               whole_    = false;
    std::string        wrong_;
};

/* All shapes, in both directions at once. */
void shapes(Session &session, unsigned handler_flags)
{
    Link link(session, {});
    std::vector<Shape> shapes = all_shapes();
    Receiver receiver(link.worker(), shapes, handler_flags);
    if (handler_flags != 0) {
        receiver.expect_whole();
    }
    link.meet();
    std::deque<Message> messages;
    std::vector<Request> sends;
    for (size_t i = 0; i < shapes.size(); ++i) {
        messages.emplace_back(shapes[i], i);
        sends.push_back(messages[i].send(link.ep(), kId));
    }
    link.worker().until([&] { return receiver.done(); }, "messages");
    receiver.require_good();
    link.worker().finish_all(sends, "send");
    link.finish();
}

/* Small messages arrive in the order of sending. */
void order(Session &session)
{
    constexpr uint64_t kMessages = 5000;

    Link link(session, {});
    uint64_t next = 0;
    bool good     = true;
    link.worker().on_am(kId, [&](const void *header, size_t, void *data,
                                 size_t length, const ucp_am_recv_param_t &) {
        uint64_t number;
        memcpy(&number, header, 8);
        good = good && number == next && length == Random(number).below(3000) &&
               mismatch(data, length, number) < 0;
        ++next;
        return UCS_OK;
    });
    link.meet();
    std::deque<uint64_t> numbers;
    std::deque<Buffer> buffers;
    std::deque<Request> sends;
    for (uint64_t i = 0; i < kMessages; ++i) {
        numbers.push_back(i);
        buffers.emplace_back(Random(i).below(3000)).write(i);
        sends.push_back(link.ep().send_am(kId, &numbers.back(), 8,
                                          buffers.back(),
                                          UCP_AM_SEND_FLAG_EAGER));
        if (i % 100 == 0) {
            link.worker().progress();
        }
    }
    link.worker().until([&] { return next == kMessages; }, "messages");
    REQUIRE(good, "messages are not as sent, or in another order");
    link.worker().finish_all(sends, "send");
    link.finish();
}

/* The passive side has no endpoint of its own: it answers by the one that came
 * with the message. */
void reply(Session &session)
{
    constexpr unsigned kRounds = 20;
    constexpr size_t kSize     = 400000;

    Link link(session, {.connect = session.active()});
    Worker &worker = link.worker();
    std::deque<Buffer> buffers;
    std::deque<Request> requests;
    std::deque<std::pair<void *, size_t>> arrived;
    ucp_ep_h reply_ep = nullptr;
    unsigned come     = 0;
    bool lost         = false;
    auto handler = [&](const void *, size_t, void *data, size_t length,
                       const ucp_am_recv_param_t &param) {
        if (!session.active()) {
            lost |= !(param.recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP);
            reply_ep = param.reply_ep;
        }
        lost |= !(param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV);
        arrived.emplace_back(data, length);
        return UCS_INPROGRESS;
    };
    worker.on_am(session.active() ? kReply : kId, handler);
    link.meet();
    std::unique_ptr<Endpoint> back;
    for (; come < kRounds; ++come) {
        Buffer out(kSize), in(kSize);
        out.write(mix(come) + session.active());
        Request send;
        if (session.active()) {
            send = link.ep().send_am(kId, &come, 4, out,
                                     UCP_AM_SEND_FLAG_REPLY |
                                         UCP_AM_SEND_FLAG_RNDV);
        }
        worker.until([&] { return !arrived.empty(); }, "a message");
        REQUIRE(!lost && arrived.front().second == kSize,
                "a message is not as it was sent");
        worker.finish(worker.receive_am(in, arrived.front().first), "data");
        arrived.pop_front();
        in.require(mix(come) + !session.active(), "message");
        if (!session.active()) {
            if (!back) {
                back = std::make_unique<Endpoint>(worker, reply_ep);
            }
            REQUIRE(back->handle() == reply_ep, "another endpoint");
            send = back->send_am(kReply, &come, 4, out, UCP_AM_SEND_FLAG_RNDV);
        }
        worker.finish(send, "send");
    }
    link.meet();
    if (session.active()) {
        link.disconnect();
    } else {
        back->close();
    }
    link.meet();
}

} // namespace

std::vector<Case> am_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "am.shapes", [](Session &s) { shapes(s, 0); });
    for_engines(cases, "am.kept", [](Session &s) {
        shapes(s, UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA);
    });
    for_engines(cases, "am.order", order);
    for_engines(cases, "am.reply", reply);
    return cases;
}

} // namespace fltest

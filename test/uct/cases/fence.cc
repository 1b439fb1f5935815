/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* What was begun before a fence is done before what is begun after it. */

#include "../stack/link.h"
#include "cases.h"

#include <cstring>
#include <deque>

namespace fltest {
namespace {

constexpr uint8_t kDone = 4; /* message: everything of a round is there */
constexpr uint8_t kAck  = 5; /* message: it was looked at */

/* Rounds of several puts, a fence and a message. When the message is there,
 * every byte must be. The next rounds are under way meanwhile. */
class PutThenMessage {
public:
    static constexpr uint64_t kAhead = 3;       /* rounds under way */
    static constexpr size_t   kArea  = 4 << 20; /* of a round */
    static constexpr size_t   kMemory = (kAhead + 1) * kArea;

    PutThenMessage(Link &link, uint64_t rounds, bool of_iface)
        : link_(link), rounds_(rounds), of_iface_(of_iface)
    {
    }

    void send()
    {
        link_.iface().on_message(kAck, [&](void *, size_t, unsigned) {
            ++acked_;
            return UCS_OK;
        });
        link_.meet();
        std::deque<Op> ops;
        for (uint64_t round = 0; round < rounds_; ++round) {
            link_.worker().until([&] { return round < acked_ + kAhead + 1; },
                                 "the other side to look at a round");
            put(round, ops);
            if (of_iface_) {
                REQUIRE_OK(uct_iface_fence(link_.iface().handle(), 0));
            } else {
                link_.ep().fence();
            }
            message(round, ops);
        }
        link_.worker().until([&] { return acked_ == rounds_; },
                             "the last round");
        for (Op &op : ops) {
            link_.ep().finish(op, "operation before a fence");
        }
        link_.meet();
    }

    void receive()
    {
        uint64_t next = 0;
        std::string wrong;
        link_.iface().on_message(kDone, [&](void *data, size_t, unsigned) {
            uint64_t round;
            memcpy(&round, data, sizeof(round));
            if (round != next) {
                wrong = format("round %lu came where %lu was due", round,
                               next);
            }
            for (const Part &part : parts_of(round)) {
                ptrdiff_t at = mismatch(link_.memory().at(part.at),
                                        part.length, part.seed);
                if (at >= 0 && wrong.empty()) {
                    wrong = format("round %lu: the message came before byte "
                                   "%td of a put (kind %d) of %zu bytes",
                                   round, at, static_cast<int>(part.kind),
                                   part.length);
                }
            }
            ++next;
            return UCS_OK;
        });
        link_.meet();
        for (uint64_t acked = 0; acked < rounds_; ++acked) {
            link_.worker().until([&] { return next > acked; }, "a round");
            REQUIRE(wrong.empty(), "%s", wrong.c_str());
            link_.ep().am_short(kAck, acked);
        }
        link_.meet();
    }

private:
    enum class Kind { Short, Bcopy, Zcopy };

    struct Part {
        Kind     kind;
        size_t   at;
        size_t   length;
        uint64_t seed;
    };

    std::vector<Part> parts_of(uint64_t round) const
    {
        const auto &put = link_.iface().attr().cap.put;
        bool small      = link_.iface().has(UCT_IFACE_FLAG_PUT_SHORT);
        Random random(round);
        size_t at = (round % (kAhead + 1)) * kArea;
        size_t end = at + kArea;
        std::vector<Part> parts;
        /* Now one large, now many small ones, now both. */
        uint64_t large = random.below(3), little = small ? random.below(6) : 0;
        if (large + little == 0) {
            large = 1;
        }
        for (uint64_t i = 0; i < large; ++i) {
            at += random.below(9);
            size_t most   = (end - at) / (large - i) - 100000;
            size_t length = random.between(1, random.below(3) == 0 ? 60000 :
                                                                     most);
            parts.push_back({Kind::Zcopy, at, length, random.next()});
            at += length;
        }
        for (uint64_t i = 0; i < little; ++i) {
            at += random.below(9);
            Kind kind   = random.below(2) == 0 ? Kind::Short : Kind::Bcopy;
            size_t most = kind == Kind::Short ? put.max_short : put.max_bcopy;
            size_t length = random.between(1, most);
            parts.push_back({kind, at, length, random.next()});
            at += length;
        }
        return parts;
    }

    void put(uint64_t round, std::deque<Op> &ops)
    {
        for (const Part &part : parts_of(round)) {
            char *data = link_.memory().at(part.at);
            fill(data, part.length, part.seed);
            switch (part.kind) {
            case Kind::Short:
                link_.ep().put_short(data, part.length, link_.remote(),
                                     part.at);
                break;
            case Kind::Bcopy:
                link_.ep().put_bcopy(data, part.length, link_.remote(),
                                     part.at);
                break;
            case Kind::Zcopy:
                link_.ep().put_zcopy(link_.memory().iov(part.at, part.length),
                                     link_.remote(), part.at,
                                     &ops.emplace_back());
            }
        }
    }

    void message(uint64_t round, std::deque<Op> &ops)
    {
        bool zcopy = link_.iface().has(UCT_IFACE_FLAG_AM_ZCOPY);
        if (round % 3 == 0) {
            link_.ep().am_short(kDone, round);
        } else if (round % 3 == 1 || !zcopy) {
            link_.ep().am_bcopy(kDone, &round, sizeof(round));
        } else {
            link_.ep().am_zcopy(kDone, &round, sizeof(round),
                                {link_.memory().iov(0, 100)},
                                ops.emplace_back());
        }
    }

    Link    &link_;
    uint64_t rounds_;
    bool     of_iface_;
    uint64_t acked_ = 0;
};

void put_then_message(Session &session, const char *device, uint64_t rounds,
                      bool of_iface)
{
    Channel channel = session.connection();
    Link link(channel,
              {.device = device, .memory = PutThenMessage::kMemory});
    PutThenMessage test(link, rounds, of_iface);
    session.active() ? test.send() : test.receive();
}

/* A random program of puts and gets to overlapping places with a fence behind
 * each. What it must lead to is found by running it on a plain array. */
class Program {
public:
    static constexpr size_t kSize = 1 << 20;

    enum class Kind { PutShort, PutBcopy, PutZcopy, GetBcopy, GetZcopy };

    struct Step {
        Kind     kind;
        size_t   at;
        size_t   length;
        uint64_t seed;

        bool is_put() const { return kind <= Kind::PutZcopy; }
    };

    Program(const Iface &iface, uint64_t seed, size_t steps)
    {
        const auto &cap = iface.attr().cap;
        bool small      = iface.has(UCT_IFACE_FLAG_PUT_SHORT);
        Random random(seed);
        for (size_t i = 0; i < steps; ++i) {
            Step step{};
            do {
                step.kind = static_cast<Kind>(random.below(5));
            } while (!small && step.kind != Kind::PutZcopy &&
                     step.kind != Kind::GetZcopy);
            size_t most = step.kind == Kind::PutShort ? cap.put.max_short :
                          step.kind == Kind::PutBcopy ? cap.put.max_bcopy :
                          step.kind == Kind::GetBcopy ? cap.get.max_bcopy :
                                                        kSize;
            /* Everything begins near the start, so that all overlap. */
            step.at     = random.below(3000);
            step.length = random.between(1, std::min(most, kSize - step.at));
            if (random.below(2) == 0) {
                step.length = std::min(step.length, random.between(1, 30000));
            }
            step.seed = random.next();
            steps_.push_back(step);
        }
    }

    const std::vector<Step> &steps() const { return steps_; }

    /* Runs on an array; `seen` is called for each get with its data. */
    template <typename Seen> void run_on(char *array, Seen &&seen) const
    {
        for (size_t i = 0; i < steps_.size(); ++i) {
            const Step &step = steps_[i];
            if (step.is_put()) {
                fill(array + step.at, step.length, step.seed);
            } else {
                seen(i, array + step.at);
            }
        }
    }

private:
    std::vector<Step> steps_;
};

void overlapping(Session &session, const char *device)
{
    Channel channel = session.connection();
    Link link(channel, {.device = device, .memory = Program::kSize});
    Program program(link.iface(), 5, 250);
    if (!session.active()) {
        link.await_told();
        std::vector<char> model(Program::kSize);
        program.run_on(model.data(), [](size_t, const char *) {});
        for (size_t i = 0; i < Program::kSize; ++i) {
            REQUIRE(model[i] == link.memory().at(i)[0],
                    "byte %zu is not of the last put to it", i);
        }
        link.meet();
        return;
    }

    std::deque<Op> ops;
    std::deque<Memory> buffers;
    for (const Program::Step &step : program.steps()) {
        Memory &buffer = buffers.emplace_back(link.iface().domain(),
                                              step.length);
        if (step.is_put()) {
            fill(buffer.data(), step.length, step.seed);
        }
        Endpoint &ep = link.ep();
        Op &op       = ops.emplace_back();
        switch (step.kind) {
        case Program::Kind::PutShort:
            ep.put_short(buffer.data(), step.length, link.remote(), step.at);
            break;
        case Program::Kind::PutBcopy:
            ep.put_bcopy(buffer.data(), step.length, link.remote(), step.at);
            break;
        case Program::Kind::PutZcopy:
            ep.put_zcopy(buffer.iov(0, step.length), link.remote(), step.at,
                         &op);
            break;
        case Program::Kind::GetBcopy:
            ep.get_bcopy(buffer.data(), step.length, link.remote(), step.at,
                         op);
            break;
        case Program::Kind::GetZcopy:
            ep.get_zcopy(buffer.iov(0, step.length), link.remote(), step.at,
                         op);
            break;
        }
        ep.fence();
    }
    Op flush;
    link.ep().flush(flush);
    link.ep().finish(flush, "flush");
    link.tell();
    for (Op &op : ops) {
        link.ep().finish(op, "operation between fences");
    }
    std::vector<char> model(Program::kSize);
    program.run_on(model.data(), [&](size_t i, const char *expected) {
        size_t length = program.steps()[i].length;
        REQUIRE(memcmp(buffers[i].data(), expected, length) == 0,
                "step %zu: a get of %zu bytes saw a later or missed an earlier "
                "put", i, length);
    });
    link.meet();
}

/* Rounds of a short get, a fence and a message that is answered. When the answer is
 * there, so are the bytes: UCP's atomics are such messages, and that of them is all
 * that MPI has to tell the end of a get by. */
void get_then_message(Session &session, const char *device)
{
    constexpr size_t   kSlots = 64, kSlot = 256;
    constexpr uint64_t kRounds = 1000;
    Channel channel = session.connection();
    Link    link(channel, {.device = device, .memory = kSlots * kSlot});
    uint64_t asked = 0, answered = 0;
    if (!session.active()) {
        for (size_t i = 0; i < kSlots; ++i) {
            fill(link.memory().at(i * kSlot), kSlot, i);
        }
        link.iface().on_message(kDone, [&](void *, size_t, unsigned) {
            ++asked;
            return UCS_OK;
        });
        link.meet();
        for (; answered < kRounds; ++answered) {
            link.worker().until([&] { return asked > answered; }, "a round");
            link.ep().am_short(kAck, answered);
        }
        link.meet();
        return;
    }
    Memory   buffer(link.iface().domain(), kSlot);
    Random   random(1);
    size_t   slot = 0, length = 0;
    uint64_t early = 0;
    link.iface().on_message(kAck, [&](void *, size_t, unsigned) {
        ++answered;
        early += mismatch(buffer.data(), length, slot) >= 0;
        return UCS_OK;
    });
    link.meet();
    const bool bcopy = link.iface().has(UCT_IFACE_FLAG_GET_BCOPY);
    for (uint64_t round = 0; round < kRounds; ++round) {
        Op op;
        slot   = random.below(kSlots);
        length = random.between(1, kSlot);
        memset(buffer.data(), 0, kSlot);
        if (bcopy && random.below(2) == 0) {
            link.ep().get_bcopy(buffer.data(), length, link.remote(),
                                slot * kSlot, op);
        } else {
            link.ep().get_zcopy(buffer.iov(0, length), link.remote(),
                                slot * kSlot, op);
        }
        REQUIRE_OK(uct_iface_fence(link.iface().handle(), 0));
        link.ep().am_short(kDone, round);
        link.worker().until([&] { return answered > round; }, "an answer");
        link.ep().finish(op, "get before a fence");
    }
    REQUIRE(early == 0, "%lu of %lu answers came before the bytes of a get that "
            "was before the question", early, kRounds);
    link.meet();
}

Case make(const std::string &name, std::function<void(Session &)> both)
{
    return {name, both, both};
}

} // namespace

std::vector<Case> fence_cases()
{
    std::vector<Case> cases;
    for (const char *device : {"rails", "node"}) {
        std::string prefix = std::string(device) + ".fence.";
        cases.push_back(make(prefix + "put_then_message", [=](Session &s) {
            put_then_message(s, device, 100, false);
        }));
        cases.push_back(make(prefix + "of_the_interface", [=](Session &s) {
            put_then_message(s, device, 40, true);
        }));
        cases.push_back(make(prefix + "get_then_message", [=](Session &s) {
            get_then_message(s, device);
        }));
        cases.push_back(make(prefix + "overlapping", [=](Session &s) {
            overlapping(s, device);
        }));
    }
    return cases;
}

} // namespace fltest

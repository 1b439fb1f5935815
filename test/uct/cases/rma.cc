/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Puts and gets of every kind and size. */

#include "../stack/link.h"
#include "cases.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <sys/mman.h>
#include <unistd.h>

namespace fltest {
namespace {

enum class Kind { Short, Bcopy, Zcopy };

/* One access to remote memory and where it goes. */
struct Access {
    Kind     kind;
    size_t   local;
    size_t   remote;
    size_t   length;
    uint64_t seed;
};

constexpr uint64_t kBackground = 99; /* the pattern of untouched memory */

/* Accesses one behind the other, never touching, at uneven offsets. */
class Plan {
public:
    void add(Kind kind, size_t length)
    {
        at_ += 1 + 2 * (count_ % 5);
        accesses_.push_back({kind, at_ + count_ % 3, at_, length,
                             1000 + count_});
        at_ += length + 3;
        ++count_;
    }

    const std::vector<Access> &accesses() const { return accesses_; }
    size_t memory() const { return at_ + 16; }

private:
    std::vector<Access> accesses_;
    size_t              at_    = 0;
    size_t              count_ = 0;
};

void add_sizes(Plan &plan, Kind kind, size_t most)
{
    for (size_t size : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{7},
                        size_t{8}, size_t{9}, size_t{255}, size_t{4095}}) {
        plan.add(kind, size);
    }
    for (size_t size : {most - 1, most}) {
        plan.add(kind, size);
    }
}

void add_large(Plan &plan)
{
    /* 8191 to 8193: where gets stop being answered by a message; 16 k: the
     * smallest chunk; then what takes several rails. */
    for (size_t size : {0, 1, 2, 3, 63, 4096, 8191, 8192, 8193, 16383, 16384,
                        16385, 32767, 32769, 65535, 65536, 65537, 131073,
                        262145, 1048575, 1048576, 1048577, 4194303}) {
        plan.add(Kind::Zcopy, size);
    }
    plan.add(Kind::Zcopy, (32 << 20) - 1);
    plan.add(Kind::Zcopy, 32 << 20);
}

Plan put_plan(const uct_iface_attr_t &attr)
{
    Plan plan;
    if (attr.cap.flags & UCT_IFACE_FLAG_PUT_SHORT) {
        add_sizes(plan, Kind::Short, attr.cap.put.max_short);
        add_sizes(plan, Kind::Bcopy, attr.cap.put.max_bcopy);
    }
    add_large(plan);
    return plan;
}

Plan get_plan(const uct_iface_attr_t &attr)
{
    Plan plan;
    if (attr.cap.flags & UCT_IFACE_FLAG_GET_BCOPY) {
        add_sizes(plan, Kind::Bcopy, attr.cap.get.max_bcopy);
    }
    add_large(plan);
    return plan;
}

/* Fails unless memory is the background with the accesses' data in it, where
 * `place` says that an access lies. */
void require_memory(const Memory &memory, const std::vector<Access> &accesses,
                    size_t Access::*place, const char *what)
{
    size_t at = 0;
    for (const Access &access : accesses) {
        size_t from = access.*place;
        require_pattern(memory.at(at), from - at, kBackground,
                        format("%s: beside %zu bytes", what,
                               access.length).c_str(), at);
        require_pattern(memory.at(from), access.length, access.seed,
                        format("%s (kind %d) of %zu bytes", what,
                               static_cast<int>(access.kind),
                               access.length).c_str());
        at = from + access.length;
    }
    require_pattern(memory.at(at), memory.size() - at, kBackground,
                    "behind the last", at);
}

void puts(Session &session, const char *device)
{
    Channel channel = session.connection();
    Plan plan;
    {
        Domain domain;
        Worker worker;
        plan = put_plan(Iface(domain, worker, device).attr());
    }
    Link link(channel, {.device = device, .memory = plan.memory()});
    fill(link.memory().data(), plan.memory(), kBackground);
    if (!session.active()) {
        link.meet();
        link.await_told();
        /* The flush ended before we were told: nothing may be missing. */
        require_memory(link.memory(), plan.accesses(), &Access::remote, "put");
        link.meet();
        return;
    }
    link.meet();
    for (const Access &a : plan.accesses()) {
        fill(link.memory().at(a.local), a.length, a.seed);
    }
    std::deque<Op> ops;
    for (const Access &a : plan.accesses()) {
        switch (a.kind) {
        case Kind::Short:
            link.ep().put_short(link.memory().at(a.local), a.length,
                                link.remote(), a.remote);
            break;
        case Kind::Bcopy:
            link.ep().put_bcopy(link.memory().at(a.local), a.length,
                                link.remote(), a.remote);
            break;
        case Kind::Zcopy:
            link.ep().put_zcopy(link.memory().iov(a.local, a.length),
                                link.remote(), a.remote, &ops.emplace_back());
        }
    }
    Op flush;
    link.ep().flush(flush);
    link.ep().finish(flush, "flush");
    link.tell();
    for (Op &op : ops) {
        link.ep().finish(op, "put_zcopy");
    }
    link.meet();
    link.worker().for_seconds(0.02);
    for (Op &op : ops) {
        op.require_exact("put_zcopy");
    }
}

void gets(Session &session, const char *device)
{
    Channel channel = session.connection();
    Plan plan;
    {
        Domain domain;
        Worker worker;
        plan = get_plan(Iface(domain, worker, device).attr());
    }
    Link link(channel, {.device = device, .memory = plan.memory()});
    fill(link.memory().data(), plan.memory(), kBackground);
    if (!session.active()) {
        for (const Access &a : plan.accesses()) {
            fill(link.memory().at(a.remote), a.length, a.seed);
        }
        link.meet();
        link.meet();
        return;
    }
    link.meet();
    std::deque<Op> ops;
    for (const Access &a : plan.accesses()) {
        Op &op = ops.emplace_back();
        if (a.kind == Kind::Bcopy) {
            link.ep().get_bcopy(link.memory().at(a.local), a.length,
                                link.remote(), a.remote, op);
        } else {
            link.ep().get_zcopy(link.memory().iov(a.local, a.length),
                                link.remote(), a.remote, op);
        }
    }
    for (Op &op : ops) {
        link.ep().finish(op, "get");
    }
    require_memory(link.memory(), plan.accesses(), &Access::local, "get");
    link.meet();
    for (Op &op : ops) {
        op.require_exact("get");
    }
}

/* Many puts and gets of random sizes at once, in both directions. */
void many(Session &session, const char *device)
{
    constexpr size_t kOps  = 400;
    constexpr size_t kArea = 24 << 20;

    /* Four areas of each side's memory: what the other puts here, what it gets
     * from here, what this side puts, what it gets. */
    struct Part {
        size_t at;
        size_t length;
        bool   put;
        bool   bcopy;
    };
    auto plan = [](uint64_t seed) {
        Random random(seed);
        std::vector<Part> parts;
        size_t at = 0;
        for (size_t i = 0; i < kOps; ++i) {
            auto length = static_cast<size_t>(
                exp2(static_cast<double>(random.below(1900)) / 100));
            at += random.below(5);
            parts.push_back({at, length, random.below(2) == 0,
                             length < 4000 && random.below(2) == 0});
            at += length;
        }
        REQUIRE(at <= kArea, "the plan needs %zu bytes", at);
        return parts;
    };
    uint64_t me = session.active(), other = 1 - me;

    Channel channel = session.connection();
    Link link(channel, {.device = device, .memory = 4 * kArea});
    bool bcopy = link.iface().has(UCT_IFACE_FLAG_GET_BCOPY);
    fill(link.memory().at(kArea), kArea, 10 + me);
    fill(link.memory().at(2 * kArea), kArea, 20 + me);
    link.meet();

    std::vector<Part> own = plan(me);
    std::deque<Op> ops;
    for (const Part &p : own) {
        Memory &memory = link.memory();
        if (p.put && p.bcopy && bcopy) {
            link.ep().put_bcopy(memory.at(2 * kArea + p.at), p.length,
                                link.remote(), p.at);
        } else if (p.put) {
            link.ep().put_zcopy(memory.iov(2 * kArea + p.at, p.length),
                                link.remote(), p.at, &ops.emplace_back());
        } else if (p.bcopy && bcopy) {
            link.ep().get_bcopy(memory.at(3 * kArea + p.at), p.length,
                                link.remote(), kArea + p.at,
                                ops.emplace_back());
        } else {
            link.ep().get_zcopy(memory.iov(3 * kArea + p.at, p.length),
                                link.remote(), kArea + p.at,
                                ops.emplace_back());
        }
    }
    link.ep().flush_now();
    for (Op &op : ops) {
        REQUIRE(op.done(), "flush ended before an operation");
        link.ep().finish(op, "operation");
    }
    link.meet(); /* the other has flushed, too */

    for (const Part &p : own) {
        if (!p.put) {
            require_pattern(link.memory().at(3 * kArea + p.at), p.length,
                            10 + other, "get", p.at);
        }
    }
    for (const Part &p : plan(other)) {
        if (p.put) {
            require_pattern(link.memory().at(p.at), p.length, 20 + other,
                            "put", p.at);
        }
    }
    link.meet();
    for (Op &op : ops) {
        op.require_exact("operation");
    }
}

/* What the key does not name is neither read nor written; the connection is
 * good for more. */
void out_of_range(Session &session)
{
    constexpr size_t kSize = 65536;

    Channel channel = session.connection();
    Link link(channel, {.memory = kSize});
    fill(link.memory().data(), kSize, session.active());
    link.meet();
    if (!session.active()) {
        link.meet();
        require_pattern(link.memory().data(), kSize, 0, "the memory");
        link.meet();
        return;
    }
    Memory target(link.iface().domain(), 2 * kSize);
    struct {
        size_t offset, length;
    } bad[] = {{kSize - 10, 11},
               {kSize, 1},
               {kSize - 100, kSize},
               {static_cast<size_t>(-8), 16},
               {kSize + 4096, 65536}};
    for (const auto &range : bad) {
        Op zcopy, bcopy;
        link.ep().get_zcopy(target.iov(0, range.length), link.remote(),
                            range.offset, zcopy);
        link.worker().until([&] { return zcopy.done(); }, "the refusal");
        zcopy.require_exact("get_zcopy");
        REQUIRE(UCS_STATUS_IS_ERR(zcopy.status()),
                "get of %zu bytes at %zu succeeded", range.length,
                range.offset);
        if (range.length < 4096) {
            link.ep().get_bcopy(target.data(), range.length, link.remote(),
                                range.offset, bcopy);
            link.worker().until([&] { return bcopy.done(); }, "the refusal");
            REQUIRE(UCS_STATUS_IS_ERR(bcopy.status()),
                    "get_bcopy of %zu bytes at %zu succeeded", range.length,
                    range.offset);
        }
    }
    char data[16] = {};
    link.ep().put_short(data, 16, link.remote(), kSize - 15);
    link.ep().put_bcopy(data, 16, link.remote(), static_cast<size_t>(-1));
    link.ep().flush_now();
    for (size_t i = 0; i < target.size(); ++i) {
        REQUIRE(target.at(i)[0] == 0, "byte %zu came of a refused get", i);
    }
    Op good;
    link.ep().get_zcopy(target.iov(0, kSize), link.remote(), 0, good);
    link.ep().finish(good, "a get after the refused ones");
    require_pattern(target.data(), kSize, 0, "get");
    link.meet();
    link.meet();
}

/* What its owner gave away by a key that may end is his again at once, whatever is under
 * way, and nothing else ends with it. With `unmaps` it is no memory any more then, and a
 * kernel that still has some to send finds that out. */
void revoked(Session &session, bool unmaps)
{
    constexpr size_t  kSize = 16 << 20; /* what is read is in front, */
    constexpr size_t  kPuts = 4 << 20;  /* and there they go behind it */
    constexpr uint8_t kMine = 0xee;

    Channel channel = session.connection();
    Link link(channel, {.memory = kSize + kPuts});
    if (!session.active()) {
        Memory book(link.domain(), kSize + kPuts);
        fill(book.data(), kSize, 3);
        fill(link.memory().data(), link.memory().size(), 4);
        channel.send(book.describe_revocable());
        link.meet();
        link.await_told();
        book.revoke();
        if (unmaps) {
            const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
            const auto from = (reinterpret_cast<uintptr_t>(book.data()) + page - 1) / page * page;
            REQUIRE(mprotect(reinterpret_cast<void *>(from), kSize, PROT_NONE) == 0,
                    "mprotect() failed");
            link.meet();
            REQUIRE(mprotect(reinterpret_cast<void *>(from), kSize,
                             PROT_READ | PROT_WRITE) == 0, "mprotect() failed");
            link.meet();
            return;
        }
        memset(book.data(), kMine, book.size());
        link.meet();
        for (size_t i = 0; i < book.size(); ++i) {
            REQUIRE(static_cast<uint8_t>(book.at(i)[0]) == kMine,
                    "byte %zu was written after the key had ended", i);
        }
        link.meet();
        return;
    }
    Remote book(link.domain(), channel.receive());
    Memory in(link.domain(), kSize), out(link.domain(), kPuts);
    fill(out.data(), kPuts, 5);
    link.meet();
    Op first, put, again;
    link.ep().get_zcopy(in.iov(0, kSize), book, 0, first);
    link.ep().put_zcopy(out.iov(0, kPuts), book, kSize, &put);
    link.ep().finish(first, "a get by a key that may end");
    link.ep().finish(put, "a put by a key that may end");
    require_pattern(in.data(), kSize, 3, "get");
    link.ep().get_zcopy(in.iov(0, kPuts), book, kSize, again);
    link.ep().finish(again, "a get of what was put");
    require_pattern(in.data(), kPuts, 5, "get of what was put");

    std::deque<Memory> ins;
    std::deque<Op>     gets, puts;
    for (unsigned i = 0; i < 4; ++i) {
        link.ep().get_zcopy(ins.emplace_back(link.domain(), kSize).iov(0, kSize), book, 0,
                            gets.emplace_back());
        link.ep().put_zcopy(out.iov(0, kPuts), book, kSize, &puts.emplace_back());
    }
    link.tell();
    for (auto *ops : {&gets, &puts}) {
        for (Op &op : *ops) {
            link.worker().until([&] { return op.done(); }, "the end of an operation");
            op.require_exact("operation by a key that has ended");
        }
    }
    size_t ended = 0;
    for (size_t i = 0; i < gets.size(); ++i) {
        if (gets[i].ok()) {
            require_pattern(ins[i].data(), kSize, 3, "get that went well");
        }
        ended += !gets[i].ok();
    }
    REQUIRE(ended != 0, "all gets went well, though the memory was taken away");
    link.meet();
    Op get, late;
    link.ep().get_zcopy(in.iov(0, kSize), book, 0, get);
    link.ep().put_zcopy(out.iov(0, kPuts), book, kSize, &late);
    link.ep().put_short(out.data(), 16, book, 0);
    link.worker().until([&] { return get.done() && late.done(); }, "the refusals");
    REQUIRE(!get.ok() && !late.ok(), "a key that has ended opens memory");
    Op good;
    link.ep().get_zcopy(in.iov(0, kSize), link.remote(), 0, good);
    link.ep().finish(good, "a get by another key");
    require_pattern(in.data(), kSize, 4, "get by another key");
    link.ep().flush_now();
    link.meet();
}

Case make(const std::string &name, std::function<void(Session &)> both)
{
    return {name, both, both};
}

} // namespace

std::vector<Case> rma_cases()
{
    std::vector<Case> cases;
    for (const char *device : {"rails", "node"}) {
        std::string prefix = std::string(device) + ".rma.";
        cases.push_back(
            make(prefix + "puts", [=](Session &s) { puts(s, device); }));
        cases.push_back(
            make(prefix + "gets", [=](Session &s) { gets(s, device); }));
        cases.push_back(
            make(prefix + "many", [=](Session &s) { many(s, device); }));
    }
    cases.push_back(make("rails.rma.revoked", [](Session &s) { revoked(s, false); }));
    Case unmapped = make("rails.rma.unmapped", [](Session &s) { revoked(s, true); });
    /* Of a chunk that a kernel has a part of the rest may be asked for after that: the stream
     * ends in it, and is made anew. */
    unmapped.log = {{Side::Both, "tcp_ep.*", 0, 100},
                    {Side::Both, "rail .* has failed", 0, 16},
                    {Side::Both, "rail .* carries data again", 0, 16}};
    cases.push_back(unmapped);
    Case bad = make("rails.rma.out_of_range", out_of_range);
    bad.log  = {{Side::Passive, "put of 16 bytes .* outside of the memory", 2,
                 2}};
    cases.push_back(bad);
    return cases;
}

} // namespace fltest

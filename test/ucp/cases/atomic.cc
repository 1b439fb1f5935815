/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Atomic operations, by one process and by many at once. */

#include "../stack/crowd.h"
#include "cases.h"

#include <algorithm>
#include <cstring>

namespace fltest {
namespace {

struct Op {
    ucp_atomic_op_t op;
    const char     *name;
    bool            must_fetch; /* UCP has no form without a result */
};
constexpr Op kOps[] = {{UCP_ATOMIC_OP_ADD, "add", false},
                       {UCP_ATOMIC_OP_SWAP, "swap", true},
                       {UCP_ATOMIC_OP_CSWAP, "cswap", true},
                       {UCP_ATOMIC_OP_AND, "and", false},
                       {UCP_ATOMIC_OP_OR, "or", false},
                       {UCP_ATOMIC_OP_XOR, "xor", false}};

/* What an operation makes of a word. */
template <typename Word>
Word result_of(ucp_atomic_op_t op, Word before, Word operand, Word swapped)
{
    switch (op) {
    case UCP_ATOMIC_OP_ADD:
        return before + operand;
    case UCP_ATOMIC_OP_SWAP:
        return operand;
    case UCP_ATOMIC_OP_CSWAP:
        return before == operand ? swapped : before;
    case UCP_ATOMIC_OP_AND:
        return before & operand;
    case UCP_ATOMIC_OP_OR:
        return before | operand;
    default:
        return before ^ operand;
    }
}

/* Every operation on every process's memory, in turn, compared with what it
 * should do to the word. */
template <typename Word> void every_op(Crowd &crowd)
{
    Worker &worker = crowd.worker();
    /* Each process has its own two words in each memory. */
    size_t offset = 64 * crowd.me();
    for (size_t target = 0; target < crowd.size(); ++target) {
        const Remote &remote = crowd.remote(target);
        Endpoint &ep         = crowd.ep(target);
        Random random(target);
        Word word   = static_cast<Word>(random.next());
        Word beside = static_cast<Word>(random.next());
        Word both[] = {word, beside};
        Request put = ep.put(both, sizeof(both), remote, offset);
        worker.finish(ep.flush(), "flush");
        worker.finish(put, "put");
        for (int round = 0; round < 12; ++round) {
            for (const Op &op : kOps) {
                bool fetch    = op.must_fetch || round % 2 == 0;
                Word operand  = static_cast<Word>(random.next());
                Word swapped  = static_cast<Word>(random.next());
                Word reply    = swapped;
                if (op.op == UCP_ATOMIC_OP_CSWAP && round % 3 != 0) {
                    operand = word;
                }
                Request request = ep.atomic<Word>(op.op, operand, remote,
                                                  offset,
                                                  fetch ? &reply : nullptr);
                worker.finish(request, op.name);
                REQUIRE(!fetch || reply == word, "%s of %zu bits returned %lx "
                        "instead of %lx", op.name, 8 * sizeof(Word),
                        uint64_t{reply}, uint64_t{word});
                word = result_of(op.op, word, operand, swapped);
                if (!fetch) {
                    worker.finish(ep.flush(), "flush");
                }
                Word now[2];
                Request get = ep.get(now, sizeof(now), remote, offset);
                worker.finish(get, "get");
                REQUIRE(now[0] == word && now[1] == beside,
                        "after %s of %zu bits there is %lx, %lx instead of "
                        "%lx, %lx", op.name, 8 * sizeof(Word),
                        uint64_t{now[0]}, uint64_t{now[1]}, uint64_t{word},
                        uint64_t{beside});
            }
        }
    }
    crowd.meet();
}

void every(Session &session)
{
    Crowd crowd(session, 4096);
    every_op<uint32_t>(crowd);
    every_op<uint64_t>(crowd);
    crowd.finish();
}

/* Words of the process that all of them work on at the same time. */
template <typename Word> struct Words {
    Word count;  /* fetched and added to */
    Word sum;    /* added to, without a result */
    Word toggled;
    Word bits_set;
    Word bits_cleared;
    Word held; /* swapped: a value that is somewhere, once */
    Word locked;
};

template <typename Word> size_t offset_of(Word Words<Word>::*member)
{
    static Words<Word> words;
    return reinterpret_cast<char *>(&(words.*member)) -
           reinterpret_cast<char *>(&words);
}

/* All work on the words of number 0, as fast as they can. */
template <typename Word> void contended_words(Crowd &crowd)
{
    constexpr Word kEach = 300;
    using W = Words<Word>;

    Worker &worker       = crowd.worker();
    const Remote &remote = crowd.remote(0);
    Endpoint &ep         = crowd.ep(0);
    auto *words          = reinterpret_cast<W *>(crowd.memory().data());
    Word all_bits = (Word{1} << crowd.size()) - 1;
    Word own_bit  = Word{1} << crowd.me();
    if (crowd.me() == 0) {
        *words = {.bits_cleared = all_bits, .held = 1000};
    }
    crowd.meet();

    std::vector<Word> fetched(kEach);
    std::vector<Request> requests;
    std::deque<Word> operands;
    auto begin = [&](ucp_atomic_op_t op, Word operand, Word W::*member,
                     Word *reply) {
        operands.push_back(operand);
        requests.push_back(ep.atomic<Word>(op, operands.back(), remote,
                                           offset_of(member), reply));
    };
    Word held = static_cast<Word>(crowd.me()) + 1, got = 0;
    for (Word i = 0; i < kEach; ++i) {
        begin(UCP_ATOMIC_OP_ADD, 1, &W::count, &fetched[i]);
        begin(UCP_ATOMIC_OP_ADD, i, &W::sum, nullptr);
        begin(UCP_ATOMIC_OP_XOR, own_bit, &W::toggled, nullptr);
        if (i % 10 != 0) {
            continue;
        }
        begin(UCP_ATOMIC_OP_OR, own_bit, &W::bits_set, nullptr);
        begin(UCP_ATOMIC_OP_AND, static_cast<Word>(~own_bit),
              &W::bits_cleared, nullptr);
        worker.finish_all(requests, "atomic operation");
        requests.clear();
        /* What was held is given for what is there. */
        begin(UCP_ATOMIC_OP_SWAP, held, &W::held, &got);
        worker.finish_all(requests, "swap");
        requests.clear();
        held = got;
        /* A lock: taken with cswap, and given back. */
        const Word free = 0;
        for (bool taken = false; !taken;) {
            Word reply = own_bit;
            worker.finish(ep.atomic<Word>(UCP_ATOMIC_OP_CSWAP, free, remote,
                                          offset_of(&W::locked), &reply),
                          "cswap");
            taken = reply == free;
        }
        Word reply = free;
        worker.finish(ep.atomic<Word>(UCP_ATOMIC_OP_CSWAP, own_bit, remote,
                                      offset_of(&W::locked), &reply),
                      "cswap");
        REQUIRE(reply == own_bit, "the lock was taken twice");
    }
    worker.finish_all(requests, "atomic operation");
    worker.finish(worker.flush(), "flush");
    crowd.meet();

    Bytes report((kEach + 1) * sizeof(Word));
    memcpy(report.data(), fetched.data(), kEach * sizeof(Word));
    memcpy(report.data() + kEach * sizeof(Word), &held, sizeof(Word));
    std::vector<Bytes> reports = crowd.gather(report);
    if (crowd.me() == 0) {
        Word number = static_cast<Word>(crowd.size());
        std::vector<Word> all, tokens{words->held};
        for (const Bytes &one : reports) {
            std::vector<Word> values(kEach + 1);
            memcpy(values.data(), one.data(), one.size());
            REQUIRE(std::is_sorted(values.begin(), values.end() - 1),
                    "values fetched by one process went down");
            all.insert(all.end(), values.begin(), values.end() - 1);
            tokens.push_back(values.back());
        }
        std::sort(all.begin(), all.end());
        for (Word i = 0; i < all.size(); ++i) {
            REQUIRE(all[i] == i, "%lu was fetched %s", uint64_t{i},
                    all[i] < i ? "twice" : "never");
        }
        std::sort(tokens.begin(), tokens.end());
        for (Word i = 0; i + 1 < tokens.size(); ++i) {
            REQUIRE(tokens[i] == i + 1, "swapped value %lu is lost",
                    uint64_t{i} + 1);
        }
        REQUIRE(tokens.back() == 1000, "the first swapped value is lost");
        REQUIRE(words->count == kEach * number, "counted %lu",
                uint64_t{words->count});
        REQUIRE(words->sum == number * (kEach * (kEach - 1) / 2),
                "the sum is %lu", uint64_t{words->sum});
        REQUIRE(words->toggled == 0, "toggled to %lx",
                uint64_t{words->toggled});
        REQUIRE(words->bits_set == all_bits, "bits set: %lx",
                uint64_t{words->bits_set});
        REQUIRE(words->bits_cleared == 0, "bits not cleared: %lx",
                uint64_t{words->bits_cleared});
    }
    crowd.meet();
}

void contended(Session &session)
{
    Crowd crowd(session, 4096);
    contended_words<uint32_t>(crowd);
    contended_words<uint64_t>(crowd);
    crowd.finish();
}

} // namespace

std::vector<Case> atomic_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "atomic.every", every);
    for_engines(cases, "atomic.contended", contended);
    return cases;
}

} // namespace fltest

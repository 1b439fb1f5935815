/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "stream.h"

#include <algorithm>
#include <cstring>

namespace fltest {
namespace {

constexpr size_t kNumber = sizeof(uint64_t);
constexpr size_t kSlots  = 16;

/* Cuts [0, length) into `pieces` nearly equal parts: calls fn(from, size). */
template <typename Fn> void for_pieces(size_t length, size_t pieces, Fn &&fn)
{
    for (size_t i = 0; i < pieces; ++i) {
        size_t from = length * i / pieces;
        fn(from, length * (i + 1) / pieces - from);
    }
}

} // namespace

Stream Stream::random(uint64_t seed, const Iface &iface)
{
    auto am      = iface.attr().cap.am;
    bool zcopy   = iface.has(UCT_IFACE_FLAG_AM_ZCOPY);
    auto shape_of = [=](uint64_t number) {
        Random random(seed ^ mix(number));
        Shape shape;
        uint64_t dice = random.below(100);
        size_t most;
        if (dice < 65) {
            shape.kind = Shape::Kind::Short;
            most       = am.max_short - kNumber;
        } else if (dice < 85 || !zcopy) {
            shape.kind = Shape::Kind::Bcopy;
            most       = am.max_bcopy - kNumber;
        } else {
            shape.kind   = Shape::Kind::Zcopy;
            shape.header = random.between(kNumber,
                                          std::min<size_t>(am.max_hdr, 64));
            most         = std::min<size_t>(am.max_zcopy - kNumber, 20000);
        }
        dice = random.below(100);
        if (dice < 80) {
            shape.body = random.below(200);
        } else if (dice < 95) {
            shape.body = random.below(2000);
        } else {
            shape.body = most - random.below(3);
        }
        shape.body   = std::min(shape.body, most);
        shape.header = std::min(shape.header, kNumber + shape.body);
        return shape;
    };
    return {seed, shape_of};
}

StreamSender::StreamSender(Stream stream, Endpoint &ep, uint8_t id)
    : stream_(std::move(stream)), ep_(ep), id_(id)
{
}

void StreamSender::send()
{
    Shape shape   = stream_.shape(next_);
    uint64_t seed = stream_.seed(next_);
    if (shape.kind == Shape::Kind::Zcopy) {
        send_zcopy(shape);
        ++next_;
        return;
    }
    buffer_.resize(std::max(buffer_.size(), kNumber + shape.body));
    memcpy(buffer_.data(), &next_, kNumber);
    fill(buffer_.data() + kNumber, shape.body, seed);
    switch (shape.kind) {
    case Shape::Kind::Short:
        ep_.am_short(id_, next_, buffer_.data() + kNumber, shape.body);
        break;
    case Shape::Kind::ShortIov: {
        std::vector<uct_iov_t> iov;
        for_pieces(kNumber + shape.body, shape.pieces,
                   [&](size_t from, size_t size) {
                       iov.push_back({buffer_.data() + from, size,
                                      UCT_MEM_HANDLE_NULL, 0, 1});
                   });
        ep_.am_short_iov(id_, iov);
        break;
    }
    default:
        ep_.am_bcopy(id_, buffer_.data(), kNumber + shape.body);
    }
    ++next_;
}

StreamSender::Slot &StreamSender::free_slot()
{
    if (slots_.size() < kSlots) {
        slots_.push_back({});
        return slots_.back();
    }
    Slot &slot = slots_[slot_++ % kSlots];
    ep_.finish(*slot.op, "am_zcopy");
    return slot;
}

void StreamSender::send_zcopy(const Shape &shape)
{
    Slot &slot   = free_slot();
    size_t total = kNumber + shape.body;
    if (!slot.memory || slot.memory->size() < total) {
        slot.memory = std::make_unique<Memory>(ep_.iface().domain(), total);
    }
    slot.op = std::make_unique<Op>();
    memcpy(slot.memory->data(), &next_, kNumber);
    fill(slot.memory->at(kNumber), shape.body, stream_.seed(next_));

    std::vector<uct_iov_t> iov;
    for_pieces(total - shape.header, shape.pieces,
               [&](size_t from, size_t size) {
                   iov.push_back(slot.memory->iov(shape.header + from, size));
               });
    ep_.am_zcopy(id_, slot.memory->data(), shape.header, iov, *slot.op);
}

void StreamSender::drain()
{
    for (Slot &slot : slots_) {
        ep_.finish(*slot.op, "am_zcopy");
    }
}

StreamReceiver::StreamReceiver(Stream stream, Iface &iface, uint8_t id)
    : stream_(std::move(stream)), iface_(iface)
{
    iface.on_message(id, [this](void *data, size_t length, unsigned) {
        return on_message(data, length);
    });
}

ucs_status_t StreamReceiver::on_message(const void *data, size_t length)
{
    if (!wrong_.empty()) {
        return UCS_OK; /* what follows would only repeat it */
    }
    uint64_t number = ~uint64_t{0};
    if (length >= kNumber) {
        memcpy(&number, data, kNumber);
    }
    Shape shape = stream_.shape(next_);
    if (number != next_) {
        wrong_ = format("message %lu came where %lu was due",
                        static_cast<unsigned long>(number),
                        static_cast<unsigned long>(next_));
    } else if (length != kNumber + shape.body) {
        wrong_ = format("message %lu (kind %d) has %zu bytes, not %zu",
                        static_cast<unsigned long>(number),
                        static_cast<int>(shape.kind), length,
                        kNumber + shape.body);
    } else {
        ptrdiff_t at = mismatch(static_cast<const char *>(data) + kNumber,
                                shape.body, stream_.seed(number));
        if (at >= 0) {
            wrong_ = format("message %lu (kind %d) of %zu bytes is wrong at "
                            "byte %td", static_cast<unsigned long>(number),
                            static_cast<int>(shape.kind), length, at);
        }
    }
    ++next_;
    return UCS_OK;
}

void StreamReceiver::require_good() const
{
    REQUIRE(wrong_.empty(), "%s", wrong_.c_str());
}

void StreamReceiver::expect(uint64_t count, double seconds)
{
    iface_.worker().until(
        [&] { return next_ >= count || !wrong_.empty(); },
        format("message %lu", static_cast<unsigned long>(count)).c_str(),
        seconds);
    require_good();
    REQUIRE(next_ == count, "%lu messages came, %lu were sent",
            static_cast<unsigned long>(next_),
            static_cast<unsigned long>(count));
}

} // namespace fltest

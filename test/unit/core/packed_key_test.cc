/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "wire/packed_key.h"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

namespace {

using namespace fuselink::wire;
using Bytes = std::vector<uint8_t>;

/* As long as it is, so that a sanitizer sees what is read behind it. */
bool parses(const Bytes &bytes, PackedKey &key)
{
    auto exact = std::make_unique<uint8_t[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), exact.get());
    bool well = parse(exact.get(), key);
    for (const auto &nic : key.nics()) {
        EXPECT_LE(nic.key.data() + nic.key.size(),
                  exact.get() + bytes.size());
    }
    key = PackedKey();
    return well;
}

bool parses(const Bytes &bytes)
{
    PackedKey key;
    return parses(bytes, key);
}

Bytes packed(const PackedKey &key, size_t room = kMostKeyBytes)
{
    Bytes bytes(room);
    bytes.resize(pack(key, bytes));
    return bytes;
}

PackedKey two_nics(const Bytes &first)
{
    PackedKey key;
    key.id     = 7;
    key.key    = 0x1122334455667788;
    key.on_gpu = true;
    EXPECT_TRUE(key.add({3, first}));
    EXPECT_TRUE(key.add({15, {}}));
    return key;
}

TEST(PackedKey, ComesOutAsItWentIn)
{
    const Bytes first{1, 2, 3, 4, 5};
    const Bytes bytes = packed(two_nics(first));
    EXPECT_EQ(bytes.size(), 16u + 2 + 5 + 2);
    PackedKey key;
    ASSERT_TRUE(parse(bytes.data(), key));
    EXPECT_EQ(key.id, 7u);
    EXPECT_EQ(key.key, 0x1122334455667788u);
    EXPECT_TRUE(key.on_gpu);
    EXPECT_FALSE(key.revocable);
    ASSERT_EQ(key.nics().size(), 2u);
    EXPECT_EQ(key.nics()[0].slot, 3);
    EXPECT_EQ(Bytes(key.nics()[0].key.begin(), key.nics()[0].key.end()), first);
    EXPECT_EQ(key.nics()[1].slot, 15);
    EXPECT_TRUE(key.nics()[1].key.empty());
}

/* The bytes of docs/protocol.md. */
TEST(PackedKey, Layout)
{
    PackedKey key;
    key.id  = 0x04030201;
    key.key = 0x0c0b0a0908070605;
    EXPECT_EQ(packed(key), (Bytes{0xf6, 5, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                  11, 12}));
    const Bytes one{0xaa};
    ASSERT_TRUE(key.add({2, one}));
    key.on_gpu = true;
    EXPECT_EQ(packed(key), (Bytes{0xf6, 5, 19, 0x81, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                  10, 11, 12, 2, 1, 0xaa}));
    key.revocable = true;
    EXPECT_EQ(packed(key)[3], 0xc1);
}

TEST(PackedKey, LeavesOutWhatDoesNotFit)
{
    PackedKey   key;
    const Bytes nic(60, 9);
    for (uint8_t slot = 0; slot < 4; ++slot) {
        ASSERT_TRUE(key.add({slot, nic}));
    }
    EXPECT_FALSE(key.add({2, nic})); /* is there */
    EXPECT_EQ(packed(key).size(), 16u + 2 * 62);
    EXPECT_EQ(packed(key, 16 + 62).size(), 16u + 62);
    EXPECT_EQ(packed(key, 16 + 61).size(), 16u);
    EXPECT_TRUE(parses(packed(key)));
}

TEST(PackedKey, TakesNoMoreNicsThanThereAre)
{
    PackedKey key;
    for (uint8_t slot = 0; slot < kMaxRails; ++slot) {
        ASSERT_TRUE(key.add({slot, {}}));
    }
    EXPECT_FALSE(key.add({100, {}}));
    EXPECT_TRUE(parses(packed(key)));
}

/* None of these is longer than it says here, and nothing behind it is read. */
TEST(PackedKey, AShortOneIsNotReadPast)
{
    const Bytes shortest = packed(PackedKey());
    ASSERT_EQ(shortest.size(), 16u);
    EXPECT_TRUE(parses(shortest));
    for (unsigned nics = 1; nics < 256; ++nics) {
        Bytes bytes = shortest;
        bytes[3]    = static_cast<uint8_t>(nics);
        EXPECT_EQ(parses(bytes), (nics & 0x3f) == 0) << nics;
    }
}

TEST(PackedKey, HasTheLengthOfItsParts)
{
    const Bytes nic{1, 2, 3, 4, 5};
    const Bytes right = packed(two_nics(nic));
    EXPECT_TRUE(parses(right));
    for (unsigned length = 0; length <= right.size(); ++length) {
        Bytes bytes = right;
        bytes[2]    = static_cast<uint8_t>(length);
        bytes.resize(std::max<size_t>(length, kLeastKeyBytes));
        EXPECT_EQ(parses(bytes), length == right.size()) << length;
    }
    for (unsigned length = 0; length < 256; ++length) {
        Bytes bytes = right;
        bytes[17]   = static_cast<uint8_t>(length); /* of the first NIC's key */
        EXPECT_EQ(parses(bytes), length == nic.size()) << length;
    }
    Bytes more = right;
    more[2]    = static_cast<uint8_t>(right.size() + 1);
    more.push_back(0);
    EXPECT_FALSE(parses(more)) << "a byte that belongs to nothing";
    Bytes longest = right;
    longest.resize(255);
    longest[2] = kMostKeyBytes + 1;
    EXPECT_FALSE(parses(longest));
}

TEST(PackedKey, RefusesOthers)
{
    const Bytes nic{1};
    const Bytes right = packed(two_nics(nic));
    auto changed = [&](size_t at, uint8_t to) {
        Bytes bytes = right;
        bytes[at]   = to;
        return parses(bytes);
    };
    EXPECT_FALSE(changed(0, 0));
    EXPECT_FALSE(changed(1, 3)); /* an older version */
    EXPECT_FALSE(changed(16, kMaxRails)); /* the slot */
    EXPECT_FALSE(changed(16, 15)); /* is named twice */
}

} // namespace

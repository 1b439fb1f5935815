/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIRE_MESSAGES_H
#define FUSELINK_WIRE_MESSAGES_H

/*
 * What fuselink puts on a network rail, byte for byte. docs/protocol.md is
 * the prose of this file. All fields are little endian, packed, without
 * padding; fuselink does not compile for other machines.
 *
 * Nothing here knows UCX. Each message that comes in is hostile until
 * parse<T>() has checked its length and its own fields were range checked.
 */

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fuselink::wire {

static_assert(std::endian::native == std::endian::little);

/* Raised by any change that an older peer would misread. */
inline constexpr uint8_t kProtocolVersion = 16;

/* fuselink's own active message ids on a rail; there are no others. */
enum class RailAm : uint8_t {
    User    = 0,  /* UserHeader, then a message of the user's */
    Control = 29, /* ControlHeader, then one of the structs below */
    Chunk   = 30, /* ChunkLanded: follows a chunk of a get on the same rail */
    Data    = 31, /* DataPart, then bytes */
};

/* Messages to one peer are numbered, the user's and fuselink's own together, so
 * that they may change rails: those that were not acknowledged are sent again,
 * and the receiver takes each once and in order. Of the numbers 16 bits travel,
 * which is enough while fewer than half of 65,536 are not acknowledged. */
using MessageNumber = uint16_t;

/** How far `number` is ahead of `next`; negative: it came before. */
constexpr int message_distance(MessageNumber number, MessageNumber next)
{
    return static_cast<int16_t>(static_cast<MessageNumber>(number - next));
}

/** Whether lane number `a` comes before `b`; they wrap around. */
constexpr bool lane_before(uint8_t a, uint8_t b)
{
    return static_cast<int8_t>(static_cast<uint8_t>(a - b)) < 0;
}

/* What a receiver calls a peer in front of that peer's messages. */
using Token = uint16_t;
inline constexpr Token kNoToken = 0;

/* In front of a user's message: 8 bytes, so that the receive descriptor's
 * release hook fits in front of the user's headroom and the user's payload
 * keeps its alignment. */
struct UserHeader {
    uint8_t       am_id; /* of the user, and perhaps these: */
    uint8_t       lane;  /* see ControlHeader */
    Token         token; /* the receiver's for the sender */
    MessageNumber number;
    MessageNumber seen; /* the sender has had all messages before this one */
} __attribute__((packed));
static_assert(sizeof(UserHeader) == 8);
/* The sender uses several wires for its messages: the receiver does so too. */
inline constexpr uint8_t kSpreads = 0x80;
/* The sender finds out if that is better: the receiver does not meanwhile. */
inline constexpr uint8_t kTries = 0x40;
inline constexpr uint8_t kMarks = kSpreads | kTries;
/* It goes beside the lane, where it may be late by a turn of the numbers: `seen` does not
 * count. */
inline constexpr uint8_t kBeside = 0x20;
inline constexpr uint8_t kAmId   = 0x1f;

enum class ControlType : uint8_t {
    Hello    = 1,
    GetReq   = 2,
    GetData  = 3,
    GetDone  = 4,
    PutData  = 5,
    FlushReq = 6,
    FlushAck = 7,
    RailAddr = 8, /* endpoint addresses of connect-to-ep rails */
    KeyReq   = 9,
    KeyData  = 10,
    ChunkAck = 11,
    GetCancel = 12,
    Goodbye   = 13,
    LoadAsk   = 14,
    LoadGrant = 15,
    SlotAsk    = 16,
    SlotGrant  = 17,
    SlotRecall = 18,
    SlotBack   = 19,
    PathBroken = 20,
    PathQuiet  = 21,
    Landed     = 22,
    Seen       = 23,
    User       = 24,
    Carrier    = 25,
    Rails      = 26,
};

/** False for those that say of the lane how it is, or that it ends: each says all
 *  that there is to say, and counts when it comes. */
constexpr bool is_numbered(ControlType type)
{
    return type != ControlType::Hello && type != ControlType::Goodbye &&
           type != ControlType::Seen;
}

/* First in each control message. sender is the random id of the sending
 * interface: the same that its interface address carries. session numbers its
 * connections, so that what was sent before a failure is not taken for part of
 * what came after. lane counts the lanes of messages that the sender has had in
 * this connection: what was sent on an earlier one is sent again on this. */
struct ControlHeader {
    uint8_t       type;
    uint8_t       version;
    uint16_t      flags;
    uint32_t      session;
    uint64_t      sender;
    MessageNumber number; /* 0 if it has none */
    MessageNumber seen;   /* the sender has had all messages before this one */
    uint8_t       lane;
    uint8_t       confirmed; /* nothing of the receiver's lanes before this one can
                                be executed here any more */
    uint8_t       asked;    /* how many questions the sender has had, as it was told; */
    uint8_t       asks;     /* with kSeenAsk: and has asked, this one included. 0 is left
                               out: there was none */
} __attribute__((packed));
static_assert(sizeof(ControlHeader) == 24);

/* Hello: this header, then an encoded RailTable. The first message on each lane:
 * with kHelloResume the lane is another one than before. */
inline constexpr uint16_t kHelloWantReply = 1;
inline constexpr uint16_t kHelloResume    = 2;
inline constexpr uint8_t  kNoRail         = 255;
struct Hello {
    ControlHeader header;
    uint32_t      receiver; /* its session, as far as known; else 0 */
    uint8_t       from;     /* rails of the control lane: of the sender, */
    uint8_t       to;       /* and of the receiver */
    Token         token;    /* the sender's for the receiver */
    /* With kHelloResume: the same of the lane that was lost. kNoRail: only because
     * the receiver has said that its own was. */
    uint8_t       lost_from;
    uint8_t       lost_to;
    uint8_t       heard; /* the receiver's last lane that was known by then */
    uint8_t       reserved[3];
} __attribute__((packed));

/* What the sender has had; with kSeenAsk the receiver is to say the same. */
inline constexpr uint16_t kSeenAsk = 1;
struct Seen {
    ControlHeader header;
} __attribute__((packed));

/* Which NICs of the sender have no link now: nothing reaches them. */
struct Carrier {
    ControlHeader header;
    uint16_t      down; /* bit per rail of the sender */
    uint16_t      back; /* those that have just got one again */
    uint16_t      reserved[2];
} __attribute__((packed));

/* The sender has more rails than it had said: this header, then an encoded RailTable of
 * all. Those that the receiver knows are what they were. */
struct Rails {
    ControlHeader header;
} __attribute__((packed));

/* A user's message to a receiver whose token is not known yet: this header, then
 * the message. */
struct UserMessage {
    ControlHeader header;
    uint8_t       am_id;
    uint8_t       reserved[7];
} __attribute__((packed));
static_assert(sizeof(UserMessage) == 32);

/** True if session `a` began before `b`; they may wrap around. */
constexpr bool session_before(uint32_t a, uint32_t b)
{
    return static_cast<int32_t>(a - b) < 0;
}

/* Names one operation of the side that asks. The generation is random, so
 * that a late or forged answer most likely finds nothing. */
struct OpId {
    uint32_t slot;
    uint32_t generation;

    bool operator==(const OpId &) const = default;
} __attribute__((packed));

/* Asks the peer to put [remote, remote + length) of its region to `local`.
 * With kGetInline the data comes back in GetData messages instead; with
 * kGetToGpu, since nothing but this process may write to `local`, in
 * DataParts. */
inline constexpr uint16_t kGetInline = 1;
inline constexpr uint16_t kGetToGpu  = 2;
inline constexpr uint16_t kGetBehind = 4; /* as kPutBehind */
/* The peer is to say at the end, by a GetDone, whether the memory was there. */
inline constexpr uint16_t kGetConfirm = 8;
inline constexpr uint64_t kMaxInlineGet = 65536; /* larger ones are refused */
struct GetReq {
    ControlHeader header;
    OpId          op;
    uint64_t      remote;
    uint64_t      local;
    uint64_t      length;
    uint64_t      region_key;
    uint32_t      region_id;
    uint32_t      local_id;  /* region of `local`, if memory of a GPU is at either end, */
    uint64_t      local_key; /* or with kGetConfirm; 0, 0: NICs cannot write there */
} __attribute__((packed));

/* GetData: this header, then the bytes. The last one has no special mark:
 * the receiver knows how many bytes it asked for. */
struct GetData {
    ControlHeader header;
    OpId          op;
    uint64_t      offset;
} __attribute__((packed));

/* Ends a get that cannot be served. status is a ucs_status_t, negative; or 0, of a get with
 * kGetConfirm: what was sent for it, all of its bytes, is what was there. */
struct GetDone {
    ControlHeader header;
    OpId          op;
    int32_t       status;
    uint32_t      reserved;
} __attribute__((packed));

/* Asks the owner to stop serving a get. The answer is GetDone, sent when
 * nothing of the get is under way any more. */
struct GetCancel {
    ControlHeader header;
    OpId          op;
} __attribute__((packed));

/* The connection has failed at the sender, and so it has at the receiver.
 * status is a ucs_status_t, negative. */
inline constexpr uint16_t kGoodbyeStopped = 1; /* no more is put by gets; */
inline constexpr uint16_t kGoodbyeBroken = 2;  /* but a path broke meanwhile */
inline constexpr uint16_t kGoodbyeClosed = 4;  /* closes its interface, in order:
                                                * nobody is there any more */
struct Goodbye {
    ControlHeader header;
    int32_t       status;
    uint32_t      receiver; /* its session, as far as known; else 0: it may not
                             * have had a hello of the sender's */
} __attribute__((packed));

/* A small put: header, then the bytes. With kPutAgain it may have been executed
 * before, by a NIC, and its number is that of the message behind it. */
inline constexpr uint16_t kPutAgain  = 1;
/* Behind a fence of the interface: not before the program has handled all messages in
 * front. */
inline constexpr uint16_t kPutBehind = 2;
/* By a key that its owner may end at any time: then nothing is said of it. */
inline constexpr uint16_t kPutRevocable = 4;
struct PutData {
    ControlHeader header;
    uint64_t      remote;
    uint64_t      region_key;
    uint32_t      region_id;
    uint32_t      reserved;
} __attribute__((packed));

/* FlushReq asks for a FlushAck with the same number once all messages sent
 * before it have been handled. */
struct Flush {
    ControlHeader header;
    uint64_t      sn;
} __attribute__((packed));

/* Follows the bytes of one chunk on the rail that carried them. */
struct ChunkLanded {
    OpId     op;
    uint64_t length;
    uint32_t number; /* of the chunk on its path */
    uint8_t  rail;   /* the sender's: with the one it came on, the path */
    uint8_t  reserved[3];
} __attribute__((packed));
static_assert(sizeof(ChunkLanded) == 24);

/* PathBroken::silent. */
constexpr uint8_t kSilentAtFirst = 1; /* its connection was never answered */
constexpr uint8_t kSilentSince   = 2; /* it has carried */

/* A path of the sender's has broken, and its end of the connection is gone. The
 * answer comes when nothing that was sent there will be executed any more. */
struct PathBroken {
    ControlHeader header;
    uint8_t       rail;   /* of the receiver, */
    uint8_t       from;   /* and of the sender */
    uint8_t       family; /* of a stream, where it began: 4 or 6; 0: not known */
    uint8_t       silent; /* kSilentAtFirst, kSilentSince; 0: something is heard */
    uint32_t      next;   /* number of the path's next chunk */
    uint8_t       ip[16]; /* family 4: the first four */
    uint16_t      port;
    uint8_t       unheard; /* not 0: nothing came back, so no bytes are to blame */
    uint8_t       reserved;
} __attribute__((packed));

struct PathQuiet {
    ControlHeader header;
    uint8_t       rail;
    uint8_t       from;
    uint16_t      reserved;
    uint32_t      seen; /* chunks below were announced before it broke */
} __attribute__((packed));

/* What a ChunkLanded would have said that broke with its path. */
struct Landed {
    ControlHeader header;
    OpId          op;
    uint64_t      length;
} __attribute__((packed));

/** True if number `a` comes before `b` on a path; they may wrap around. */
constexpr bool chunk_before(uint32_t a, uint32_t b)
{
    return static_cast<int32_t>(a - b) < 0;
}

/** A number before which chunks do not count, brought along behind `now`: left
 *  where it was it would come to lie ahead. */
constexpr uint32_t chunk_mark(uint32_t mark, uint32_t now)
{
    constexpr uint32_t kLongAgo = uint32_t{1} << 30;
    return now - mark > kLongAgo ? now - kLongAgo : mark;
}

/* What an endpoint that is connected by name is for. */
enum class LinkUse : uint8_t {
    Lane = 0, /* messages */
    Bulk = 1,
};

/* Steps of connecting it; see conn/queue_pair.h. */
enum class LinkStep : uint8_t {
    Ask    = 0, /* with the sender's endpoint address */
    Answer = 1, /* the same */
    Ready  = 2,
    Refuse = 3, /* for good */
    Later  = 4, /* the path that it is for is broken at the sender, and rests */
};

/* RailAddr: this header, then `length` bytes of endpoint address for the path
 * whose rail is `rail` at the receiver and `from` at the sender. */
struct RailAddr {
    ControlHeader header;
    uint8_t       rail;
    uint8_t       from;
    uint8_t       step; /* LinkStep */
    uint8_t       length;
    uint8_t       use;  /* LinkUse */
    uint8_t       turn; /* of a lane: the asker's number, in all steps */
    uint8_t       reserved[2];
} __attribute__((packed));

/* Asks for the keys of NICs for a region of the receiver's. */
struct KeyReq {
    ControlHeader header;
    uint64_t      region_key;
    uint32_t      region_id;
    uint16_t      slots;    /* bit per slot of the receiver's NICs */
    uint16_t      reserved;
    uint32_t      token;    /* of the sender, comes back in the answer */
    uint32_t      reserved2;
} __attribute__((packed));

/* The answer: this header, then for each slot that was asked for its number
 * (1), the key's length (1; 0: there is none) and the key. */
struct KeyData {
    ControlHeader header;
    uint32_t      token;
    uint32_t      count;
} __attribute__((packed));

/* By the receiver's number of the rail, kilobytes of 1024: what the sender has
 * on its way there, or waiting for it. All 0: no more. */
inline constexpr size_t kLoads = 16;
struct LoadAsk {
    ControlHeader header;
    uint32_t      load[kLoads];
} __attribute__((packed));

/* The answer, by the sender's number of the rail: what others send there. To be
 * believed for so long. */
struct LoadGrant {
    ControlHeader header;
    uint32_t      microseconds;
    uint16_t      rails;    /* bit per rail that the receiver should use */
    uint16_t      lent;     /* of these, those of others, where little may be on its way */
    uint16_t      senders;  /* that share what may be on its way to one of those; 1 at least */
    uint16_t      reserved;
    uint32_t      load[kLoads];
} __attribute__((packed));

/* Slots: memory of the receiver that a sender may write to, from which the
 * receiver copies to its GPU. Asks for so many. */
struct SlotAsk {
    ControlHeader header;
    uint32_t      want; /* with those that the sender has */
    uint32_t      reserved;
} __attribute__((packed));

/* One slot, that may be filled once. The turn counts on. */
struct SlotName {
    uint32_t slot;
    uint32_t turn;
} __attribute__((packed));

/* The pools that slots are of: that of the host's memory, and of GPUs beside some NICs, which
 * only these reach, and which is lent unasked. */
inline constexpr uint32_t kHostPool = 0, kSlotPools = 65;

/* The answer: this, then `count` SlotNames. Slot i is at base + i * size; NICs'
 * keys for all of them are those of the region. */
struct SlotGrant {
    ControlHeader header;
    uint64_t      base;
    uint64_t      region_key;
    uint32_t      region_id;
    uint32_t      size;
    uint32_t      count;
    uint32_t      pool;
} __attribute__((packed));

/* Others want slots as well: give back all but so many. */
struct SlotRecall {
    ControlHeader header;
    uint32_t      keep;
    uint32_t      pool;
} __attribute__((packed));

/* This, then `count` SlotNames, which the sender will not fill. */
struct SlotBack {
    ControlHeader header;
    uint32_t      count;
    uint32_t      pool;
} __attribute__((packed));

inline constexpr uint8_t kPartLast = 1;
inline constexpr uint8_t kPartFirst = 2;
inline constexpr uint8_t kPartInSlot = 4; /* InSlot follows, and no bytes */
inline constexpr uint8_t kPartRevocable = 8; /* as kPutRevocable */

/* In front of each part of a chunk on a rail that carries bulk data by
 * messages. Parts of a chunk come in order on one path. */
struct DataPart {
    uint64_t sender;     /* id of the sending interface */
    uint64_t target;     /* put: remote address; get: offset in the buffer */
    uint64_t key;        /* put: region key; get: the OpId */
    uint32_t region_id;  /* put */
    uint32_t chunk;      /* number of the chunk on its path */
    uint8_t  kind;       /* DataKind */
    uint8_t  place;      /* kPartFirst, kPartLast, both or none */
    uint8_t  rail;       /* of the sender: names the path in the answer */
    uint8_t  remote;     /* of the receiver: the same */
    uint32_t session;    /* of the sender */
} __attribute__((packed));
static_assert(sizeof(DataPart) == 40);

enum class DataKind : uint8_t { Put = 0, Get = 1 };

/* A chunk that was put into a slot before this, on the same path. */
struct InSlot {
    SlotName name;
    uint32_t length;
    uint32_t pool;
} __attribute__((packed));

/* Says that a chunk is in memory, or why not. */
struct ChunkAck {
    ControlHeader header;
    uint32_t      chunk;
    int32_t       status; /* ucs_status_t */
    uint8_t       rail;   /* as in DataPart */
    uint8_t       remote;
    uint8_t       keeps_slot; /* 1: the chunk's slot may be filled again, its
                                 turn being one more */
    uint8_t       reserved[5];
} __attribute__((packed));

/** Copies a T out of a received buffer. False when it is too short. The copy
 *  keeps the compiler honest about alignment: rails promise none. */
template <typename T>
[[nodiscard]] inline bool parse(const void *data, size_t length, T &out)
{
    if (length < sizeof(T)) {
        return false;
    }
    memcpy(&out, data, sizeof(T));
    return true;
}

/** visit(name) for each SlotName behind a SlotGrant or SlotBack that parse() has
 *  taken from the beginning of these bytes: as many as it says, or are there. */
template <typename T, typename Visit>
inline void for_names(const T &message, const void *data, size_t length,
                      Visit &&visit)
{
    auto  *at   = static_cast<const char *>(data) + sizeof(message);
    size_t left = length - sizeof(message);
    SlotName name;
    for (uint32_t i = 0; i < message.count && parse(at, left, name);
         ++i, at += sizeof(name), left -= sizeof(name)) {
        visit(name);
    }
}

} // namespace fuselink::wire

#endif

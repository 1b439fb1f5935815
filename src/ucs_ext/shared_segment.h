/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_SHARED_SEGMENT_H
#define FUSELINK_UCS_EXT_SHARED_SEGMENT_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

struct shmid_ds;

namespace fuselink {

/**
 * Memory that all processes of one user and one IPC namespace share, found by
 * what it is for and needing no name: nothing is left of it when the last
 * process that has it ends, however it ends.
 *
 * It is a System V segment which is removed as soon as it is ready: then it has
 * no key any more and lives as long as somebody is attached. Others find it in
 * the kernel's list of segments by owner, size and first word. A file in
 * /dev/shm would stay behind when its last user is killed. Whoever shares
 * /dev/shm with another container shares the IPC namespace too, unless the
 * directory was mounted by hand.
 *
 * The contents are hostile input: another process of the user may have written
 * anything into them.
 */
class SharedSegment {
public:
    /** First in the segment. */
    struct Header {
        std::atomic<uint64_t> magic; /* 0 until the rest is set up */
    };

    /**
     * Joins the segment with this magic (not 0) and size, or makes one, zero
     * but for the magic. Processes that ask for the same at the same time get
     * the same. Tens of microseconds; up to a tenth of a second if another
     * process is being stopped right here.
     *
     * @return nullptr if there can be none; `error` says why, for a log line
     */
    static std::unique_ptr<SharedSegment> open(uint64_t magic, size_t size,
                                               std::string &error);

    /** Joins it if it is there and ready; nullptr if not. */
    static std::unique_ptr<SharedSegment> join(uint64_t magic, size_t size);

    /** For those who only look: the segments with this magic and size that this
     *  process may read, the first of each user and at most `most`. Mapped read
     *  only: whoever writes there dies. */
    static std::vector<std::unique_ptr<SharedSegment>>
    watch(uint64_t magic, size_t size, size_t most);

    /** As if it were one: memory of this program, for tests of several
     *  processes in one. On a page, and the header is there. */
    static std::unique_ptr<SharedSegment>
    within(std::shared_ptr<void> memory, size_t size);

    ~SharedSegment();
    SharedSegment(const SharedSegment &)            = delete;
    SharedSegment &operator=(const SharedSegment &) = delete;

    /** The key under which a segment is set up; whoever holds it is alone in
     *  doing so. Another user's segment may have it: then there is no sharing,
     *  which the error says. Public for tests. */
    static key_t key_of(uint64_t magic);

    void  *memory() const { return memory_; }
    size_t size() const { return size_; }
    /** Whose it is, who alone can write to it but root. */
    uid_t  owner() const { return owner_; }

private:
    SharedSegment(void *memory, size_t size, uid_t owner)
        : memory_(memory), size_(size), owner_(owner)
    {
    }

    /* A segment that was removed as soon as it was ready, as these are, and
     * that nobody but its maker owns. */
    static bool fits(const shmid_ds &state, size_t size);
    static bool has_magic(const SharedSegment &segment, uint64_t magic);
    static std::unique_ptr<SharedSegment> attach(int id, size_t size,
                                                 uid_t owner, int flags = 0);

    void                 *memory_;
    size_t                size_;
    uid_t                 owner_;
    std::shared_ptr<void> own_; /* not attached, but this */
};

} // namespace fuselink

#endif

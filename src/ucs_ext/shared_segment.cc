/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "shared_segment.h"

#include "process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

namespace fuselink {
namespace {

/* Removes what a process left that was killed while it set a segment up. Its
 * pid may be another's by now. */
void remove_if_orphan(key_t key)
{
    int id = shmget(key, 0, 0);
    shmid_ds state;
    if (id < 0 || shmctl(id, IPC_STAT, &state) != 0) {
        return;
    }
    bool mine = state.shm_perm.cuid == geteuid();
    if (mine && state.shm_nattch == 0 &&
        !ProcessId::runs_since(state.shm_cpid, state.shm_ctime)) {
        shmctl(id, IPC_RMID, nullptr);
    }
}

} // namespace

key_t SharedSegment::key_of(uint64_t magic)
{
    uint64_t mixed = (magic ^ geteuid()) * 0x9e3779b97f4a7c15u;
    key_t    key   = static_cast<key_t>(mixed >> 33);
    return key != IPC_PRIVATE ? key : 1;
}

bool SharedSegment::fits(const shmid_ds &state, size_t size)
{
    return state.shm_segsz == size &&
           state.shm_perm.cuid == state.shm_perm.uid &&
           (state.shm_perm.mode & SHM_DEST) != 0;
}

bool SharedSegment::has_magic(const SharedSegment &segment, uint64_t magic)
{
    return static_cast<const Header *>(segment.memory_)
               ->magic.load(std::memory_order_acquire) == magic;
}

std::unique_ptr<SharedSegment> SharedSegment::attach(int id, size_t size,
                                                     uid_t owner, int flags)
{
    void *memory = shmat(id, nullptr, flags);
    if (memory == reinterpret_cast<void *>(-1)) {
        return nullptr;
    }
    return std::unique_ptr<SharedSegment>(
        new SharedSegment(memory, size, owner));
}

std::unique_ptr<SharedSegment> SharedSegment::join(uint64_t magic, size_t size)
{
    shm_info info;
    int last = shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds *>(&info));
    for (int index = 0; index <= last; ++index) {
        shmid_ds state;
        int id = shmctl(index, SHM_STAT, &state);
        if (id < 0 || !fits(state, size) || state.shm_perm.uid != geteuid()) {
            continue;
        }
        auto segment = attach(id, size, geteuid());
        if (segment != nullptr && has_magic(*segment, magic)) {
            return segment;
        }
    }
    return nullptr;
}

std::vector<std::unique_ptr<SharedSegment>>
SharedSegment::watch(uint64_t magic, size_t size, size_t most)
{
    std::vector<std::unique_ptr<SharedSegment>> found;
    shm_info info;
    int last = shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds *>(&info));
    for (int index = 0; index <= last && found.size() < most; ++index) {
        shmid_ds state;
        int id = shmctl(index, SHM_STAT, &state);
        if (id < 0 || !fits(state, size) ||
            std::any_of(found.begin(), found.end(), [&](const auto &one) {
                return one->owner() == state.shm_perm.uid;
            })) {
            continue;
        }
        auto segment = attach(id, size, state.shm_perm.uid, SHM_RDONLY);
        if (segment != nullptr && has_magic(*segment, magic)) {
            found.push_back(std::move(segment));
        }
    }
    return found;
}

std::unique_ptr<SharedSegment> SharedSegment::open(uint64_t magic, size_t size,
                                                   std::string &error)
{
    constexpr timespec kPause = {0, 1000000};
    constexpr int kTries      = 100;
    const key_t key           = key_of(magic);
    for (int i = 0; i < kTries; ++i) {
        auto segment = join(magic, size);
        if (segment != nullptr) {
            return segment;
        }
        int id = shmget(key, size, IPC_CREAT | IPC_EXCL | 0600);
        if (id < 0 && errno != EEXIST) {
            error = std::string("shmget: ") + strerror(errno);
            return nullptr;
        }
        if (id >= 0) {
            /* Nobody else is here now; but somebody may have been between
             * join() and shmget(). */
            segment = join(magic, size);
            if (segment == nullptr) {
                segment = attach(id, size, geteuid());
                if (segment == nullptr) {
                    error = std::string("shmat: ") + strerror(errno);
                } else {
                    static_cast<Header *>(segment->memory_)
                        ->magic.store(magic, std::memory_order_release);
                }
            }
            shmctl(id, IPC_RMID, nullptr); /* lives while it is attached */
            return segment;
        }
        remove_if_orphan(key);
        nanosleep(&kPause, nullptr);
    }
    error = "another process has been setting it up for too long";
    return nullptr;
}

std::unique_ptr<SharedSegment>
SharedSegment::within(std::shared_ptr<void> memory, size_t size)
{
    std::unique_ptr<SharedSegment> segment(
        new SharedSegment(memory.get(), size, geteuid()));
    segment->own_ = std::move(memory);
    return segment;
}

SharedSegment::~SharedSegment()
{
    if (own_ == nullptr) {
        shmdt(memory_);
    }
}

} // namespace fuselink

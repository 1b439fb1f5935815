/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "atomic_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace fuselink {

bool replace_file(const std::string &path, const std::string &text,
                  std::string &error)
{
    /* In the same folder, so that it can be renamed. Not named like the file:
     * collectors take all of a pattern such as *.prom. */
    std::string beside = path + ".XXXXXX";
    int  fd = mkstemp(beside.data());
    bool ok = fd >= 0;
    if (ok) {
        mode_t mask = umask(0);
        umask(mask);
        ok = fchmod(fd, 0666 & ~mask) == 0;
        for (size_t done = 0; ok && done < text.size();) {
            ssize_t n = write(fd, text.data() + done, text.size() - done);
            ok    = n > 0 || (n < 0 && errno == EINTR);
            done += n > 0 ? static_cast<size_t>(n) : 0;
        }
        ok = (close(fd) == 0) && ok && rename(beside.c_str(), path.c_str()) == 0;
    }
    if (!ok) {
        error = path + ": " + strerror(errno);
        if (fd >= 0) {
            unlink(beside.c_str());
        }
    }
    return ok;
}

} // namespace fuselink

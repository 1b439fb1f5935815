/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_COMMON_ATOMIC_FILE_H
#define FUSELINK_TOOLS_COMMON_ATOMIC_FILE_H

#include <string>

namespace fuselink {

/** Puts `text` into the file at `path`, all at once: whoever reads it sees the
 *  old text or the new one. False with an error text for a line. */
[[nodiscard]] bool replace_file(const std::string &path,
                                const std::string &text, std::string &error);

} // namespace fuselink

#endif

# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# The fuzzers of test/fuzz, for the scripts of contrib. To be sourced by bash
# after build.sh, with `top` and `build` set as there.

# build_fuzzers FOLDER: with clang++, the only one that has the library.
build_fuzzers() {
    configure_fuzzers "$1" && build_transport "$1" &&
        make -C "$1/test" -j "$(nproc)" all
}

configure_fuzzers() {
    configure_in "$1" --enable-asan --enable-fuzzers --enable-precompiled \
        CC=clang CXX=clang++ CXXFLAGS="-g1 -O1"
}

# build_transport FOLDER: the archives of which test programs are made.
build_transport() {
    make -C "$1/src/ucs_ext" -j "$(nproc)" &&
        make -C "$1/src/uct/fuselink" -j "$(nproc)" libfuselink_transport.la
}

# fuzzers FOLDER: their names.
fuzzers() {
    (cd "$1/test" && printf '%s\n' *_fuzz)
}

# run_fuzzer FOLDER NAME SECONDS SEED: whether it was well is in FOLDER/NAME.status,
# what it said in the log. A seed of 0 is another one each time.
run_fuzzer() {
    local folder=$1 name=$2 seconds=$3 seed=$4 seeds
    # What it finds goes to the first folder, where it begins is the second.
    seeds=("$folder/corpus/$name")
    mkdir -p "${seeds[0]}"
    [[ ! -d $top/test/fuzz/corpus/$name ]] ||
        seeds+=("$top/test/fuzz/corpus/$name")
    "$folder/test/$name" -seed="$seed" -max_total_time="$seconds" -max_len=2048 \
        -artifact_prefix="$folder/$name." "${seeds[@]}" \
        >"$folder/$name.log" 2>&1
    echo $? >"$folder/$name.status"
}

# fuzzer_was_well FOLDER NAME
fuzzer_was_well() {
    [[ $(cat "$1/$2.status" 2>/dev/null) == 0 ]] && return
    tail -n 30 "$1/$2.log"
    return 1
}

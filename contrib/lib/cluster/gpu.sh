# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# GPUs of the hosts: the emulated CUDA driver of test/cudasim. Every host has
# the GPUs and links of one topology file; docs/gpu-emulator.md describes it.

MAX_GPUS=32

# --gpus G and --topology FILE. Sets gpus (0: none), cudasim (the built emulator)
# and topology_text; NICs and rates are those of the file where the caller gave
# none.
parse_gpus() {
    local output key value
    gpus=0 topology_text=''
    [[ -n $gpu_count$topology ]] || return 0
    [[ -z $gpu_count ]] || [[ $gpu_count =~ ^[0-9]{1,2}$ &&
        $((10#$gpu_count)) -ge 1 && $((10#$gpu_count)) -le $MAX_GPUS ]] ||
        usage_error "up: --gpus '$gpu_count': accepted: 1 to $MAX_GPUS"
    find_cudasim
    if [[ -z $topology ]]; then
        gpus=$((10#$gpu_count))
        topology_text="gpus $gpus"$'\n'"nvswitch none"
        return
    fi

    find_topology
    output=$("$cudasim/cudasim_topology" "$topology" 2>&1) ||
        usage_error "up: --topology $output"
    topology_text=$(<"$topology")
    while read -r key value; do
        case $key in
        gpus) gpus=$value ;;
        nics)
            [[ -n $nics$rate$rate_list || $rdma -eq 1 ]] || rate_list=$value
            ;;
        esac
    done <<<"$output"
    [[ -n $gpu_count ]] || return 0
    [[ $((10#$gpu_count)) -le $gpus ]] ||
        usage_error "up: --gpus '$gpu_count': accepted with $topology: 1 to" \
            "$gpus"
    gpus=$((10#$gpu_count))
}

# A file, or the name of a ready-made one.
find_topology() {
    local folder=${contrib_dir%/*}/test/cudasim/topologies ready
    if [[ $topology != */* && -r $folder/$topology.topology ]]; then
        topology=$folder/$topology.topology
    elif [[ ! -f $topology || ! -r $topology ]]; then
        ready=$(cd "$folder" 2>/dev/null && echo *.topology)
        usage_error "up: --topology '$topology': no such file; accepted: a file" \
            "or one of ${ready//.topology/}"
    fi
}

# Sets cudasim: FUSELINK_CUDASIM, or what a build of this source tree has.
find_cudasim() {
    local root=${contrib_dir%/*} folder
    for folder in ${FUSELINK_CUDASIM:+"$FUSELINK_CUDASIM"} \
        "$root"/build{,-check}/test-cudasim "$root/test-cudasim"; do
        if [[ -r $folder/lib/libcuda.so.1 && -x $folder/cudasim_topology &&
            -r $folder/modules/libuct_cuda.so.0 ]]; then
            cudasim=$(readlink -f -- "$folder")
            [[ $cudasim != *[[:space:]:]* ]] ||
                die "the emulator in '$cudasim': the loader's lists of" \
                    "libraries allow no blank or colon in a path"
            return
        fi
        [[ -z ${FUSELINK_CUDASIM-} ]] ||
            die "FUSELINK_CUDASIM='$FUSELINK_CUDASIM': no emulated driver there"
    done
    die "the emulated CUDA driver is not built; build it with" \
        "$root/test/cudasim/build, or name it with FUSELINK_CUDASIM"
}

# Prints where the NICs and GPUs of a host are: NICs of namespaces have no place
# of their own. For UCX_FUSELINK_TOPOLOGY.
gpu_places() {
    local i
    for ((i = 0; i < nics; i++)); do
        echo "nic nic$i ${rates[i]}"
    done
    "$cudasim/cudasim_topology" --places "$gpus" "$nics" "$state/topology" ||
        die "the emulator in $cudasim is of another version; build it again"
}

# Prints the variables of a process with GPUs, one a line.
gpu_environment() {
    local path=${LD_LIBRARY_PATH-}
    [[ $gpus -gt 0 ]] || return 0
    [[ :$path: == *":$cudasim/lib:"* ]] || path=$cudasim/lib${path:+:$path}
    echo "LD_LIBRARY_PATH=$path"
    echo "CUDASIM_TOPOLOGY=$state/topology"
    echo "CUDASIM_GPUS=$gpus"
    # Its GPUs have names of their own, as if they were of several kinds.
    [[ -n ${CUDA_DEVICE_ORDER+set} ]] || echo "CUDA_DEVICE_ORDER=PCI_BUS_ID"
}

# Sets modules: UCX's for CUDA, as LD_PRELOAD takes them. UCX 1.13 loads none by
# itself that it was not configured with.
gpu_modules() {
    modules=
    [[ $gpus -eq 0 ]] ||
        modules=$cudasim/modules/libuct_cuda.so.0:$cudasim/modules/libucm_cuda.so.0
}

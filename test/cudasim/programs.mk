# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# The tests' own programs; included by Makefile.

gtest := $(shell pkg-config --libs gtest_main)
unit_objects := $(call sources,unit)
$(unit_objects): flags += -DTOPOLOGIES='"$(here)/topologies"'
$(unit_objects): %.o: $(here)/%.cc $(here)/programs.mk
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(flags) -c -o $@ $<

unit: cudasim_tests
cudasim_tests: $(unit_objects) sim/topology.o sim/faults.o lib/libcuda.so.1
	$(CXX) $(CXXFLAGS) -o $@ $^ $(gtest) -lpthread \
	    -Wl,-rpath,'$$ORIGIN/lib'

# The library is found by LD_LIBRARY_PATH, or is NVIDIA's.
programs: cudasim_topology gpu_links gpu_list gpu_copies gpu_memory gpu_exchange \
    gpu_idle gpu_fill
cudasim_topology: programs/cudasim_topology.o sim/topology.o
	$(CXX) $(CXXFLAGS) -o $@ $^
gpu_links: programs/gpu_links.o sim/topology.o sim/node.o $(shared)
	$(CXX) $(CXXFLAGS) -o $@ $^ -lpthread
tools := programs/cudasim_topology.o programs/gpu_links.o
$(tools): %.o: $(here)/%.cc
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(flags) -c -o $@ $<
gpu_copies gpu_memory: $(here)/programs/copy_times.h
gpu_list gpu_copies gpu_memory: %: $(here)/programs/%.c $(libraries)
	$(CC) $(CFLAGS) -Wall -Wextra $(cuda_headers) -o $@ $< $(cuda_libraries) \
	    -Wl,-rpath-link,lib
gpu_idle gpu_fill: %: $(here)/programs/%.c lib/$(cudart)
	$(CC) $(CFLAGS) -Wall -Wextra $(cuda_headers) -o $@ $< -lucp -lucs \
	    -Llib -lcudart -Wl,-rpath-link,lib
gpu_exchange: $(here)/programs/gpu_exchange.c lib/$(cudart)
	OMPI_CC='$(CC)' mpicc $(CFLAGS) -Wall -Wextra $(cuda_headers) -o $@ $< \
	    -Llib -lcudart -Wl,-rpath-link,lib

-include $(unit_objects:.o=.d) $(tools:.o=.d)

# What programs do with UCP, with the harness of test/ucp.
ucp_sources := $(patsubst $(here)/ucp/%,gpu_ucp/%,\
        $(wildcard $(here)/ucp/*.cc $(here)/ucp/cases/*.cc)) \
    $(patsubst $(top)/test/ucp/%,gpu_ucp/%,$(wildcard $(top)/test/ucp/stack/*.cc)) \
    $(patsubst $(top)/test/lib/%,gpu_ucp/%,\
        $(wildcard $(top)/test/lib/harness/*.cc))
ucp_objects := $(ucp_sources:.cc=.o)
# Optimised is only what looks at every byte.
ucp_flags := -g1 -O0 -std=c++20 -Wall -Wextra -Wno-missing-field-initializers \
    $(if $(filter-out /usr,$(ucx_prefix)),-isystem $(ucx_prefix)/include) \
    -I$(top)/test/lib -I$(top)/test/ucp -I$(top)/src/uct/fuselink \
    $(cuda_headers) -MMD -MP
compile_ucp = @mkdir -p $(@D); $(CXX) $(ucp_flags) -c -o $@ $<

gpu_ucp/harness/pattern.o: ucp_flags += -O2
gpu_ucp/stack/%.o: $(top)/test/ucp/stack/%.cc $(here)/programs.mk
	$(compile_ucp)
gpu_ucp/harness/%.o: $(top)/test/lib/harness/%.cc $(here)/programs.mk
	$(compile_ucp)
gpu_ucp/%.o: $(here)/ucp/%.cc $(here)/programs.mk
	$(compile_ucp)
programs: gpu_ucp/gpu_ucp
gpu_ucp/gpu_ucp: $(ucp_objects) lib/$(cudart)
	$(CXX) -o $@ $(ucp_objects) -L$(ucx_libdir) -lucp -lucs -Llib -lcudart \
	    -lpthread -ldl -rdynamic -Wl,-rpath-link,lib

-include $(ucp_objects:.o=.d)

// SPDX-License-Identifier: Apache-2.0
// Names of the instruction set that a translation unit is compiled for. Everything that a loop inlines lives
// in a namespace of that name, so that the linker never merges code of one instruction set with code of
// another.
#pragma once

#ifndef LANESCOPE_ISA
#define LANESCOPE_ISA generic
#endif

#define LANESCOPE_ISA_JOIN2(a, b) a##b
#define LANESCOPE_ISA_JOIN(a, b) LANESCOPE_ISA_JOIN2(a, b)
#define LANESCOPE_ISA_NAMESPACE LANESCOPE_ISA_JOIN(isa_, LANESCOPE_ISA)

#if defined(__CUDACC__)
#define LANESCOPE_HOST_DEVICE __host__ __device__
#else
#define LANESCOPE_HOST_DEVICE
#endif

/// \file  The benchmarks of the MPI plug-in, by what they measure. Each function appends its cases;
/// all ranks append the same ones. Making an instance is local, so that a rank on which that fails
/// leaves none waiting; what ranks must tell each other they tell in run().
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "buffer.hpp"
#include "case.hpp"
#include "job.hpp"
#include "sharing.hpp"

namespace strake::measure {

/// Contiguous bytes, half a round trip and both ways at once: mpi/{node,net}/host and /both-ways,
/// and /packed, by the datatype of Strake's packed bytes; on a device, mpi/{node,net}/device and
/// /device/both-ways.
void add_messages(const Job& job, const Device& device, std::vector<Case>& cases);
/// mpi/{node,net}/pairs: several pairs at once.
void add_pairs(const Job& job, std::vector<Case>& cases);
/// mpi/{node,net}/{system,pack}/{box,indexed,transpose}: strided messages, packed by the MPI
/// library and by Strake. mpi/node/shared/{box,indexed,transpose}: by memory that the ranks share.
void add_strided(const Job& job, const Sharing& sharing, std::vector<Case>& cases);
/// mpi/collective/*, on a device mpi/collective/device/*: those whose names ("broadcast") `works`
/// allows.
void add_collectives(const Job& job, const Device& device, std::vector<Case>& cases,
                     const std::function<bool(std::string_view)>& works);
/// mpi/node/device/{egress,ingress}: one device and many peers.
void add_fans(const Job& job, const Device& device, std::vector<Case>& cases);
/// mem/cma, mem/shared: one process reads what another wrote, without MPI. Collective: tries both.
void add_memory(Job& job, std::vector<Case>& cases);

}  // namespace strake::measure

#pragma once

#include <string>
#include <string_view>

#include "core/base/dtype.h"
#include "core/spec/machine.h"

// The component library: what one action costs and how large one part is, by process node. Every figure has a source:
//
//   arithmetic   Horowitz ISSCC 2014 (45 nm) and Jouppi et al. ISCA 2021 table 2 (45 and 7 nm); log-linear in the node
//                between, held below 7 nm, by Stillmaker & Baas above 45 nm. The table and the polynomials of Stillmaker
//                disagree 2.5–5× between 45 and 7 nm: the table is preferred for arithmetic and SRAM, the polynomials'
//                areas are used because nothing else is published.
//   widths that are not in the table   multipliers by width^1.98 (from int8 to int32), adders linearly
//   SRAM         sram.h
//   registers    Eyeriss (ISCA 2016): a read or write of 16 bits in a file of 512 B costs one 16-bit MAC; by the square
//                root of the capacity; area: one 40 nm register bit (Aladdin, 5.98 µm²)
//   DRAM         pJ per bit by type, device and interface
//   wires        Eyeriss: moving 16 bits to a neighbour 1–2 mm away costs two 16-bit MACs; a router hop adds a crossbar
//                (Aladdin 40 nm: 0.68 pJ per 32 bits)
//   area         Aladdin 40 nm units, by Stillmaker & Baas

namespace assay {

/// A cost with its provenance.
struct Cost {
  double value = 0;
  std::string source;
};

/// One multiply-accumulate of `operand` into `accumulator`, in pJ.
Cost mac_energy(DType operand, DType accumulator, double node_nm);
/// One lane operation of a class of core/isa/body.h (`arithmetic`, `compare`, `transcendental`, `convert`) or `reduce`.
/// InternalError for another class.
Cost lane_energy(std::string_view op_class, DType type, double node_nm);
/// pJ per byte. InputError for a type that the library does not know (with the nearest).
Cost dram_energy(const std::string& type, const std::string& memory_name);
/// pJ per byte read or written.
Cost register_energy(double capacity_bytes, double node_nm);
/// pJ per byte over one hop of wire, with a router where the link is a network.
Cost wire_energy(bool router, double node_nm);

Cost mac_area(DType operand, DType accumulator, double node_nm);  ///< mm²
Cost lane_area(DType widest, double node_nm);                     ///< mm²: adder, multiplier, comparator, shifter
Cost register_area(double capacity_bytes, double node_nm);        ///< mm²

/// Factors by which energy and area of logic change from one node to another (Stillmaker & Baas 2017, at 0.8 V),
/// log-linear between the published nodes 130 … 7 nm and held outside.
double stillmaker_energy(double from_nm, double to_nm);
double stillmaker_area(double from_nm, double to_nm);

}  // namespace assay

#pragma once

#include <cstdint>
#include <string>

// Energy, leakage and area of SRAM, from CACTI 7 points (data/cacti_sram_lstp.inc): 22–90 nm, 1 KiB–32 MiB, words of
// 16–1024 bits.
//
//   between points   log-linear in capacity, then word width, then node; energies are first made monotone in capacity
//                    (CACTI changes its organisation from point to point: isotonic regression, least squares of logs)
//   beyond           the slope of the outermost two points (exponent within [0, 1])
//   below 22 nm      energy: 45 nm divided by the published 45 → 7 nm gain of SRAM of that capacity (8 KiB 1.3×,
//                    32 KiB 2.4×, 1 MiB 7.1×; Jouppi et al., ISCA 2021, table 2), never above the 22 nm figure;
//                    log-linear in the node between 22 and 7. Area: Stillmaker & Baas 2017. Leakage: held at 22 nm.
//   above 90, below 7 nm   energy and area by Stillmaker & Baas above 90; held at 7 below
//   leakage          lstp cells: the hp cells of CACTI leak unrealistically

namespace assay {

struct SramCost {
  double read_pj = 0, write_pj = 0;  ///< per access of one word
  double leakage_mw = 0;
  double area_mm2 = 0;
};
/// capacity >= 1 byte, word_bits >= 1, node > 0. Words beyond 1024 bits are several side by side.
SramCost sram_cost(double capacity_bytes, double word_bits, double node_nm);

/// How far the library is from CACTI's own points, relative: what monotonicity costs.
struct SramFit {
  int points = 0;
  double mean_read_error = 0, max_read_error = 0;
  double mean_write_error = 0, max_write_error = 0;
};
SramFit sram_fit();

}  // namespace assay

#include <fmt/format.h>

#include <cmath>

#include "core/spec/parts.h"

namespace assay {
namespace {

/// The bandwidth as the file quotes it. Derating is at most 1, so rounding to whole bytes/s and derating again gives
/// the stored number: |q·d − stored| <= d/2.
std::int64_t quoted(std::int64_t stored, double derate) {
  return static_cast<std::int64_t>(std::round(static_cast<Real>(stored) / static_cast<Real>(derate)));
}

std::int64_t derated(std::int64_t q, double derate) {
  return static_cast<std::int64_t>(std::round(static_cast<Real>(q) * static_cast<Real>(derate)));
}

bool symmetric(const Memory& m) { return m.read_bandwidth == m.write_bandwidth; }
bool is_dram(const Memory& m) { return m.kind == MemoryKind::dram; }

#define SLOT(member) \
  [](Memory & m) -> auto& { return m.member; }

Field<Memory> bandwidth_field() {
  auto f = number<Memory>("bandwidth", FieldKind::bandwidth, SLOT(read_bandwidth),
                          "Reads and writes, each at this rate (together, where `shared_ports`). One instance, as "
                          "quoted, before derating. Register files may leave it out.")
               .at_least(1);
  f.set = [](Memory& m, const FieldValue& v, const Names&) {
    m.read_bandwidth = m.write_bandwidth = static_cast<std::int64_t>(std::get<Real>(v));
  };
  f.get = [](const Memory& m, const Names&) -> FieldValue {
    if (!symmetric(m) || m.read_bandwidth == 0) return {};
    return static_cast<Real>(quoted(m.read_bandwidth, m.derate));
  };
  return f;
}

Field<Memory> one_way(std::string name, std::int64_t Memory::*member, std::string doc) {
  auto f =
      number<Memory>(
          std::move(name), FieldKind::bandwidth, [member](Memory & m) -> auto& { return m.*member; }, std::move(doc))
          .at_least(1);
  f.get = [member](const Memory& m, const Names&) -> FieldValue {
    if (symmetric(m)) return {};
    return static_cast<Real>(quoted(m.*member, m.derate));
  };
  return f;
}

Field<Memory> holds_field() {
  static const std::vector<std::string> roles{"input", "weight", "output"};
  Field<Memory> f;
  f.spec = {.name = "holds",
            .kind = FieldKind::choice_list,
            .doc =
                "What a tensor may be to the unit that reads or writes it here: input, weight, output. "
                "Default: all three.",
            .choices = roles};
  f.set = [](Memory& m, const FieldValue& v, const Names&) {
    m.holds.clear();
    for (const std::string& item : std::get<std::vector<std::string>>(v)) {
      m.holds.push_back(static_cast<Role>(field_detail::index_of(roles, item)));
    }
  };
  f.get = [](const Memory& m, const Names&) -> FieldValue {
    std::vector<std::string> out;
    for (const Role r : m.holds) out.push_back(roles.at(static_cast<std::size_t>(r)));
    return out.empty() ? FieldValue{} : FieldValue{out};
  };
  return f;
}

Field<Memory> dtype_field() {
  Field<Memory> f;
  f.spec = {.name = "dtype", .kind = FieldKind::dtype, .doc = "Accumulators: the stored type.", .choices = {}};
  f.set = [](Memory& m, const FieldValue& v, const Names&) { m.dtype = parse_dtype(std::get<std::string>(v)); };
  f.get = [](const Memory& m, const Names&) -> FieldValue {
    return m.dtype ? FieldValue{std::string(name(*m.dtype))} : FieldValue{};
  };
  return f;
}

Field<Memory> timing(std::string name, double DramTiming::*member, std::string doc) {
  return number<Memory>(
             "timing." + std::move(name), FieldKind::time, [member](Memory & m) -> auto& { return m.dram.*member; },
             std::move(doc))
      .scaled(1e9L)
      .range(0, 1)
      .only_if(is_dram);
}

Table<Memory> make_table() {
  using K = FieldKind;
  Table<Memory> t;
  t.push_back(choice<Memory>("kind", {"dram", "scratchpad", "accumulator", "register_file", "cache"}, SLOT(kind),
                             "What it is: the outermost memory, a software-managed memory, a memory that adds what is "
                             "written to it, a register file of an array element, or a cache in front of `backs`.")
                  .required());
  t.push_back(text<Memory>("type", K::name, SLOT(type),
                           "DRAM: the device family (DDR3, DDR4, LPDDR5, HBM2 …), which "
                           "decides its energy."));
  t.push_back(number<Memory>("capacity", K::bytes, SLOT(capacity), "Of one instance.").at_least(1).required());
  t.push_back(bandwidth_field());
  t.push_back(one_way("read_bandwidth", &Memory::read_bandwidth, "Instead of `bandwidth`, where the two differ."));
  t.push_back(one_way("write_bandwidth", &Memory::write_bandwidth, "Instead of `bandwidth`, where the two differ."));
  t.push_back(flag<Memory>("shared_ports", SLOT(shared_ports),
                           "Reads and writes share one rate. For `kind: dram` the default is true."));
  t.push_back(number<Memory>("banks", K::integer, SLOT(banks), "Banks that can be accessed at once.").range(1, 65536));
  t.push_back(number<Memory>("width", K::bytes, SLOT(word_bytes), "Of one access of one bank.").range(1, 0x1p20L));
  t.push_back(number<Memory>("latency", K::time, SLOT(latency_s), "From request to first data.").range(0, 1));
  t.push_back(holds_field());
  t.push_back(flag<Memory>("double_buffered", SLOT(double_buffered),
                           "The compiler may fill one half while the other is in use."));
  t.push_back(number<Memory>("derate", K::real, SLOT(derate), "Usable share of the quoted bandwidth (ECC, refresh).")
                  .range(0, 1)
                  .above_zero());
  t.push_back(text<Memory>("backs", K::memory, SLOT(backs), "Cache: the memory behind it."));
  t.push_back(dtype_field());
  t.push_back(choice<Memory>("model", {"ideal", "bandwidth", "detailed"}, SLOT(model),
                             "How much the cycle model simulates: a fixed rate; latency and sharing; banks, rows and "
                             "refresh as well."));
  t.push_back(number<Memory>("timing.channels", K::integer, SLOT(dram.channels), "DRAM: independent channels.")
                  .range(1, 4096)
                  .only_if(is_dram));
  t.push_back(number<Memory>("timing.banks", K::integer, SLOT(dram.banks), "DRAM: banks of one channel, all groups.")
                  .range(1, 4096)
                  .only_if(is_dram));
  t.push_back(number<Memory>("timing.row", K::bytes, SLOT(dram.row_bytes), "DRAM: row (page) of one channel.")
                  .range(1, 0x1p24L)
                  .only_if(is_dram));
  t.push_back(number<Memory>("timing.burst", K::bytes, SLOT(dram.burst_bytes), "DRAM: one column access.")
                  .range(1, 0x1p20L)
                  .only_if(is_dram));
  t.push_back(timing("t_rcd", &DramTiming::t_rcd, "DRAM: activate to column access."));
  t.push_back(timing("t_rp", &DramTiming::t_rp, "DRAM: precharge."));
  t.push_back(timing("t_cl", &DramTiming::t_cl, "DRAM: column access to data."));
  t.push_back(timing("t_ras", &DramTiming::t_ras, "DRAM: activate to precharge."));
  t.push_back(timing("t_rfc", &DramTiming::t_rfc, "DRAM: one refresh."));
  t.push_back(timing("t_refi", &DramTiming::t_refi, "DRAM: between refreshes."));
  t.push_back(clock_field<Memory>());
  t.push_back(number<Memory>("cost.read", K::energy_per_byte, SLOT(cost.read_pj_per_byte),
                             "Energy of reading. Default: the component library.")
                  .scaled(1e12L));
  t.push_back(number<Memory>("cost.write", K::energy_per_byte, SLOT(cost.write_pj_per_byte),
                             "Energy of writing. Default: the component library.")
                  .scaled(1e12L));
  t.push_back(number<Memory>("cost.leakage", K::power, SLOT(cost.leakage_mw),
                             "Of one instance. Default: the component library.")
                  .scaled(1e3L));
  t.push_back(
      number<Memory>("cost.area", K::area, SLOT(cost.area_mm2), "Of one instance. Default: the component library.")
          .scaled(1e6L));
  return t;
}
#undef SLOT

}  // namespace

const Table<Memory>& memory_table() {
  static const Table<Memory> table = make_table();
  return table;
}

void finish_memory(Memory& m, const SeenFields& seen, const Report& report) {
  const auto has = [&seen](const char* field) { return seen.contains(field); };
  if (has("bandwidth") && (has("read_bandwidth") || has("write_bandwidth"))) {
    report("bandwidth", "found together with read_bandwidth or write_bandwidth; expected one way or the other");
  } else if (has("read_bandwidth") != has("write_bandwidth")) {
    report(has("read_bandwidth") ? "read_bandwidth" : "write_bandwidth",
           "expected both read_bandwidth and write_bandwidth (or `bandwidth` for both)");
  } else if (!has("bandwidth") && !has("read_bandwidth") && m.kind != MemoryKind::register_file) {
    report("", "needs a bandwidth; only register files may leave it out");
  }
  if (is_dram(m) && !has("shared_ports")) m.shared_ports = true;
  if (!is_dram(m)) {
    if (has("type")) report("type", "only a memory of kind dram has a type");
    for (const std::string& field : seen) {
      if (field.starts_with("timing.")) {
        report(field, "only a memory of kind dram has timing");
        break;
      }
    }
  }
  if (m.kind == MemoryKind::cache && m.backs.empty()) report("", "a cache needs `backs`: the memory behind it");
  if (m.kind != MemoryKind::cache && has("backs")) report("backs", "only a cache has a memory behind it");
  if (m.kind != MemoryKind::accumulator && has("dtype")) {
    report("dtype", "only an accumulator has a stored type");
  }
  if (m.capacity > 0 && m.word_bytes > m.capacity / m.banks) {
    report(has("width") ? "width" : "banks",
           fmt::format("{} banks of one {} B word each do not fit the capacity of {} B", m.banks, m.word_bytes,
                       m.capacity));
  }
  m.read_bandwidth = derated(m.read_bandwidth, m.derate);
  m.write_bandwidth = derated(m.write_bandwidth, m.derate);
  if (has("derate") && (has("bandwidth") || has("read_bandwidth")) &&
      (m.read_bandwidth == 0 || m.write_bandwidth == 0)) {
    report("derate", "leaves no bandwidth");
  }
}

}  // namespace assay

// The same prefixes and digits as reports/format.cpp, for axes and tooltips.

const styles = {
  seconds: ["s", -4, 0], joules: ["J", -4, 2], watts: ["W", -3, 2], bytes: ["B", 0, 5], capacity: ["B", 0, 5, 1024],
  bytes_per_second: ["B/s", 0, 5], ops_per_second: ["OP/s", 0, 5], ops_per_byte: ["OP/B", 0, 0], mm2: ["mm²", 0, 0],
  joule_seconds: ["J·s", -5, 2], count: ["", 0, 4], number: ["", 0, 0], text: ["", 0, 0],
};
const decimalPrefixes = ["f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P"];
const binaryPrefixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

const trim = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

export function quantity(value, unit, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "unknown";
  if (unit === "ratio") return trim((value * 100).toFixed(digits < 4 ? 0 : 1)) + " %";
  const [symbol, smallest, largest, base = 1000] = styles[unit] || styles.number;
  const size = Math.abs(value);
  let power = size === 0 ? Math.max(0, smallest) : smallest;
  while (size > 0 && power < largest && size >= 0.99995 * base ** (power + 1)) ++power;
  const scaled = value / base ** power;
  const text = Math.abs(scaled) >= 1e6 || (scaled !== 0 && Math.abs(scaled) < 1e-3)
    ? scaled.toExponential(2) : trim(Number(scaled.toPrecision(digits)).toFixed(6));
  const prefix = base === 1024 ? binaryPrefixes[power] : decimalPrefixes[power + 5];
  return prefix + symbol ? `${text} ${prefix}${symbol}` : text;
}

export const tick = (unit) => (value) => quantity(value, unit, 3);

export const escapeHtml = (text) =>
  String(text).replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);

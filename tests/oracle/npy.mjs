// Reads and writes NumPy's .npy files (version 1 and 2, C order, little endian), as bytes plus a type name.
//
//   {dtype: 'float32', shape: [2, 3], data: Float32Array}
//
// fp16 stands as its bits in a Uint16Array, bool as 0 and 1 in a Uint8Array.

const kinds = {
  float32: ['<f4', Float32Array], float64: ['<f8', Float64Array], float16: ['<f2', Uint16Array],
  int8: ['|i1', Int8Array], uint8: ['|u1', Uint8Array], int16: ['<i2', Int16Array], uint16: ['<u2', Uint16Array],
  int32: ['<i4', Int32Array], uint32: ['<u4', Uint32Array], int64: ['<i8', BigInt64Array],
  uint64: ['<u8', BigUint64Array], bool: ['|b1', Uint8Array],
};

export const countOf = (shape) => shape.reduce((product, extent) => product * extent, 1);

export function arrayType(dtype) {
  if (!kinds[dtype]) throw new Error(`type ${dtype} cannot be written as .npy`);
  return kinds[dtype][1];
}

export function parseNpy(bytes, name) {
  if (bytes.length < 12 || bytes.toString('latin1', 0, 6) !== '\x93NUMPY') throw new Error(`${name}: not a .npy file`);
  const wide = bytes[6] >= 2;
  const start = wide ? 12 : 10;
  const end = start + (wide ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8));
  const header = bytes.toString('latin1', start, end);
  const descr = /'descr':\s*'([^']+)'/.exec(header)?.[1];
  const shape = /'shape':\s*\(([^)]*)\)/.exec(header)?.[1].split(',').map((s) => s.trim()).filter(Boolean).map(Number);
  const dtype = Object.keys(kinds).find((k) => kinds[k][0] === descr);
  if (!dtype || !shape || !/'fortran_order':\s*False/.test(header)) {
    throw new Error(`${name}: unsupported .npy header ${header.trim()}`);
  }
  const type = kinds[dtype][1];
  const wanted = countOf(shape) * type.BYTES_PER_ELEMENT;
  if (bytes.length - end !== wanted) throw new Error(`${name}: ${bytes.length - end} bytes of data, expected ${wanted}`);
  const data = new type(new Uint8Array(bytes.subarray(end)).buffer);  // a copy: aligned
  return {dtype, shape, data};
}

export function formatNpy({dtype, shape, data}) {
  const tuple = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const text = `{'descr': '${kinds[dtype][0]}', 'fortran_order': False, 'shape': (${tuple}), }`;
  const padded = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + '\n';
  const head = Buffer.alloc(10);
  head.write('\x93NUMPY\x01\x00', 'latin1');
  head.writeUInt16LE(padded.length, 8);
  return Buffer.concat([head, Buffer.from(padded, 'latin1'), rawBytes(data)]);
}

export const rawBytes = (data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

export function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  if (exponent === 31) return mantissa ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + mantissa / 1024) * 2 ** (exponent - 15) : mantissa * 2 ** -24);
}

// Round to nearest even; the input is a double, rounded once.
export function toHalf(value) {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0, size = Math.abs(value);
  if (size >= 65520) return sign | 0x7c00;
  const exponent = size < 2 ** -14 ? -14 : Math.floor(Math.log2(size));
  const steps = size / 2 ** (exponent - 10);
  let whole = Math.floor(steps);
  if (steps - whole > 0.5 || (steps - whole === 0.5 && whole % 2 === 1)) whole += 1;
  return sign | (size < 2 ** -14 ? whole : whole + ((exponent + 14) << 10));
}

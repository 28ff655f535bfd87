// The generator of core/base/random.h, bit for bit: SplitMix64 on seed ^ FNV-1a(stream), first number dropped.
// So a test makes the inputs of a record again from its seed instead of loading them.

import {arrayType, countOf, toHalf} from './npy.mjs';

const mask = (1n << 64n) - 1n;

export class Random {
  constructor(seed, stream) {
    let hash = 0xcbf29ce484222325n;
    for (const byte of Buffer.from(stream, 'utf8')) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & mask;
    this.state = (BigInt(seed) ^ hash) & mask;
    this.next();
  }
  next() {
    this.state = (this.state + 0x9e3779b97f4a7c15n) & mask;
    let z = this.state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
    return z ^ (z >> 31n);
  }
  uniform() { return Number(this.next() >> 11n) * 2 ** -53; }
  between(lo, hi) { return BigInt(lo) + this.next() % (BigInt(hi) - BigInt(lo) + 1n); }
}

// Floats: lo + (hi − lo)·uniform() in double, then rounded; integers: between(lo, hi); bool: between(0, 1).
export function seededTensor(name, dtype, shape, seed, [lo, hi]) {
  const random = new Random(seed, name), type = arrayType(dtype), data = new type(countOf(shape));
  const big = type === BigInt64Array || type === BigUint64Array;
  for (let i = 0; i < data.length; ++i) {
    if (dtype === 'float16') data[i] = toHalf(lo + (hi - lo) * random.uniform());
    else if (dtype.startsWith('float')) data[i] = lo + (hi - lo) * random.uniform();
    else if (dtype === 'bool') data[i] = Number(random.between(0, 1));
    else data[i] = big ? random.between(lo, hi) : Number(random.between(lo, hi));
  }
  return {dtype, shape, data};
}

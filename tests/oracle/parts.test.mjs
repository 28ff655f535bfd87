// The recorder's own parts; needs no package. Run with `node --test`.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {formatNpy, fromHalf, parseNpy, toHalf} from './npy.mjs';
import {Random, seededTensor} from './random.mjs';

test('every half-precision number survives the way through a double', () => {
  for (let bits = 0; bits < 0x10000; ++bits) {
    const value = fromHalf(bits);
    if (!Number.isNaN(value)) assert.equal(toHalf(value), bits);
  }
});

test('rounding to half goes to the nearest, ties to even, too large to infinity', () => {
  assert.equal(fromHalf(toHalf(2049)), 2048);
  assert.equal(fromHalf(toHalf(2051)), 2052);
  assert.equal(fromHalf(toHalf(65519)), 65504);
  assert.equal(fromHalf(toHalf(65520)), Infinity);
  assert.equal(fromHalf(toHalf(2 ** -25)), 0);
  assert.equal(fromHalf(toHalf(1.5 * 2 ** -24)), 2 ** -23);
});

test('.npy files are read as they were written', () => {
  for (const tensor of [
    {dtype: 'float32', shape: [2, 3], data: Float32Array.of(1, -2, 3.5, 0, NaN, Infinity)},
    {dtype: 'int64', shape: [2], data: BigInt64Array.of(-1n, 1n << 60n)},
    {dtype: 'bool', shape: [], data: Uint8Array.of(1)},
    {dtype: 'uint8', shape: [0], data: new Uint8Array(0)},
  ]) {
    const bytes = formatNpy(tensor);
    assert.equal((bytes.length - tensor.data.byteLength) % 64, 0);
    assert.deepEqual(parseNpy(bytes, 'x.npy'), tensor);
  }
});

test('a damaged .npy file is refused with its name', () => {
  const bytes = formatNpy({dtype: 'float32', shape: [2], data: Float32Array.of(1, 2)});
  assert.throws(() => parseNpy(bytes.subarray(0, -1), 'x.npy'), /x\.npy: 7 bytes of data, expected 8/);
  assert.throws(() => parseNpy(Buffer.from('PK'), 'y.npy'), /y\.npy: not a \.npy file/);
});

// The numbers were printed by core/base/random.h: Random(7, "x").
test('the generator is the one of the C++ side', () => {
  const random = new Random(7, 'x');
  assert.deepEqual([random.next(), random.next(), random.next()], [15340678402414249547n, 11498011799332836555n, 9789339918194998464n]);
  assert.equal(random.uniform(), 0.20277632533790324);
  assert.equal(random.between(-5, 99), 44n);
});

test('seeded tensors stay in their range and depend on name and seed only', () => {
  const a = seededTensor('x', 'int64', [100], 1, [3, 5]);
  assert.ok(a.data.every((v) => v >= 3n && v <= 5n));
  assert.deepEqual(a, seededTensor('x', 'int64', [100], 1, [3, 5]));
  assert.notDeepEqual(a, seededTensor('y', 'int64', [100], 1, [3, 5]));
  assert.ok(seededTensor('x', 'float16', [100], 1, [-1, 1]).data.every((v) => Math.abs(fromHalf(v)) <= 1));
});

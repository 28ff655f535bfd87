// Runs ONNX models under ONNX Runtime and records what came out. See README.md in this folder.

import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {mkdirSync, readFileSync, renameSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';

import {arrayType, formatNpy, fromHalf, parseNpy, rawBytes} from './npy.mjs';
import {seededTensor} from './random.mjs';

const usage = `usage: node record.mjs [options] model.onnx [more.onnx …]
  --out DIR           where records go (default: print to stdout)
  --name NAME         name of the record (one model only; default: the model's file name)
  --input NAME=FILE   take this input from a .npy file; may be repeated
  --inputs DIR        take inputs from DIR/in_<name>.npy where there is one
  --seed N            seed of the other inputs (default 1)
  --range NAME=LO:HI  their range (default -1:1 for floats, 0:99 for integers); may be repeated
  --bind DIM=N        value of a symbolic dimension; may be repeated
  --samples N         values kept of each output in the record (default 256)
  --npy               also write every output in full, and seeded inputs, as .npy
  --expect DIR        compare with DIR/<prefix>_<output>.npy and print the largest difference
  --prefix P          prefix of those files (default ort)
  --optimize          let ONNX Runtime optimise the graph (default: off, so that each node runs as written)`;

const options = {
  out: {type: 'string'}, name: {type: 'string'}, input: {type: 'string', multiple: true, default: []},
  inputs: {type: 'string'}, seed: {type: 'string', default: '1'},
  range: {type: 'string', multiple: true, default: []}, bind: {type: 'string', multiple: true, default: []},
  samples: {type: 'string', default: '256'}, npy: {type: 'boolean', default: false},
  expect: {type: 'string'}, prefix: {type: 'string', default: 'ort'},
  optimize: {type: 'boolean', default: false}, help: {type: 'boolean', default: false},
};

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

function pairs(list, what) {
  return new Map(list.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new Error(`${what}: expected NAME=VALUE, found '${text}'`);
    return [text.slice(0, at), text.slice(at + 1)];
  }));
}

function integer(text, what, least) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) {
    throw new Error(`${what}: expected an integer >= ${least}, found '${text}'`);
  }
  return value;
}

function concreteShape(input, bound) {
  return input.shape.map((extent) => {
    if (typeof extent === 'number' && extent >= 0) return extent;
    if (!bound.has(String(extent))) throw new Error(`input '${input.name}': bind dimension '${extent}' with --bind`);
    return integer(bound.get(String(extent)), `--bind ${extent}`, 0);
  });
}

function readIfThere(path) {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

// One input: from --input, from --inputs, or seeded; with a note for the record of where it came from.
function makeInput(meta, given) {
  const file = given.files.get(meta.name) ?? (given.folder && join(given.folder, `in_${meta.name}.npy`));
  const bytes = file && (given.files.has(meta.name) ? readFileSync(file) : readIfThere(file));
  if (bytes) return {tensor: parseNpy(bytes, file), origin: {file: basename(file)}};
  const range = given.ranges.get(meta.name)?.split(':').map(Number) ?? (meta.type.startsWith('float') ? [-1, 1] : [0, 99]);
  if (range.length !== 2 || !range.every(Number.isFinite) || range[0] > range[1]) {
    throw new Error(`--range ${meta.name}: expected LO:HI`);
  }
  const tensor = seededTensor(meta.name, meta.type, concreteShape(meta, given.bound), given.seed, range);
  return {tensor, origin: {seed: given.seed, low: range[0], high: range[1]}};
}

const valueAt = ({dtype, data}, i) => (dtype === 'float16' ? fromHalf(data[i]) : Number(data[i]));
// JSON has no NaN and infinity.
const plain = (x) => (Number.isFinite(x) ? x : String(x));

// Type, shape, hash of the little-endian bytes, statistics, and values at evenly spaced flat indices.
export function describe(tensor, samples) {
  const count = tensor.data.length, finite = [];
  for (let i = 0; i < count; ++i) {
    const v = valueAt(tensor, i);
    if (Number.isFinite(v)) finite.push(v);
  }
  const sum = finite.reduce((a, b) => a + b, 0);
  const kept = Math.min(samples, count);
  const indices = Array.from({length: kept}, (_, k) => (kept > 1 ? Math.floor((k * (count - 1)) / (kept - 1)) : 0));
  return {
    dtype: tensor.dtype, shape: tensor.shape, sha256: sha256(rawBytes(tensor.data)),
    not_finite: count - finite.length,
    min: finite.reduce((a, b) => Math.min(a, b), Infinity), max: finite.reduce((a, b) => Math.max(a, b), -Infinity),
    mean: finite.length ? sum / finite.length : 0,
    rms: finite.length ? Math.sqrt(finite.reduce((a, b) => a + b * b, 0) / finite.length) : 0,
    indices, values: indices.map((i) => plain(valueAt(tensor, i))),
  };
}

function largestDifference(got, expected, name) {
  if (got.dtype !== expected.dtype || String(got.shape) !== String(expected.shape)) {
    throw new Error(`output '${name}' is ${got.dtype}[${got.shape}], expected ${expected.dtype}[${expected.shape}]`);
  }
  let worst = 0;
  for (let i = 0; i < got.data.length; ++i) {
    const a = valueAt(got, i), b = valueAt(expected, i);
    if (!(Object.is(a, b) || (Number.isNaN(a) && Number.isNaN(b)))) worst = Math.max(worst, Math.abs(a - b));
  }
  return worst;
}

async function run(model, args) {
  const ort = (await import('onnxruntime-node')).default;
  const session = await ort.InferenceSession.create(model, {
    graphOptimizationLevel: args.optimize ? 'all' : 'disabled', intraOpNumThreads: 1, interOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  const given = {
    files: pairs(args.input, '--input'), folder: args.inputs, ranges: pairs(args.range, '--range'),
    bound: pairs(args.bind, '--bind'), seed: integer(args.seed, '--seed', 0),
  };
  const inputs = new Map(session.inputMetadata.map((meta) => [meta.name, makeInput(meta, given)]));
  for (const [option, map] of [['--input', given.files], ['--range', given.ranges]]) {
    for (const name of map.keys()) {
      if (!inputs.has(name)) throw new Error(`${option} ${name}: the model's inputs are ${[...inputs.keys()].join(', ')}`);
    }
  }
  const feeds = {};
  for (const [name, {tensor}] of inputs) feeds[name] = new ort.Tensor(tensor.dtype, tensor.data, tensor.shape);
  const results = await session.run(feeds);
  const outputs = new Map(session.outputNames.map((name) => {
    const {type, dims, data} = results[name];
    const view = new (arrayType(type))(data.buffer, data.byteOffset, data.length);  // fp16 may come as Float16Array
    return [name, {dtype: type, shape: [...dims], data: view}];
  }));
  return {inputs, outputs, version: ort.env.versions?.node ?? 'unknown'};
}

// Written under another name first: a record is whole or absent.
function save(path, bytes) {
  writeFileSync(`${path}.part`, bytes);
  renameSync(`${path}.part`, path);
}

async function record(model, args) {
  const {inputs, outputs, version} = await run(model, args);
  const samples = integer(args.samples, '--samples', 1);
  const name = args.name ?? basename(model, '.onnx');
  const text = JSON.stringify({
    schema_version: 1, oracle: `onnxruntime-node ${version}`, optimized: args.optimize,
    model: {file: basename(model), sha256: sha256(readFileSync(model))},
    inputs: Object.fromEntries([...inputs].map(([n, {tensor, origin}]) =>
      [n, {dtype: tensor.dtype, shape: tensor.shape, sha256: sha256(rawBytes(tensor.data)), ...origin}])),
    outputs: Object.fromEntries([...outputs].map(([n, tensor]) => [n, describe(tensor, samples)])),
  }, null, 1).replace(/\[[^[\]{}]*\]/g, (list) => list.replace(/\s+/g, ' '));
  for (const [n, tensor] of args.expect ? outputs : []) {
    const path = join(args.expect, `${args.prefix}_${n}.npy`);
    console.error(`${name}: ${n} differs by ${largestDifference(tensor, parseNpy(readFileSync(path), path), n)} at most`);
  }
  if (!args.out) {
    process.stdout.write(text + '\n');
    return;
  }
  mkdirSync(args.out, {recursive: true});
  const safe = (tensor) => tensor.replace(/[^A-Za-z0-9._-]/g, '_');
  if (args.npy) {
    for (const [n, tensor] of outputs) save(join(args.out, `${name}.out_${safe(n)}.npy`), formatNpy(tensor));
    for (const [n, {tensor, origin}] of inputs) {
      if (!origin.file) save(join(args.out, `${name}.in_${safe(n)}.npy`), formatNpy(tensor));
    }
  }
  save(join(args.out, `${name}.json`), text + '\n');
  console.error(`${name}: recorded ${outputs.size} output${outputs.size === 1 ? '' : 's'}`);
}

async function main() {
  const {values: args, positionals: models} = parseArgs({options, allowPositionals: true});
  if (args.help || models.length === 0) {
    console.log(usage);
    return args.help ? 0 : 2;
  }
  if (models.length === 1) {
    await record(models[0], args);
    return 0;
  }
  if (args.name) throw new Error('--name goes with one model');
  // A process per model: the runtime can crash after hundreds of models in one.
  const flags = process.argv.slice(2).filter((a) => !models.includes(a));
  let failed = 0;
  for (const model of models) {
    const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...flags, model], {stdio: 'inherit'});
    if (child.status !== 0) failed += 1;
  }
  if (failed) console.error(`${failed} of ${models.length} models failed`);
  return failed ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().then((code) => { process.exitCode = code; }, (error) => {
    console.error(`record: ${error.message}`);
    process.exitCode = 1;
  });
}

// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime on the CPU: a model of one node for each of its operators that can compute the problem; the fastest counts.
// The argument is the folder in which onnxruntime-node is installed. ../README.md has the protocol.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { model } from './onnx_model.mjs';

const folder = process.argv[2];
const packageFile = join(folder, 'node_modules', 'onnxruntime-node', 'package.json');
const ort = existsSync(packageFile) ? createRequire(packageFile)('onnxruntime-node') : null;

const elementTypes = { f32: { name: 'float32', array: Float32Array }, f16: { name: 'float16', array: Uint16Array } };

let problem, element; // element: of elementTypes, the problem's

// -------------------------------------------------------------------------------------------------------------- tensors

const load = (path) => {
    const { buffer, byteOffset, byteLength } = readFileSync(path);
    return new element.array(buffer.slice(byteOffset, byteOffset + byteLength));
};

// [a, b, dim] to [b, a, dim]
function swapped(values, a, b, dim) {
    const result = new element.array(values.length);
    for (let i = 0; i < a; i++) {
        for (let j = 0; j < b; j++) result.set(values.subarray((i * b + j) * dim, (i * b + j + 1) * dim), (j * a + i) * dim);
    }
    return result;
}

// make() gives the values, a new copy each time.
const tensor = (name, dims, make) => ({ name, type: element.name, dims, make });
const lengths = (name, value) => ({ name, type: 'int32', dims: [1], make: () => Int32Array.of(value) });

// What the operators take: [1, heads, N, dim] as the files have it, or [1, N, heads * dim].
function layouts({ heads_q, heads_kv, rows, keys, dim, q, k, v }) {
    return {
        q4: tensor('q', [1, heads_q, rows, dim], () => load(q)),
        k4: tensor('k', [1, heads_kv, keys, dim], () => load(k)),
        v4: tensor('v', [1, heads_kv, keys, dim], () => load(v)),
        o4: tensor('o', [1, heads_q, rows, dim]),
        q3: tensor('q', [1, rows, heads_q * dim], () => swapped(load(q), heads_q, rows, dim)),
        k3: tensor('k', [1, keys, heads_kv * dim], () => swapped(load(k), heads_kv, keys, dim)),
        v3: tensor('v', [1, keys, heads_kv * dim], () => swapped(load(v), heads_kv, keys, dim)),
        o3: tensor('o', [1, rows, heads_q * dim]),
    };
}

// ------------------------------------------------------------------------------------------------------------ operators

const microsoft = { domain: 'com.microsoft', version: 1 };

// The first makes no matrix of scores unless it is causal.
function multiHead(p, t) {
    const attributes = { num_heads: p.heads_q, unidirectional: +p.causal };
    const node = { op: 'MultiHeadAttention', ...microsoft, attributes, outputs: [t.o3] };
    return [
        { label: 'MultiHeadAttention', node: { ...node, inputs: [t.q3, t.k3, t.v3] }, tiled: !p.causal },
        { label: 'MultiHeadAttention, k and v by head', node: { ...node, inputs: [t.q3, t.k4, t.v4] } },
    ];
}

function standard(p, t) {
    const node = { op: 'Attention', domain: '', version: 23 };
    const byHead = { is_causal: +p.causal };
    const byRow = { ...byHead, q_num_heads: p.heads_q, kv_num_heads: p.heads_kv };
    return [
        { label: 'Attention by head', node: { ...node, attributes: byHead, inputs: [t.q4, t.k4, t.v4], outputs: [t.o4] } },
        { label: 'Attention', node: { ...node, attributes: byRow, inputs: [t.q3, t.k3, t.v3], outputs: [t.o3] } },
    ];
}

// Always causal. A prompt brings all its keys; a decode step brings the last one, and finds the others in a cache, which is
// input and output at once so that it is not copied.
function grouped(p, t) {
    const attributes = { num_heads: p.heads_q, kv_num_heads: p.heads_kv };
    const counts = [lengths('seqlens_k', p.keys - 1), lengths('total', p.keys)];
    const outputs = [t.o3, tensor('present_k', t.k4.dims), tensor('present_v', t.v4.dims)];
    const node = { op: 'GroupQueryAttention', ...microsoft, attributes, outputs };
    if (p.rows === p.keys) {
        return [{ label: 'GroupQueryAttention', node: { ...node, inputs: [t.q3, t.k3, t.v3, null, null, ...counts] } }];
    }
    const width = p.heads_kv * p.dim;
    const last = ({ name, make }) => tensor(name, [1, 1, width], () => make().slice((p.keys - 1) * width));
    const past = [tensor('past_k', t.k4.dims, t.k4.make), tensor('past_v', t.v4.dims, t.v4.make)];
    const inputs = [t.q3, last(t.k3), last(t.v3), ...past, ...counts];
    const shared = { present_k: 'past_k', present_v: 'past_v' };
    return [{ label: 'GroupQueryAttention, cache', node: { ...node, inputs }, shared }];
}

const scoresMost = 2 ** 29; // bytes: larger matrices of scores are not tried

function variants(p) {
    const t = layouts(p);
    const all = standard(p, t);
    if (p.heads_q === p.heads_kv) all.push(...multiHead(p, t));
    if ((p.causal && p.rows === p.keys) || p.rows === 1) all.push(...grouped(p, t));
    if (p.variant) return all.filter(({ label }) => label === p.variant);
    return 4 * p.heads_q * p.rows * p.keys > scoresMost ? all.filter(({ tiled }) => tiled) : all;
}

// ------------------------------------------------------------------------------------------------------------- sessions

// Outputs are those that share memory with an input, and o, which each run makes anew.
function feed({ node, shared = {} }) {
    const inputs = {};
    for (const { name, type, dims, make } of node.inputs.filter(Boolean)) inputs[name] = new ort.Tensor(type, make(), dims);
    const outputs = { o: null };
    for (const [output, input] of Object.entries(shared)) outputs[output] = inputs[input];
    return { inputs, outputs };
}

// A session, and inputs and outputs for each copy of k and v.
async function open(variant, copies) {
    const session = await ort.InferenceSession.create(model(variant.node), {
        executionProviders: ['cpu'],
        intraOpNumThreads: problem.threads,
        interOpNumThreads: 1,
        logSeverityLevel: 4,
    });
    return { label: variant.label, session, feeds: Array.from({ length: copies }, () => feed(variant)), next: 0 };
}

function runNext(opened) {
    const { inputs, outputs } = opened.feeds[opened.next++ % opened.feeds.length];
    return opened.session.run(inputs, outputs);
}

async function runTimed(one) {
    const start = performance.now();
    await runNext(one);
    one.time = Math.min(one.time ?? Infinity, performance.now() - start);
}

// Each in turn until the time is over; who is far behind drops out.
async function race(opened) {
    const end = performance.now() + 1000 * problem.trial_seconds;
    const best = () => Math.min(...opened.map(({ time }) => time));
    for (let round = 0; round < 2 || performance.now() < end; round++) {
        for (const one of opened.filter(({ time }) => time < 1.5 * best())) await runTimed(one);
    }
    return opened.find(({ time }) => time === best());
}

// The label of the fastest, or why there is none.
async function choose(list) {
    const opened = [];
    let skip = 'no operator for it';
    for (const variant of list) {
        try {
            const one = await open(variant, 1);
            await runTimed(one);
            opened.push(one);
        } catch (error) {
            skip = error.message;
        }
    }
    if (opened.length === 0) return { skip };
    return { variant: opened.length > 1 ? (await race(opened)).label : opened[0].label };
}

// ------------------------------------------------------------------------------------------------------------- requests

function hello() {
    if (!ort) return { skip: `onnxruntime-node is not installed in ${folder}` };
    const { version } = JSON.parse(readFileSync(packageFile));
    return { version: `${version}, node ${process.versions.node}` };
}

let chosen; // as open() gives it

// The trials leave memory behind, so that they are one process's task and the measurement another's.
async function prepare(text) {
    problem = JSON.parse(text);
    element = elementTypes[problem.type];
    const list = variants(problem);
    if (!problem.variant) return { ...(await choose(list)), again: true };
    chosen = await open(list[0], problem.copies);
    return { variant: problem.variant };
}

async function run(repeats) {
    for (let i = 0; i < repeats && repeats > 1; i++) await runNext(chosen);
    const start = performance.now();
    for (let i = 0; i < repeats; i++) await runNext(chosen);
    return { seconds: (performance.now() - start) / 1000 / repeats };
}

async function store(path) {
    const { o } = await runNext(chosen);
    const { rows, heads_q, dim } = problem;
    const values = new element.array(o.data.buffer, o.data.byteOffset, o.data.length);
    writeFileSync(path, o.dims.length === 3 ? swapped(values, rows, heads_q, dim) : values);
    return {};
}

function quit() {
    const [, kibibytes] = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
    return { peak_bytes: 1024 * Number(kibibytes) };
}

const requests = { hello, prepare, run: (count) => run(Number(count)), store, quit };

for await (const line of createInterface({ input: process.stdin })) {
    const [word] = line.split(' ', 1);
    const answer = await requests[word](line.slice(word.length + 1));
    process.stdout.write(JSON.stringify(answer) + '\n');
}

// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime on the CPU: a model of one node for each of its operators that can compute the problem; the fastest counts.
// The argument is the folder in which onnxruntime-node is installed. driver/worker.h has the protocol.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { model } from './onnx_model.mjs';

const folder = process.argv[2];
const packageFile = join(folder, 'node_modules', 'onnxruntime-node', 'package.json');
const ort = existsSync(packageFile) ? createRequire(packageFile)('onnxruntime-node') : null;

const elementTypes = { f32: { name: 'float32', array: Float32Array }, f16: { name: 'float16', array: Uint16Array } };

let problem, element, chosen; // chosen: the variant that runs, with its session and a feed for each copy of k and v

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

const tensor = (name, values, dims) => ({ name, type: element.name, dims, values });
const lengths = (name, value) => ({ name, type: 'int32', dims: [1], values: Int32Array.of(value) });

// What the operators take: [1, heads, N, dim] as the files have it, or [1, N, heads * dim].
function layouts({ heads_q, heads_kv, rows, keys, dim }, q, k, v) {
    return {
        q4: tensor('q', q, [1, heads_q, rows, dim]),
        k4: tensor('k', k, [1, heads_kv, keys, dim]),
        v4: tensor('v', v, [1, heads_kv, keys, dim]),
        o4: tensor('o', null, [1, heads_q, rows, dim]),
        q3: tensor('q', swapped(q, heads_q, rows, dim), [1, rows, heads_q * dim]),
        k3: tensor('k', swapped(k, heads_kv, keys, dim), [1, keys, heads_kv * dim]),
        v3: tensor('v', swapped(v, heads_kv, keys, dim), [1, keys, heads_kv * dim]),
        o3: tensor('o', null, [1, rows, heads_q * dim]),
    };
}

// ------------------------------------------------------------------------------------------------------------- operators

const microsoft = { domain: 'com.microsoft', version: 1 };

// Of the first it has a version without a matrix of scores, unless it is causal.
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
    const node = { op: 'GroupQueryAttention', ...microsoft, attributes };
    const counts = [lengths('seqlens_k', p.keys - 1), lengths('total', p.keys)];
    const present = [tensor('present_k', null, t.k4.dims), tensor('present_v', null, t.v4.dims)];
    if (p.rows === p.keys) {
        const inputs = [t.q3, t.k3, t.v3, null, null, ...counts];
        return [{ label: 'GroupQueryAttention', node: { ...node, inputs, outputs: [t.o3, ...present] } }];
    }
    const width = p.heads_kv * p.dim;
    const last = ({ name, values }) => tensor(name, values.slice((p.keys - 1) * width), [1, 1, width]);
    const past = [tensor('past_k', t.k4.values, t.k4.dims), tensor('past_v', t.v4.values, t.v4.dims)];
    const inputs = [t.q3, last(t.k3), last(t.v3), ...past, ...counts];
    const shared = { present_k: 'past_k', present_v: 'past_v' };
    return [{ label: 'GroupQueryAttention, cache', node: { ...node, inputs, outputs: [t.o3, ...present] }, shared }];
}

const scoresMost = 2 ** 31; // bytes: a larger matrix of scores is not tried

function variants(p, t) {
    const all = standard(p, t);
    if (p.heads_q === p.heads_kv) all.push(...multiHead(p, t));
    if ((p.causal && p.rows === p.keys) || p.rows === 1) all.push(...grouped(p, t));
    return 4 * p.heads_q * p.rows * p.keys > scoresMost ? all.filter(({ tiled }) => tiled) : all;
}

// -------------------------------------------------------------------------------------------------------------- sessions

const sessionOptions = () => ({
    executionProviders: ['cpu'],
    intraOpNumThreads: problem.threads,
    interOpNumThreads: 1,
    logSeverityLevel: 4,
});

// The inputs for one copy of k and v, and the outputs: those that share memory with an input, and o, made by each run.
function feed({ node, shared = {} }, isCopy) {
    const inputs = {};
    for (const { name, type, dims, values } of node.inputs.filter(Boolean)) {
        const own = isCopy && /^(k|v|past_k|past_v)$/.test(name) ? values.slice() : values;
        inputs[name] = new ort.Tensor(type, own, dims);
    }
    const outputs = { o: null };
    for (const [output, input] of Object.entries(shared)) outputs[output] = inputs[input];
    return { inputs, outputs };
}

function runOnce({ session, feeds }, index) {
    const { inputs, outputs } = feeds[index % feeds.length];
    return session.run(inputs, outputs);
}

// Milliseconds of the best of a few runs.
async function timed(variant) {
    let best = Infinity;
    const end = performance.now() + 300;
    for (let i = 0; i < 3 || (i < 20 && performance.now() < end); i++) {
        const start = performance.now();
        await runOnce(variant, 0);
        best = Math.min(best, performance.now() - start);
    }
    return best;
}

async function open(variant) {
    const session = await ort.InferenceSession.create(model(variant.node), sessionOptions());
    return { ...variant, session, feeds: [feed(variant, false)] };
}

// With one there is nothing to compare.
async function choose(list) {
    if (list.length === 1) return { best: await open(list[0]) };
    let best, reason;
    for (const variant of list) {
        try {
            const opened = await open(variant);
            const time = await timed(opened);
            if (!best || time < best.time) {
                await best?.session.release();
                best = { ...opened, time };
            } else {
                await opened.session.release();
            }
        } catch (error) {
            reason = error.message;
        }
    }
    return { best, reason };
}

// -------------------------------------------------------------------------------------------------------------- requests

function hello() {
    if (!ort) return { skip: `onnxruntime-node is not installed in ${folder}` };
    const { version } = JSON.parse(readFileSync(packageFile));
    return { version: `${version}, node ${process.versions.node}` };
}

async function prepare(text) {
    problem = JSON.parse(text);
    element = elementTypes[problem.type];
    const tensors = layouts(problem, load(problem.q), load(problem.k), load(problem.v));
    const { best, reason } = await choose(variants(problem, tensors));
    if (!best) return { skip: `no operator can: ${reason}` };
    chosen = best;
    forgetPeak();
    while (chosen.feeds.length < problem.copies) chosen.feeds.push(feed(chosen, true));
    return { variant: chosen.label };
}

let next = 0; // copy

async function run(repeats) {
    if (repeats > 1) await runOnce(chosen, next++);
    const start = performance.now();
    for (let i = 0; i < repeats; i++) await runOnce(chosen, next++);
    return { seconds: (performance.now() - start) / 1000 / repeats };
}

async function store(path) {
    const { o } = await runOnce(chosen, next++);
    const { rows, heads_q, dim } = problem;
    const values = new element.array(o.data.buffer, o.data.byteOffset, o.data.length);
    writeFileSync(path, o.dims.length === 3 ? swapped(values, rows, heads_q, dim) : values);
    return {};
}

// The peak of memory counts from here on, without the trials of the other operators.
function forgetPeak() {
    globalThis.gc();
    writeFileSync('/proc/self/clear_refs', '5');
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

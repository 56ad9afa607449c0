// SPDX-License-Identifier: Apache-2.0
// An ONNX model of one node, written as the protocol buffer that onnx.proto3 describes: a message is a row of fields, a
// field is a key (number * 8 + wire type) and a value: a varint (wire type 0), a length and bytes (2) or four bytes (5).

const varint = (value) => {
    const bytes = [];
    for (let rest = BigInt(value); ; rest >>= 7n) {
        if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
        bytes.push(Number(rest & 127n) | 128);
    }
};
const integer = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, ...parts) => {
    const body = Buffer.concat(parts);
    return Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);
};
const text = (field, value) => bytes(field, Buffer.from(value));

export const elementTypes = { float32: 1, int32: 6, float16: 10, bfloat16: 16 }; // TensorProto.DataType

const shape = (dims) => dims.map((size) => bytes(1, integer(1, size))); // TensorShapeProto: dim.dim_value
const tensorType = ({ type, dims }) => bytes(1, integer(1, elementTypes[type]), bytes(2, ...shape(dims)));
const valueInfo = (field, tensor) => bytes(field, text(1, tensor.name), bytes(2, tensorType(tensor)));
const attribute = ([name, value]) => bytes(5, text(1, name), integer(3, value), integer(20, 2)); // 2: an integer

// node: { op, domain, version, attributes: {name: integer}, inputs: [tensor or null], outputs: [tensor] },
// tensor: { name, type, dims }. A null input is an optional one that is left out.
export function model({ op, domain, version, attributes, inputs, outputs }) {
    const node = bytes(
        1,
        ...inputs.map((input) => text(1, input?.name ?? '')),
        ...outputs.map((output) => text(2, output.name)),
        text(4, op),
        ...Object.entries(attributes).map(attribute),
        text(7, domain),
    );
    const graph = bytes(
        7,
        node,
        text(2, 'attention'),
        ...inputs.filter(Boolean).map((input) => valueInfo(11, input)),
        ...outputs.map((output) => valueInfo(12, output)),
    );
    const opsets = domain === '' ? [['', version]] : [['', 21], [domain, version]];
    const imports = opsets.map(([name, number]) => bytes(8, text(1, name), integer(2, number)));
    return Buffer.concat([integer(1, 10), graph, ...imports]); // 10: the version of the format
}

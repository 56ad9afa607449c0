# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention on the CPU. ../README.md has the protocol."""
import json
import sys
import time

try:
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attend
except ImportError as error:
    torch = None
    reason = str(error)

TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


class Worker:
    def hello(self, _):
        if torch is None:
            return {"skip": f"PyTorch cannot be imported: {reason}"}
        return {"version": torch.__version__}

    def load(self, path, heads, length):
        values = torch.from_file(path, shared=False, size=heads * length * self.dim, dtype=self.type)
        return values.reshape(1, heads, length, self.dim).clone()

    def prepare(self, text):
        problem = json.loads(text)
        torch.set_num_threads(problem["threads"])
        self.type = getattr(torch, TYPES[problem["type"]])
        self.dim = problem["dim"]
        self.q = self.load(problem["q"], problem["heads_q"], problem["rows"])
        self.kv = [
            tuple(self.load(problem[name], problem["heads_kv"], problem["keys"]) for name in "kv")
            for _ in range(problem["copies"])
        ]
        self.options = {"is_causal": problem["causal"]}
        if problem["heads_q"] != problem["heads_kv"]:
            self.options["enable_gqa"] = True
        self.next = 0
        return {"variant": "scaled_dot_product_attention"}

    def run_once(self):
        k, v = self.kv[self.next % len(self.kv)]
        self.next += 1
        with torch.inference_mode():
            return attend(self.q, k, v, **self.options)

    def run(self, count):
        repeats = int(count)
        for _ in range(repeats if repeats > 1 else 0):
            self.run_once()
        start = time.perf_counter()
        for _ in range(repeats):
            self.run_once()
        return {"seconds": (time.perf_counter() - start) / repeats}

    def store(self, path):
        values = self.run_once().contiguous().view(torch.uint8)
        with open(path, "wb") as file:
            file.write(values.numpy().tobytes())
        return {}

    def quit(self, _):
        with open("/proc/self/status", encoding="ascii") as status:
            kibibytes = next(line.split()[1] for line in status if line.startswith("VmHWM:"))
        return {"peak_bytes": 1024 * int(kibibytes)}


worker = Worker()
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    print(json.dumps(getattr(worker, word)(rest)), flush=True)

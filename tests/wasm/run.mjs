// Usage: node run.mjs PROGRAM.wasm LOSS. Runs `loss` in WebAssembly, which has no clock, no threads and no
// files, and compares it to the loss of the same program outside. The two differ by rounding.
import { readFile } from "node:fs/promises";

const [program, expected] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(await readFile(program), {});
const loss = instance.exports.loss();
console.log(`loss in WebAssembly: ${loss}, outside: ${expected}`);
if (!(Math.abs(loss - Number(expected)) < 1e-4)) {
  process.exit(1);
}

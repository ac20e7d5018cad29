/** Mutations of inputs: bytes, chunks, lines, tokens, numbers and repetitions, all from one seeded source. */

/** A number from 0 to below 1. */
export type RandomSource = () => number

/** The same seed gives the same inputs (mulberry32). */
export function createRandomSource(seed: number): RandomSource {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Mutation {
  readonly random: RandomSource
  readonly words: readonly Buffer[]
  /** Another input, for splices. */
  readonly other: Buffer
  readonly maxSize: number
}

const ODD_BYTES = [0, 9, 10, 13, 32, 34, 37, 39, 40, 41, 46, 58, 59, 60, 61, 62, 64, 91, 92, 93, 127, 128, 192, 255]
const ODD_NUMBERS = ['0', '-1', '1', '255', '256', '65535', '65536', '2147483647', '4294967296', '99999999999999999999']
const ODD_TEXTS = ['\r\n', '\n', '\r\n ', '\r\n.\r\n', '\0', '\u{fffd}', '\u{1f600}', 'é', '\u2028', '%00', '=?', '?=']

function below(random: RandomSource, limit: number): number {
  return Math.floor(random() * limit)
}

function pick<T>(random: RandomSource, from: readonly T[]): T {
  return from[below(random, from.length)] as T
}

function replaceRange(input: Buffer, start: number, end: number, bytes: Buffer): Buffer {
  return Buffer.concat([input.subarray(0, start), bytes, input.subarray(end)])
}

/** Mostly short, sometimes long. */
function chooseRange(input: Buffer, random: RandomSource): readonly [start: number, end: number] {
  const start = below(random, input.length + 1)
  const most = random() < 0.75 ? 16 : input.length
  return [start, Math.min(input.length, start + 1 + below(random, most))]
}

type Mutate = (input: Buffer, mutation: Mutation) => Buffer

const mutations: readonly Mutate[] = [
  function flipBit(input, { random }) {
    const copy = Buffer.from(input)
    const at = below(random, copy.length)
    copy[at] = (copy[at] ?? 0) ^ (1 << below(random, 8))
    return copy
  },
  function setByte(input, { random }) {
    const copy = Buffer.from(input)
    copy[below(random, copy.length)] = random() < 0.5 ? pick(random, ODD_BYTES) : below(random, 256)
    return copy
  },
  function removeRange(input, { random }) {
    return replaceRange(input, ...chooseRange(input, random), Buffer.alloc(0))
  },
  function repeatRange(input, { random }) {
    const [start, end] = chooseRange(input, random)
    const times = random() < 0.8 ? 2 : 2 ** (1 + below(random, 9))
    return replaceRange(input, start, end, Buffer.concat(Array<Buffer>(times).fill(input.subarray(start, end))))
  },
  function moveRange(input, { random }) {
    const [start, end] = chooseRange(input, random)
    const chunk = Buffer.from(input.subarray(start, end))
    const rest = replaceRange(input, start, end, Buffer.alloc(0))
    const at = below(random, rest.length + 1)
    return replaceRange(rest, at, at, chunk)
  },
  function insertWord(input, { random, words }) {
    const at = below(random, input.length + 1)
    const end = random() < 0.5 ? at : Math.min(input.length, at + below(random, 12))
    return replaceRange(input, at, end, words.length > 0 ? pick(random, words) : Buffer.of(below(random, 256)))
  },
  function insertOddText(input, { random }) {
    const at = below(random, input.length + 1)
    return replaceRange(input, at, at, Buffer.from(pick(random, ODD_TEXTS)))
  },
  function changeNumber(input, { random }) {
    const text = input.toString('latin1')
    const numbers = [...text.slice(0, 20_000).matchAll(/\d+/g)]
    if (numbers.length === 0) return input
    const found = pick(random, numbers)
    return replaceRange(input, found.index, found.index + found[0].length, Buffer.from(pick(random, ODD_NUMBERS)))
  },
  function changeLines(input, { random }) {
    const lines = input.toString('latin1').split('\n')
    const [from, to] = [below(random, lines.length), below(random, lines.length)]
    const [line = ''] = random() < 0.5 ? lines.splice(from, 1) : [lines[from] ?? '']
    lines.splice(to, random() < 0.3 ? 1 : 0, line)
    return Buffer.from(lines.join('\n'), 'latin1')
  },
  function splice(input, { random, other }) {
    const [start, end] = chooseRange(other, random)
    return replaceRange(input, ...chooseRange(input, random), other.subarray(start, end))
  },
  function joinTails(input, { random, other }) {
    return Buffer.concat([
      input.subarray(0, below(random, input.length + 1)),
      other.subarray(below(random, other.length + 1)),
    ])
  },
  function swapCase(input, { random }) {
    const copy = Buffer.from(input)
    const at = below(random, copy.length)
    const letter = (copy[at] ?? 0) | 0x20
    if (letter >= 0x61 && letter <= 0x7a) copy[at] = (copy[at] ?? 0) ^ 0x20
    return copy
  },
]

/** One to eight mutations of `input`. */
export function mutate(input: Buffer, mutation: Mutation): Buffer {
  const { random, maxSize } = mutation
  let mutated = input
  for (let left = 2 ** below(random, 4); left > 0; left -= 1) {
    mutated = pick(random, mutations)(mutated.length === 0 ? Buffer.of(below(random, 256)) : mutated, mutation)
    if (mutated.length > maxSize) mutated = mutated.subarray(0, maxSize)
  }
  return mutated
}

/** `input` with a short part of it repeated until it has about `size` octets; the same `at` and `length` each time. */
export function stretch(input: Buffer, { at, length }: { at: number; length: number }, size: number): Buffer {
  const unit = input.subarray(at, at + length)
  const times = Math.max(1, Math.floor((size - input.length + unit.length) / Math.max(unit.length, 1)))
  return replaceRange(input, at, at + length, Buffer.concat(Array<Buffer>(times).fill(unit)))
}

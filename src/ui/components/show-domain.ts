/**
 * Shows the name of a domain as people write it: `müller.example` for `xn--mller-kva.example`. The decoding of a label
 * follows RFC 3492. A name that would not come back the same is shown as it is.
 */

const BASE = 36
const T_MIN = 1
const T_MAX = 26
const SKEW = 38
const DAMP = 700
const FIRST_BIAS = 72
const FIRST_CODE = 128
const MAX_CODE = 0x10ffff
const PREFIX = 'xn--'

export function showDomain(ascii: string): string {
  if (!ascii.includes(PREFIX)) return ascii
  const shown = ascii
    .split('.')
    .map((label) => (label.startsWith(PREFIX) ? decodeLabel(label.slice(PREFIX.length)) : label))
    .join('.')
  return URL.canParse(`http://${shown}`) && new URL(`http://${shown}`).hostname === ascii ? shown : ascii
}

/** Returns a text that is no label if the form is wrong. */
function decodeLabel(label: string): string {
  const end = label.lastIndexOf('-')
  const letters = end === -1 ? [] : [...label.slice(0, end)]
  const digits = [...label.slice(end + 1)].map((digit) => Number.parseInt(digit, BASE))
  const state = { code: FIRST_CODE, place: 0, bias: FIRST_BIAS, at: 0 }
  while (state.at < digits.length) {
    const before = state.place
    state.place += readDelta(digits, state)
    const count = letters.length + 1
    state.bias = adapt(state.place - before, count, before === 0)
    state.code += Math.floor(state.place / count)
    state.place %= count
    if (!(state.code <= MAX_CODE)) return ''
    letters.splice(state.place, 0, String.fromCodePoint(state.code))
    state.place += 1
  }
  return letters.join('')
}

/** Reads one number of variable length, and moves `at` behind it. */
function readDelta(digits: readonly number[], state: { readonly bias: number; at: number }): number {
  let delta = 0
  let weight = 1
  for (let step = BASE; ; step += BASE) {
    const digit = toDigit(digits[state.at])
    state.at += 1
    delta += digit * weight
    const threshold = Math.min(T_MAX, Math.max(T_MIN, step - state.bias))
    if (!(digit >= threshold)) return delta
    weight *= BASE - threshold
  }
}

/** Letters stand for 0 to 25, and the digits 0 to 9 for 26 to 35. `parseInt` counts the other way round. */
function toDigit(parsed: number | undefined): number {
  return parsed === undefined ? Number.NaN : (parsed + BASE - 10) % BASE
}

function adapt(delta: number, count: number, isFirst: boolean): number {
  let left = Math.floor(delta / (isFirst ? DAMP : 2))
  left += Math.floor(left / count)
  let steps = 0
  for (; left > ((BASE - T_MIN) * T_MAX) / 2; steps += BASE) left = Math.floor(left / (BASE - T_MIN))
  return steps + Math.floor(((BASE - T_MIN + 1) * left) / (left + SKEW))
}

/** What is fuzzed: one parser of untrusted input, its seeds, and the properties that each input must keep. */

export interface FuzzTarget {
  /** Also the folder of its findings below test/fixtures/fuzz. */
  readonly name: string
  /** The properties, for the table of docs/fuzzing.md. */
  readonly checks: string
  readonly seeds: readonly (string | Buffer)[]
  /** Tokens of the format, which mutations insert. */
  readonly words?: readonly string[]
  /** Octets of the largest input; growth is measured up to it. Default: 65,536. */
  readonly maxSize?: number
  /** Milliseconds that an input of `maxSize` may take. Default: 500. */
  readonly maxTime?: number
  /** Time depends on waiting, so that growth cannot be measured. */
  readonly waits?: boolean
  readonly open?: () => Promise<void>
  readonly close?: () => Promise<void>
  /** Throws what `refuses` does not accept if the parser fails or a property does not hold. */
  readonly run: (input: Buffer) => unknown
  /** The documented errors of the parser. Default: none. */
  readonly refuses?: (error: unknown) => boolean
}

export const DEFAULT_MAX_SIZE = 65_536
export const DEFAULT_MAX_TIME = 500

/** A property that does not hold. */
class BrokenProperty extends Error {
  override name = 'BrokenProperty'
}

export function check(holds: boolean, property: string): asserts holds {
  if (!holds) throw new BrokenProperty(property)
}

/** Compared as JSON: bytes, dates and plain values. */
export function checkEqual(actual: unknown, expected: unknown, property: string): void {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (one !== other) throw new BrokenProperty(`${property}: ${cut(one)} instead of ${cut(other)}`)
}

function cut(text: string | undefined): string {
  return String(text).slice(0, 300)
}

/** Runs one input; null: it is parsed or refused as documented. */
export async function findFault(target: FuzzTarget, input: Buffer): Promise<unknown> {
  try {
    const running = await target.run(input)
    if (running instanceof Promise) await running
    return null
  } catch (error) {
    return target.refuses?.(error) === true ? null : (error ?? new Error('nothing was thrown'))
  }
}

/** Faults with the same key have the same cause. */
export function faultKeyOf(fault: unknown): string {
  if (!(fault instanceof Error)) return `thrown: ${cut(String(fault))}`
  const frame = (fault.stack ?? '')
    .split('\n')
    .find((line) => line.includes('/dist/src/') || line.includes('node_modules'))
  const place = /(?:dist\/src|node_modules)\/([^)\s]+?):\d+:\d+/.exec(frame ?? '')?.[1] ?? ''
  return `${fault.name}: ${fault.message
    .split(':')[0]
    ?.replace(/["'`].*|\d+/g, '')
    .slice(0, 80)} ${place}`.trim()
}

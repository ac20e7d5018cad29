/** The thread of `http/input/body-thread`: parses bodies and checks them with the schemas of their routes. */
import { type PlainRefusal, Refusal, toPlainRefusal } from '../../../base/mail/refusal.js'
import { memoryAloneOf, serveJobs } from '../../../base/platform/processes/job-thread.js'
import { fingerprintOf } from '../../../outbound/sending/idempotency.js'
import type { BodyJob, ParsedJob } from '../http/input/body-thread.js'
import { parseJsonBody } from '../http/input/json-body.js'
import { parseInput } from '../http/input/parse-input.js'
import { findLargeBody } from './large-bodies.js'

serveJobs<BodyJob, ParsedJob>((job) => {
  try {
    return parseBody(job)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { result: { kind: 'refused', refusal: toPlainRefusal(error) }, transfer: [] }
  }
})

function parseBody({ schema, raw, fingerprintLabel }: BodyJob): {
  readonly result: ParsedJob
  readonly transfer: readonly ArrayBuffer[]
} {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const fingerprint = fingerprintLabel === null ? null : fingerprintOf([fingerprintLabel, bytes])
  const parsed = parseInput(findLargeBody(schema), parseJsonBody(bytes))
  const found = new ClassedValues()
  const value = found.strip(parsed, [])
  const { buffers, refusals, memories } = found
  return { result: { kind: 'value', value, buffers, refusals, fingerprint }, transfer: [...memories] }
}

type Path = readonly (string | number)[]

/** The values that lose their class when they are cloned. */
class ClassedValues {
  readonly buffers: Path[] = []
  readonly refusals: [Path, PlainRefusal][] = []
  readonly memories = new Set<ArrayBuffer>()

  /** The value with null instead of each refusal. */
  strip(value: unknown, path: Path): unknown {
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Refusal) {
      this.refusals.push([path, toPlainRefusal(value)])
      return null
    }
    if (value instanceof Uint8Array) {
      this.buffers.push(path)
      const memory = memoryAloneOf(value)
      if (memory !== null) this.memories.add(memory)
      return value
    }
    if (Array.isArray(value)) return value.map((item, place) => this.strip(item, [...path, place]))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.strip(item, [...path, name])]))
  }
}

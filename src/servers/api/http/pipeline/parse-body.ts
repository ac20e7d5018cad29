/**
 * Parses the bytes of a JSON body into the input of its route: here if they are few, on the thread of `body-thread` if
 * they are many.
 */
import type { z } from 'zod'
import { fingerprintOf } from '../../../../outbound/sending/idempotency.js'
import type { BodyJob, ParsedBody } from '../input/body-thread.js'
import { type JsonBytes, parseJson } from '../input/json-body.js'
import { parseInput } from '../input/parse-input.js'
import { DEFAULT_BODY } from '../route.js'

/** Parses bodies of more than `DEFAULT_BODY` bytes. */
export interface LargeBodies {
  /** Null: bodies of this schema are parsed on the main thread. */
  readonly nameOf: (schema: z.ZodType) => string | null
  readonly parse: (job: BodyJob) => Promise<ParsedBody>
}

interface BodyUse {
  readonly schema: z.ZodType
  /** What the fingerprint begins with: equal bodies of two routes are different requests. */
  readonly label: string
  readonly needsFingerprint: boolean
}

interface BodyInput {
  readonly value: unknown
  readonly fingerprint: () => string
}

/** Throws a Refusal: `invalid-json`, or that of the schema. */
export function parseBody(received: JsonBytes, use: BodyUse, bodies: LargeBodies): BodyInput | Promise<BodyInput> {
  const { raw, isAbsent } = received
  const name = raw.length > DEFAULT_BODY ? bodies.nameOf(use.schema) : null
  if (name !== null) return parseElsewhere(raw, name, use, bodies)
  const value = parseInput(use.schema, isAbsent ? undefined : parseJson(raw))
  return { value, fingerprint: () => fingerprintOf([use.label, raw]) }
}

async function parseElsewhere(
  raw: Buffer,
  schema: string,
  { label, needsFingerprint }: BodyUse,
  { parse }: LargeBodies,
): Promise<BodyInput> {
  const { value, fingerprint } = await parse({ schema, raw, fingerprintLabel: needsFingerprint ? label : null })
  return {
    value,
    fingerprint: () => {
      if (fingerprint === null) throw new Error('the fingerprint of this body was not computed')
      return fingerprint
    },
  }
}

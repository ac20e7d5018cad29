/**
 * Parses large JSON bodies on a thread, and checks them with their schemas there: JSON of 22 MB takes 300 ms and more.
 * Their values come back as values; the few Buffers in them and the refusals of single items lose their class on the way
 * and get it back.
 */

import { type PlainRefusal, Refusal, reviveRefusal } from '../../../../base/mail/refusal.js'
import { JobThread, memoryAloneOf } from '../../../../base/platform/processes/job-thread.js'
import { isRecord, ownValueOf } from '../../../../base/platform/records.js'

export interface BodyJob {
  /** Its name in `largeBodies`. */
  readonly schema: string
  readonly raw: Uint8Array
  /** The beginning of the fingerprint's input. Null if no fingerprint is needed. */
  readonly fingerprintLabel: string | null
}

type Path = readonly (string | number)[]

export type ParsedJob =
  | {
      readonly kind: 'value'
      readonly value: unknown
      /** The places of Buffers and refusals in the value. */
      readonly buffers: readonly Path[]
      readonly refusals: readonly (readonly [Path, PlainRefusal])[]
      readonly fingerprint: string | null
    }
  | { readonly kind: 'refused'; readonly refusal: PlainRefusal }

interface ParsedBody {
  readonly value: unknown
  readonly fingerprint: string | null
}

/** Bodies of one owner that wait. */
const MAX_WAITING_BODIES = 256

export class BodyThread {
  private readonly thread = new JobThread<BodyJob, ParsedJob>(new URL('../../bodies/body-worker.js', import.meta.url), {
    bound: {
      maxOfOwner: MAX_WAITING_BODIES,
      buildRefusal: () =>
        new Refusal('unavailable', 'too many large requests are being read, try again later', { retry_after: 1 }),
    },
  })

  /**
   * `raw` may be empty afterwards. Throws a Refusal for what is no JSON, and for what the schema refuses, or `unavailable`
   * if too many bodies of the owner wait.
   */
  async parse({ raw, ...job }: BodyJob, owner: string): Promise<ParsedBody> {
    const memory = memoryAloneOf(raw)
    const parsed = await this.thread.run({ ...job, raw }, memory === null ? [] : [memory], owner)
    if (parsed.kind === 'refused') throw reviveRefusal(parsed.refusal)
    const { value, buffers, refusals, fingerprint } = parsed
    for (const path of buffers) replaceAt(value, path, toBuffer)
    for (const [path, refusal] of refusals) replaceAt(value, path, () => reviveRefusal(refusal))
    return { value, fingerprint }
  }

  readBusyTime(): number {
    return this.thread.readBusyTime()
  }

  stop(): Promise<void> {
    return this.thread.stop()
  }
}

function toBuffer(bytes: unknown): unknown {
  return bytes instanceof Uint8Array ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : bytes
}

function replaceAt(root: unknown, path: Path, revive: (found: unknown) => unknown): void {
  const last = path.at(-1)
  const holder = path.slice(0, -1).reduce<unknown>((value, part) => ownValueOf(value, part), root)
  if (Array.isArray(holder) && typeof last === 'number') holder[last] = revive(holder[last])
  else if (isRecord(holder) && typeof last === 'string') Object.assign(holder, { [last]: revive(holder[last]) })
}

/**
 * Random sequences of sends and checks against a model of the interface's states, which shares no code with them.
 *
 * Sequences run beside each other on one database, so that their commits share transactions as in a daemon; each
 * has its own phones and its own clock.
 */
import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../../src/base/mail/refusal.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import {
  accepted,
  createTestCodes,
  createWorkspaces,
  refused,
  silent,
  type TestCodes,
} from '../../helpers/sms/test-codes.js'

const SEQUENCES = fc.readConfigureGlobal().numRuns ?? 300
const SEQUENCES_AT_ONCE = 500
const WORKSPACES = ['ws_1', 'ws_2'] as const
const PHONES_OF_SEQUENCE = 2

interface Place {
  /** Which workspace and which phone of the sequence. */
  readonly workspace: number
  readonly phone: number
}
type Entry = 'right' | 'wrong' | 'old' | 'void' | 'long'
type Step =
  | ({ readonly do: 'send'; readonly outcome: 'accepted' | 'refused' | 'silent' } & SendValues)
  | ({ readonly do: 'check'; readonly entry: Entry } & Place)
  | { readonly do: 'wait'; readonly seconds: number }

interface SendValues extends Place {
  readonly minutes: number
  readonly length: number
  /** Seconds that the provider takes. */
  readonly seconds: number
  /** A check of the phone while the provider is asked; null: none. */
  readonly during: Entry | null
}

const place = { workspace: fc.constantFrom(0, 0, 0, 1), phone: fc.constantFrom(0, 0, 0, 1) }
const entry = fc.constantFrom<Entry[]>('right', 'right', 'wrong', 'wrong', 'wrong', 'old', 'void', 'long')
const send = fc.record({
  do: fc.constant('send' as const),
  outcome: fc.constantFrom('accepted', 'accepted', 'accepted', 'refused', 'silent'),
  ...place,
  minutes: fc.constantFrom(1, 1, 2, 10, 60),
  length: fc.integer({ min: 4, max: 8 }),
  seconds: fc.constantFrom(0, 0, 5, 12),
  during: fc.option(entry, { nil: null, freq: 2 }),
})
const check = fc.record({ do: fc.constant('check' as const), entry, ...place })
const wait = fc.record({ do: fc.constant('wait' as const), seconds: fc.constantFrom(1, 30, 59, 60, 61, 600, 3_600) })
const sequence = fc.array(
  fc.oneof({ arbitrary: send, weight: 3 }, { arbitrary: check, weight: 7 }, { arbitrary: wait, weight: 1 }),
  { minLength: 1, maxLength: 14 },
)

/** One phone in one workspace, as the interface describes it. */
interface Verification {
  current: { readonly code: string; readonly until: number; guesses: number; state: string } | null
  /** Codes that were valid once, and those that never were. */
  readonly old: string[]
  readonly unsent: string[]
}

/** The answer that the model expects, and its change. */
function expectCheck({ current }: Verification, code: string, now: number): { status: string; left?: number } {
  if (current === null) return { status: 'invalid' }
  if (current.state !== 'open') return { status: current.state === 'done' ? 'invalid' : current.state }
  if (current.guesses === 3) {
    current.state = 'max_attempts'
  } else if (now >= current.until) {
    current.state = 'expired'
  } else if (code === current.code) {
    current.state = 'done'
    return { status: 'verified' }
  } else {
    current.guesses += 1
    return { status: 'invalid', left: 3 - current.guesses }
  }
  return { status: current.state }
}

function chooseCode({ current, old, unsent }: Verification, entry: Entry): string {
  const right = current?.code ?? '0000'
  const codes: Readonly<Record<Entry, string>> = {
    right,
    wrong: right.replace(/^./, (digit) => String(9 - Number(digit))),
    old: old.at(-1) ?? '11111',
    void: unsent.at(-1) ?? '222222',
    long: `${right}0`,
  }
  return codes[entry]
}

const eventTypes = ['sms.sent', 'sms.failed', 'sms.verified'] as const
type Counts = Record<(typeof eventTypes)[number], number>

class Run {
  private readonly verifications = new Map<string, Verification>()
  private readonly faults: string[] = []
  readonly counts: Counts = { 'sms.sent': 0, 'sms.failed': 0, 'sms.verified': 0 }

  constructor(
    private readonly codes: TestCodes,
    readonly firstPhone: number,
  ) {}

  async play(steps: readonly Step[]): Promise<readonly string[]> {
    for (const step of steps) {
      if (step.do === 'wait') this.codes.clock.now += step.seconds * 1_000
      else if (step.do === 'check') await this.check(step, step.entry)
      else await this.send(step)
    }
    return this.faults
  }

  private verificationOf({ workspace, phone }: Place): Verification {
    const key = `${workspace} ${phone}`
    const known = this.verifications.get(key) ?? { current: null, old: [], unsent: [] }
    this.verifications.set(key, known)
    return known
  }

  private target({ workspace, phone }: Place) {
    return { workspaceId: WORKSPACES[workspace] ?? '', phone: `+4915${this.firstPhone + phone}` }
  }

  private async check(at: Place, entry: Entry): Promise<void> {
    const verification = this.verificationOf(at)
    const code = chooseCode(verification, entry)
    const { status, left } = expectCheck(verification, code, this.codes.clock.now)
    if (status === 'verified') this.counts['sms.verified'] += 1
    const answer = await this.codes.check({ ...this.target(at), code })
    const found = /(\d|no) attempts? (?:is|are) left/.exec(answer.message)?.[1]
    const isAsExpected =
      answer.status === status &&
      answer.valid === (status === 'verified') &&
      found === (left === undefined ? undefined : left === 0 ? 'no' : String(left))
    if (!isAsExpected) this.faults.push(`${entry}: ${JSON.stringify(answer)}, expected ${status} ${left ?? ''}`)
  }

  private async send(step: Step & { readonly do: 'send' }): Promise<void> {
    const { codes } = this
    const verification = this.verificationOf(step)
    const startedAt = codes.clock.now
    codes.provider.answer = async () => {
      if (step.during !== null) await this.check(step, step.during)
      codes.clock.now += step.seconds * 1_000
      return { accepted, refused, silent }[step.outcome]
    }
    const values = { template: '{code}', codeLength: step.length, expiryMinutes: step.minutes, metadata: null }
    const kind = await codes.send({ ...this.target(step), ...values }).then(
      () => 'accepted',
      (error: unknown) => (error instanceof Refusal ? error.kind : String(error)),
    )
    const expected = { accepted: 'accepted', refused: 'unavailable', silent: 'no-answer' }[step.outcome]
    if (kind !== expected) this.faults.push(`send ${step.outcome}: ${kind}`)
    const code = codes.messages.at(-1)?.text.text ?? ''
    if (code.length !== step.length) this.faults.push(`a code of ${code.length} digits`)
    this.counts[step.outcome === 'accepted' ? 'sms.sent' : 'sms.failed'] += 1
    if (step.outcome !== 'accepted') {
      verification.unsent.push(code)
      return
    }
    if (verification.current !== null) verification.old.push(verification.current.code)
    verification.current = { code, until: startedAt + step.minutes * 60_000, guesses: 0, state: 'open' }
  }
}

async function findStrayRows({ read }: Database): Promise<readonly unknown[]> {
  return [
    ...(await read("select id, status from sms_codes where status = 'sending' or delivery = 'sending'", [])),
    ...(await read("select id from sms_codes where (status = 'void') <> (sent_at is null)", [])),
    ...(await read("select id from sms_codes where (status = 'verified') <> (verified_at is not null)", [])),
    ...(await read('select id from sms_codes where attempts not between 0 and 3', [])),
  ]
}

/** Plays the sequences and returns those that were not answered as expected, with their faults. */
async function playAll(database: Database, sequences: readonly (readonly Step[])[], expected: Counts) {
  const failed: object[] = []
  for (let start = 0; start < sequences.length; start += SEQUENCES_AT_ONCE) {
    const batch = sequences.slice(start, start + SEQUENCES_AT_ONCE).map(async (steps, place) => {
      const run = new Run(createTestCodes(database), 100_000_000 + (start + place) * PHONES_OF_SEQUENCE)
      const faults = await run.play(steps)
      for (const type of eventTypes) expected[type] += run.counts[type]
      if (faults.length > 0) failed.push({ faults, steps })
    })
    await Promise.all(batch)
  }
  return failed
}

t.test(`${SEQUENCES} sequences are answered as the model says`, async (t) => {
  const { database } = await temporaryDatabase(t)
  await createWorkspaces(database, WORKSPACES)
  const expected: Counts = { 'sms.sent': 0, 'sms.failed': 0, 'sms.verified': 0 }
  const failed = await playAll(database, fc.sample(sequence, SEQUENCES), expected)
  t.same(failed.slice(0, 3), [])
  const counted = await database.read<{ type: string; count: number }>(
    'select type, count(*) count from events group by type',
    [],
  )
  t.same(Object.fromEntries(counted.map(({ type, count }) => [type, count])), expected, 'an event for each change')
  t.same(await findStrayRows(database), [])
})

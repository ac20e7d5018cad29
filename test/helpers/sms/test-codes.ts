/** Sender and checker of codes on a real database, with a provider whose answers the test gives and a clock that it sets. */
import { createSecretKey } from 'node:crypto'
import { pino } from 'pino'
import type { Test } from 'tap'
import type { Log } from '../../../src/base/platform/log.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { CodeChecker } from '../../../src/workspaces/sms/check-code.js'
import { deriveCodeKey } from '../../../src/workspaces/sms/code-hash.js'
import type { SendOutcome, SmsMessage } from '../../../src/workspaces/sms/provider.js'
import { CodeSender, type CodeSenderDeps, type SentCode } from '../../../src/workspaces/sms/send-code.js'
import { temporaryDatabase } from '../database/database.js'
import { rowOf } from '../database/rows.js'

const codeKey = deriveCodeKey(createSecretKey(Buffer.alloc(32, 7)))
/** The first moment of the clock. */
export const START = Date.UTC(2030, 0, 1)

interface LogLine {
  readonly level: number
  readonly msg: string
  readonly [field: string]: unknown
}

export interface TestCodes {
  readonly clock: { now: number }
  /** The answer of the provider to the next messages. */
  readonly provider: { answer: (message: SmsMessage, deadline: number) => Promise<SendOutcome> }
  /** The messages that the provider was asked to send, in order. */
  readonly messages: SmsMessage[]
  readonly lines: LogLine[]
  readonly log: Log
  readonly send: CodeSender['send']
  readonly check: CodeChecker['check']
}

export const accepted: SendOutcome = { kind: 'accepted', messageIds: [] }
export const refused: SendOutcome = { kind: 'refused', reason: 'unknown subscriber' }
export const silent: SendOutcome = { kind: 'silent', reason: 'no answer' }

/** No limits. */
export function createTestCodes(database: Database, given: Partial<CodeSenderDeps> = {}): TestCodes {
  const clock = { now: START }
  const messages: SmsMessage[] = []
  const lines: LogLine[] = []
  const provider: TestCodes['provider'] = { answer: async () => accepted }
  const log = pino({ level: 'debug' }, { write: (line) => lines.push(JSON.parse(line) as LogLine) })
  const deps: CodeSenderDeps = {
    read: database.read,
    commit: database.commit,
    clock: () => clock.now,
    log,
    codeKey,
    provider: {
      name: 'http',
      send: (message, deadline) => {
        messages.push(message)
        return provider.answer(message, deadline)
      },
      stop: async () => undefined,
    },
    allowedCountries: () => ['DE', 'GB'],
    watch: { findHold: async () => null },
    charger: { charge: async () => ({ writes: [], findRefusal: async () => null }) },
    countSent: () => [],
    buildReceiptUrl: (id) => `https://mail.test/v1/sms/receipts/${id}/token`,
    ...given,
  }
  const store = { read: deps.read, commit: deps.commit }
  const sender = new CodeSender(deps)
  const checker = new CodeChecker({ ...store, clock: deps.clock, log, codeKey, isConfigured: true })
  return {
    ...{ clock, provider, messages, lines, log },
    send: (request) => sender.send(request),
    check: (request) => checker.check(request),
  }
}

export async function createWorkspaces(database: Database, ids: readonly string[]): Promise<void> {
  const build = rowOf(database.read)
  await database.commit(await Promise.all(ids.map((id) => build('workspaces', { id }))))
}

interface CodesOfTest extends TestCodes {
  readonly database: Database
  readonly file: string
}

/** With the workspaces `ws_1` and `ws_2`. */
export async function testCodes(t: Test, given: Partial<CodeSenderDeps> = {}): Promise<CodesOfTest> {
  const { database, file } = await temporaryDatabase(t)
  await createWorkspaces(database, ['ws_1', 'ws_2'])
  return { ...createTestCodes(database, given), database, file }
}

export const PHONE = '+4915123456789'

/** A template that makes the text of the message the code alone. */
const CODE_ALONE = '{code}'

interface SendOptions {
  readonly workspaceId?: string
  readonly phone?: string
  readonly codeLength?: number
  readonly expiryMinutes?: number
}

/** Sends a code and returns it with what the client is answered. */
export async function sendCode(codes: TestCodes, options: SendOptions = {}): Promise<SentCode & { code: string }> {
  const defaults = { workspaceId: 'ws_1', phone: PHONE, codeLength: 6, expiryMinutes: 10, metadata: null }
  const sent = await codes.send({ ...defaults, ...options, template: CODE_ALONE })
  const message = codes.messages.find(({ id }) => id === sent.id)
  if (message === undefined) throw new Error('the provider was not asked')
  return { ...sent, code: message.text.text }
}

/** A code of the same length that is not this one. */
export function toWrongCode(code: string): string {
  return code.replace(/.$/, (digit) => String((Number(digit) + 1) % 10))
}

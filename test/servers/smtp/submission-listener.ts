/** A real submission listener on loopback for tests: two keys, one sending domain, a list of accepted messages. */
import { generate } from 'selfsigned'
import type { Test } from 'tap'
import { type Address, domainOf } from '../../../src/base/mail/address.js'
import { Refusal } from '../../../src/base/mail/refusal.js'
import type { TlsPair } from '../../../src/base/platform/tls-files.js'
import type { SubmittedMessage } from '../../../src/outbound/sending/submitted-message.js'
import type { SubmissionDeps } from '../../../src/servers/smtp/submission/submission-deps.js'
import { SubmissionListener } from '../../../src/servers/smtp/submission/submission-listener.js'
import { createKeylessPrincipal, type Principal } from '../../../src/workspaces/accounts/access/principal.js'
import { type DialOptions, type Dialogue, dial } from '../../helpers/smtp/smtp-dialogue.js'
import { type SubmissionSettings, submissionSettings } from './listener-settings.js'

export const app: Principal = { ...createKeylessPrincipal('ws_1'), keyId: 'key_app' }
export const other: Principal = { ...createKeylessPrincipal('ws_2'), keyId: 'key_other' }
export const printer: Principal = createKeylessPrincipal('ws_1')

const keys: Readonly<Record<string, Principal>> = { 'app-key': app, 'other-key': other }

interface AcceptedMessage {
  readonly principal: Principal
  readonly message: SubmittedMessage
}

export interface RunningSubmission {
  readonly listener: SubmissionListener
  readonly taken: readonly AcceptedMessage[]
  /** What was logged as an error. */
  readonly errors: readonly unknown[]
  /** Moves the listener's clock. */
  advance(milliseconds: number): void
  /** A connection whose greeting has been read; `tls`: on the TLS port. */
  open(options?: DialOptions): Promise<Dialogue>
  port(tls: boolean): number
}

let certificate: Promise<TlsPair> | undefined

export function sharedCertificate(): Promise<TlsPair> {
  certificate ??= createSelfSigned()
  return certificate
}

export async function createSelfSigned(): Promise<TlsPair> {
  const pair = await generate([{ name: 'commonName', value: 'mail.test' }], { algorithm: 'sha256' })
  return { key: pair.private, cert: pair.cert }
}

/** What a test changes of what the listener uses. */
export interface SubmissionChanges extends Partial<SubmissionDeps> {
  readonly authenticate?: SubmissionDeps['access']['authenticate']
  readonly trusted?: SubmissionDeps['access']['findTrusted']
  readonly checkSender?: SubmissionDeps['access']['checkSender']
  readonly accept?: SubmissionDeps['acceptor']['accept']
}

async function authenticateKey(password: string): Promise<Principal> {
  const principal = keys[password]
  if (principal === undefined) throw new Refusal('bad-credentials', 'Authentication credentials invalid')
  return principal
}

async function checkExampleSender(_principal: Principal, from: Address | ''): Promise<void> {
  if (from === '' || domainOf(from) === 'example.test') return
  throw new Refusal('sender-not-verified', `${domainOf(from)} is not a verified domain of the workspace`)
}

export async function runSubmission(
  t: Pick<Test, 'teardown'>,
  settings: SubmissionSettings = {},
  deps: SubmissionChanges = {},
): Promise<RunningSubmission> {
  const { authenticate: _authenticate, trusted: _trusted, checkSender: _checkSender, accept: _accept, ...rest } = deps
  const taken: AcceptedMessage[] = []
  const errors: unknown[] = []
  let now = 1_800_000_000_000
  const listener = await SubmissionListener.start({
    access: {
      authenticate: deps.authenticate ?? authenticateKey,
      findTrusted: deps.trusted ?? (() => null),
      checkSender: deps.checkSender ?? checkExampleSender,
    },
    acceptor: {
      accept:
        deps.accept ??
        (async (principal, message) => {
          taken.push({ principal, message })
          return { emailId: `email-${taken.length}` }
        }),
    },
    hasDiskSpace: () => true,
    clock: () => now,
    log: {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: (line: unknown) => errors.push(line),
    },
    hostname: 'mail.test',
    tls: await sharedCertificate(),
    ...submissionSettings(settings),
    ...rest,
  })
  t.teardown(() => listener.stop(0))

  const port = (tls: boolean): number => listener.endpoints.find((endpoint) => endpoint.tls === tls)?.port ?? 0
  return {
    listener,
    taken,
    errors,
    port,
    advance(milliseconds) {
      now += milliseconds
    },
    async open(options = {}) {
      const client = await dial(port(options.tls ?? false), options)
      t.teardown(() => client.end())
      await client.readReply()
      return client
    },
  }
}

export function authPlain(key: string): string {
  return `AUTH PLAIN ${Buffer.from(`\0anybody\0${key}`).toString('base64')}`
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** A client that has said EHLO and MAIL, RCPT, DATA; the message comes next. */
export async function advanceToData(client: Dialogue): Promise<void> {
  await client.sendCommand('EHLO client.test')
  await client.sendCommand('MAIL FROM:<a@example.test>')
  await client.sendCommand('RCPT TO:<b@remote.test>')
  await client.sendCommand('DATA')
}

export const letter = 'From: a@example.test\r\nSubject: hello\r\n\r\nhello\r\n'

/** Waits until something holds, checking at every turn of the event loop. */
export async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

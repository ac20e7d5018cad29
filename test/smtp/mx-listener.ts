/** A real MX listener on loopback for tests: a few recipients, messages kept in a list, waits that are only noted. */
import type { Test } from 'tap'
import type { ReceivedMessage } from '../../src/receiving/received-message.js'
import { listenForMail, type MxListener } from '../../src/smtp/mx.js'
import { type MxDeps, type MxSettings, mxLimits, type TakenRecipient } from '../../src/smtp/mx-deps.js'
import type { RecipientRefusal } from '../../src/smtp/mx-refusals.js'
import { type Dialogue, dial } from '../helpers/smtp-dialogue.js'
import { certificate } from './submission-listener.js'

export interface RunningMx {
  readonly listener: MxListener
  readonly taken: readonly ReceivedMessage[]
  /** What was logged as an error. */
  readonly errors: readonly unknown[]
  /** The waits that were asked for, in milliseconds; none of them takes any time. */
  readonly waits: readonly number[]
  readonly port: number
  /** Moves the listener's clock. */
  advance(milliseconds: number): void
  /** A connection whose greeting has been read. */
  open(localAddress?: string): Promise<Dialogue>
}

const refused: Readonly<Record<string, RecipientRefusal>> = {
  'nobody@home.test': 'unknown-recipient',
  'blocked@home.test': 'recipient-blocked',
}

/** Each domain below home.test is another party. */
function recipient(address: string): TakenRecipient | RecipientRefusal {
  if (!/@(?:.*\.)?(?:home|mail)\.test$/.test(address)) return 'relay-denied'
  const party = address.slice(address.lastIndexOf('@') + 1)
  return refused[address] ?? (address.startsWith('unknown') ? 'unknown-recipient' : { party })
}

export async function runMx(
  t: Test,
  settings: Partial<MxSettings> = {},
  deps: Partial<MxDeps> = {},
): Promise<RunningMx> {
  const taken: ReceivedMessage[] = []
  const errors: unknown[] = []
  const waits: number[] = []
  let now = 1_800_000_000_000
  const listener = await listenForMail({
    recipient,
    async accept(message) {
      taken.push(message)
      return { id: `mail-${taken.length}` }
    },
    listings: async () => [],
    mayTake: () => true,
    after(milliseconds, act) {
      waits.push(milliseconds)
      const soon = setImmediate(act)
      return () => clearImmediate(soon)
    },
    clock: () => now,
    log: { info: () => undefined, warn: () => undefined, error: (line: unknown) => errors.push(line) },
    ...deps,
    settings: {
      ...mxLimits,
      hostname: 'mail.test',
      listen: [{ host: '127.0.0.1', port: 0 }],
      tls: await certificate(),
      proxies: [],
      maxConnectionsPerAddress: 1000,
      connectionsPerMinute: 10_000,
      ...settings,
    },
  })
  t.teardown(() => listener.stop(0))
  const port = listener.endpoints[0]?.port ?? 0
  return {
    listener,
    taken,
    errors,
    waits,
    port,
    advance(milliseconds) {
      now += milliseconds
    },
    async open(localAddress) {
      const client = await dial(port, localAddress === undefined ? {} : { localAddress })
      t.teardown(() => client.end())
      await client.reply()
      return client
    },
  }
}

/** A client that has said EHLO and MAIL. */
export async function atRcpt(client: Dialogue): Promise<void> {
  await client.say('EHLO out.sender.test')
  await client.say('MAIL FROM:<ann@sender.test>')
}

/** Sends one message and returns the reply to it. */
export async function deliver(client: Dialogue, text: string | Buffer): Promise<string> {
  await atRcpt(client)
  await client.say('RCPT TO:<bob@home.test>')
  await client.say('DATA')
  await client.send(text)
  return client.say('\r\n.')
}

export const letter = 'From: ann@sender.test\r\nSubject: hello\r\n\r\nhello'

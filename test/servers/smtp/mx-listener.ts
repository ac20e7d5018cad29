/** A real MX listener on loopback for tests: a few recipients, a list of accepted messages, waits that take no time. */
import type { Test } from 'tap'
import type { ReceivedMessage } from '../../../src/inbound/receiving/authentication/received-message.js'
import type { CheckedRecipient, RecipientFault } from '../../../src/inbound/receiving/recipients/recipient-checker.js'
import type { MxDeps } from '../../../src/servers/smtp/mx/mx-deps.js'
import { MxListener } from '../../../src/servers/smtp/mx/mx-listener.js'
import { type Dialogue, dial } from '../../helpers/smtp/smtp-dialogue.js'
import { type MxSettings, mxSettings } from './listener-settings.js'
import { sharedCertificate } from './submission-listener.js'

interface RunningMx {
  readonly listener: MxListener
  readonly taken: readonly ReceivedMessage[]
  /** What was logged as an error. */
  readonly errors: readonly unknown[]
  /** The requested waits in milliseconds; none takes any time. */
  readonly waits: readonly number[]
  readonly port: number
  /** Moves the listener's clock. */
  advance(milliseconds: number): void
  /** A connection whose greeting has been read. */
  open(localAddress?: string): Promise<Dialogue>
}

type TestRecipient = Pick<CheckedRecipient, 'workspaceId'> & Partial<CheckedRecipient>

/** What a test changes of what the listener uses. */
export interface MxChanges extends Partial<MxDeps> {
  readonly checkRecipient?: (address: string) => TestRecipient | RecipientFault
  readonly accept?: MxDeps['acceptor']['accept']
  readonly findListings?: MxDeps['blockLists']['find']
  readonly hasDiskSpace?: () => boolean
}

type UsedRooms = Pick<MxDeps, 'recipients' | 'acceptor' | 'blockLists' | 'allowLists' | 'greylist' | 'disk'>

/** Rooms below the listener, as a test gives them. */
export function mxRooms(
  { checkRecipient = recipient, accept, findListings = async () => [], hasDiskSpace = () => true }: MxChanges,
  taken: ReceivedMessage[],
): UsedRooms {
  return {
    recipients: {
      check: async (address) => {
        const found = checkRecipient(address)
        return typeof found === 'string' ? found : { alone: false, greylisting: null, forwardRule: null, ...found }
      },
    },
    acceptor: { accept: accept ?? (async (message) => ({ id: `mail-${taken.push(message)}` })) },
    blockLists: { find: findListings },
    allowLists: { find: async () => [] },
    greylist: { applies: () => false, check: async () => 0 },
    disk: { hasRoom: hasDiskSpace },
  }
}

const refusalsByName: Readonly<Record<string, RecipientFault>> = {
  'nobody@home.test': 'unknown-recipient',
  'blocked@home.test': 'recipient-blocked',
}

/** Each domain below home.test is a workspace of its own. */
function recipient(address: string): TestRecipient | RecipientFault {
  if (!/@(?:.*\.)?(?:home|mail)\.test$/.test(address)) return 'relay-denied'
  const workspaceId = address.slice(address.lastIndexOf('@') + 1)
  return refusalsByName[address] ?? (address.startsWith('unknown') ? 'unknown-recipient' : { workspaceId })
}

export async function runMx(
  t: Pick<Test, 'teardown'>,
  settings: MxSettings = {},
  changes: MxChanges = {},
): Promise<RunningMx> {
  const { checkRecipient: _check, accept: _accept, findListings: _find, hasDiskSpace: _space, ...deps } = changes
  const taken: ReceivedMessage[] = []
  const errors: unknown[] = []
  const waits: number[] = []
  let now = 1_800_000_000_000
  const listener = await MxListener.start({
    ...mxRooms(changes, taken),
    schedule(milliseconds, act) {
      waits.push(milliseconds)
      const soon = setImmediate(act)
      return () => clearImmediate(soon)
    },
    clock: () => now,
    log: {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: (line: unknown) => errors.push(line),
    },
    hostname: 'mail.test',
    tls: await sharedCertificate(),
    ...mxSettings({ max_connections_per_address: 1000, connections_per_minute: 10_000, ...settings }),
    ...deps,
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
      await client.readReply()
      return client
    },
  }
}

/** A client that has said EHLO and MAIL. */
export async function advanceToRcpt(client: Dialogue): Promise<void> {
  await client.sendCommand('EHLO out.sender.test')
  await client.sendCommand('MAIL FROM:<ann@sender.test>')
}

/** Sends one message and returns the reply to it. */
export async function deliver(client: Dialogue, text: string | Buffer): Promise<string> {
  await advanceToRcpt(client)
  await client.sendCommand('RCPT TO:<bob@home.test>')
  await client.sendCommand('DATA')
  await client.send(text)
  return client.sendCommand('\r\n.')
}

export const letter = 'From: ann@sender.test\r\nSubject: hello\r\n\r\nhello'

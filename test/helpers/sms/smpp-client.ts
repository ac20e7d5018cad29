/** Posthorn's SMPP provider with a log that can be read, short times, and messages for it. */
import { pino } from 'pino'
import type { Test } from 'tap'
import { systemClock } from '../../../src/base/platform/clock.js'
import { createDialer } from '../../../src/base/platform/dialer.js'
import type { Receipt, SmsMessage, SmsProvider } from '../../../src/workspaces/sms/provider.js'
import { SmppProvider } from '../../../src/workspaces/sms/smpp/smpp-provider.js'
import { encodeText } from '../../../src/workspaces/sms/text-encoding.js'

type Deps = ConstructorParameters<typeof SmppProvider>[0]

export interface SmppClient {
  readonly provider: SmsProvider
  readonly send: (text: string, timeLimit?: number) => ReturnType<SmsProvider['send']>
  readonly receipts: readonly Receipt[]
  readonly lines: readonly Readonly<Record<string, unknown>>[]
  readonly listMessages: () => readonly unknown[]
}

export const PHONE = '+41791234567'
/** In each text, so that a line of the log that has it is found. */
export const SECRET = '493817'

export function buildMessage(text: string): SmsMessage {
  return {
    id: 'code-1',
    phone: PHONE,
    text: encodeText(text),
    expiresAt: systemClock() + 300_000,
    receiptUrl: 'http://127.0.0.1/',
  }
}

/** `where.port`: of an SMSC on 127.0.0.1. At the end of the test it is stopped and its log is searched for secrets. */
export function openClient(t: Test, where: { readonly port: number }, changes: Partial<Deps> = {}): SmppClient {
  const lines: Readonly<Record<string, unknown>>[] = []
  const receipts: Receipt[] = []
  const provider = new SmppProvider({
    server: { host: '127.0.0.1', port: where.port, secure: false },
    systemId: 'posthorn',
    password: 'secret08',
    sender: () => 'Posthorn',
    dialer: createDialer(),
    resolveAddresses: async () => ({ kind: 'no-domain' }),
    clock: systemClock,
    random: () => 0.5,
    log: pino({ base: null, level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    onReceipt: async (receipt) => {
      receipts.push(receipt)
      return 'applied'
    },
    ...changes,
    times: { minPause: 20, maxPause: 200, refusedPause: 60, throttlePause: 20, submission: 0, ...changes.times },
  })
  t.teardown(async () => {
    await provider.stop()
    const log = JSON.stringify(lines)
    const found = [SECRET, PHONE.slice(1), 'secret08'].find((secret) => log.includes(secret))
    if (found !== undefined) throw new Error(`the log has ${found}: ${log}`)
  })
  return {
    provider,
    receipts,
    lines,
    send: (text, timeLimit = 10_000) => provider.send(buildMessage(text), systemClock() + timeLimit),
    listMessages: () => lines.map(({ msg }) => msg),
  }
}

/** A client of rspamd, its input, and the weight of its answer. */
import { pino } from 'pino'
import { RspamdClient, type RspamdLimits, type RspamdRequest } from '../../../src/inbound/spam/rspamd/rspamd.js'
import type { RspamdVerdict } from '../../../src/inbound/spam/rspamd/rspamd-answer.js'
import { collectRspamdContributions } from '../../../src/inbound/spam/rspamd-points.js'
import { defaultSpamThresholds, sumScores } from '../../../src/inbound/spam/rules/spam-report.js'

const limits: RspamdLimits = { timeout: 10_000, concurrency: 20, memoryBytes: 1_000_000, responseBytes: 100_000 }

export const origin = {
  envelopeFrom: 'bob@b.test',
  clientAddress: '192.0.2.1',
  helo: 'mx.b.test',
  reverseName: 'mx.b.test',
}

export const rspamdRequest: RspamdRequest = {
  id: 'in-1',
  raw: Buffer.from('From: bob@b.test\r\nSubject: hello\r\n\r\nhello\r\n'),
  origin,
  recipients: ['info@a.test', 'sales@a.test'],
}

interface TestClient {
  readonly ask: RspamdClient['check']
  readonly log: readonly { readonly level: number; readonly msg: string; readonly [key: string]: unknown }[]
  readonly clock: { now: number }
}

export function createClient(url: string, more: Partial<RspamdLimits> = {}): TestClient {
  const log: TestClient['log'][number][] = []
  const clock = { now: 0 }
  const write = (line: string): void => void log.push(JSON.parse(line) as TestClient['log'][number])
  const deps = {
    url: new URL(url),
    clock: () => clock.now,
    log: pino({ level: 'trace' }, { write }),
    limits: { ...limits, ...more },
  }
  const client = new RspamdClient(deps)
  return { ask: (question) => client.check(question), log, clock }
}

export const buildVerdict = (more: Partial<RspamdVerdict>): RspamdVerdict => ({
  score: 0,
  requiredScore: 15,
  action: 'none',
  symbols: [],
  ...more,
})

/** Together with our own contributions. */
export const sumPoints = (own: number, more: Partial<RspamdVerdict>): number =>
  sumScores([
    { name: 'OWN', score: own, description: '' },
    ...collectRspamdContributions(own, buildVerdict(more), defaultSpamThresholds),
  ])

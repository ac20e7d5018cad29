/** `domain verify|rotate`: commands that query DNS. The daemon learns of the result from the database. */

import { assertNever } from '../../../base/mail/assert-never.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { systemRandom } from '../../../base/platform/random.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { RecordFinding } from '../../../records/events/payloads.js'
import { operatorActor } from '../../../workspaces/accounts/access/audit-log.js'
import { buildRotationDeps, openDomainResolver } from '../../../workspaces/domains/domain-resolver.js'
import { type RotationDeps, type RotationProgress, rotateKeys } from '../../../workspaces/domains/rotate-keys.js'
import { forceVerification, verifyDomain } from '../../../workspaces/domains/verify-domain.js'
import { type Answer, type Call, flagOption } from '../command/command.js'
import { chooseDomain, requireDomain, showDomain } from '../command/domain-choice.js'
import { formatMoment } from '../command/table.js'

export async function verify(call: Call): Promise<Answer> {
  const it = await chooseDomain(call)
  const row = requireDomain(it)
  if (flagOption(call.options, 'force')) {
    await it.database.commit(forceVerification(it.database.read, row, operatorActor, call.clock()))
    return showDomain(call, it)
  }
  try {
    await withDns(call, it.database, (deps) => verifyDomain(deps, row, operatorActor, call.clock()))
    return showDomain(call, it)
  } catch (error) {
    const records = error instanceof Refusal ? error.details['records'] : undefined
    if (!(error instanceof Refusal) || !Array.isArray(records)) throw error
    return {
      ...showDomain(call, it, [...formatDifferences(error.message, records), '']),
      failed: true,
    }
  }
}

function formatDifferences(message: string, records: readonly RecordFinding[]): string[] {
  const wrong = records.filter(({ status }) => status !== 'verified')
  return [message, ...wrong.flatMap(formatDifference)]
}

function formatDifference({ name, expected, found: actual, status }: RecordFinding): string[] {
  const nothing = status === 'pending' ? 'no answer' : 'nothing'
  return [`  ${name}.`, `    expected CNAME ${expected}.`, `    found    ${actual ?? nothing}`]
}

export async function rotate(call: Call): Promise<Answer> {
  const it = await chooseDomain(call)
  const row = requireDomain(it)
  const acting = { actor: operatorActor, now: call.clock(), forced: flagOption(call.options, 'force') }
  const rotation = await withDns(call, it.database, (deps) => rotateKeys(deps, row, acting))
  return showDomain(call, it, [describeRotation(rotation), ''])
}

function describeRotation(rotation: RotationProgress): string {
  switch (rotation.kind) {
    case 'done':
      return 'Another key signs from now on; the one before stays published for mail on its way.'
    case 'retiring':
      return `${rotation.selector} gets a new key after ${formatMoment(rotation.until)}: until then mail on its way may need the old one. A day later it signs.`
    case 'settling':
      return `${rotation.selector} has a new key, which signs after ${formatMoment(rotation.until)}, once DNS shows it.`
    case 'unseen':
      return `${rotation.selector} signs as soon as DNS shows its key; it is looked for every hour.`
    default:
      return assertNever(rotation)
  }
}

async function withDns<T>(call: Call, database: Store, work: (deps: RotationDeps) => Promise<T>): Promise<T> {
  const ended = new AbortController()
  const resolver = openDomainResolver(call.config, call.clock, ended.signal)
  try {
    return await work(
      buildRotationDeps(call.config, () => call.config.outbound.expire_after, {
        ...database,
        resolver,
        random: systemRandom,
      }),
    )
  } finally {
    ended.abort()
  }
}

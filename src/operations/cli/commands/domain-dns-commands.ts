/** `domain verify|rotate`: commands that query DNS. The daemon learns of the result from the database. */

import { assertNever } from '../../../base/mail/assert-never.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { systemRandom } from '../../../base/platform/random.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { RecordFinding } from '../../../records/events/payloads.js'
import { operatorActor } from '../../../workspaces/accounts/access/audit-log.js'
import { buildRotationDeps, openDomainResolver } from '../../../workspaces/domains/domain-resolver.js'
import { type RotationDeps, type RotationProgress, rotateKeys } from '../../../workspaces/domains/rotate-keys.js'
import { findHiddenKeys, type RecordsFinding } from '../../../workspaces/domains/verification/judge-records.js'
import { forceVerification, verifyDomain } from '../../../workspaces/domains/verify-domain.js'
import { toZoneSettings } from '../../../workspaces/domains/zone/zone-records.js'
import { type Answer, type Call, flagOption } from '../command/command.js'
import { type ChosenDomain, chooseDomain, readDomain, requireDomain, showDomain } from '../command/domain-choice.js'
import { formatForPeople } from '../command/record-lines.js'
import { formatMoment } from '../command/table.js'

export async function verify(call: Call): Promise<Answer> {
  const it = await chooseDomain(call)
  const row = await requireDomain(it)
  if (flagOption(call.options, 'force')) {
    await it.database.commit(await forceVerification(it.database.read, row, operatorActor, call.clock()))
    return describeVerified(call, it, [])
  }
  try {
    const checked = await withDns(call, it.database, (deps) => verifyDomain(deps, row, operatorActor, call.clock()))
    return await describeVerified(call, it, findHiddenKeys(checked?.findings ?? []))
  } catch (error) {
    const records = error instanceof Refusal ? error.details['records'] : undefined
    if (!(error instanceof Refusal) || !Array.isArray(records)) throw error
    const shown = await readDomain(call, it)
    const lines = [
      `${it.domain}  ${shown.domain.status}`,
      '',
      ...describeUnproved(it.domain, records, error.kind === 'no-answer'),
    ]
    return { json: { ...shown.domain, records: shown.records }, lines, failed: true }
  }
}

/** Optional records are named only if they are missing. The last line has what matters. */
async function describeVerified(call: Call, it: ChosenDomain, hiddenKeys: readonly RecordsFinding[]): Promise<Answer> {
  const { domain, records } = await readDomain(call, it)
  const { dmarc_record: dmarc, mx_record: mx } = domain
  const absent = records.filter(
    ({ type, name }) =>
      (type === 'TXT' && name === dmarc.name && dmarc.status !== 'verified') ||
      (type === 'MX' && domain.inbound && name === mx.name && mx.status !== 'verified'),
  )
  return {
    json: { ...domain, records },
    lines: [
      `${domain.domain}  ${domain.status}`,
      '',
      ...(absent.length === 0 ? [] : formatForPeople(absent)),
      hiddenKeys.length === 0 ? `verified: you can send from ${domain.domain}` : describeHidden(call, it, hiddenKeys),
    ],
  }
}

/** A CNAME proves the domain. But receivers follow it to the key, which the operator publishes. */
function describeHidden({ config }: Call, { domain }: ChosenDomain, keys: readonly RecordsFinding[]): string {
  const { zone, nameservers } = toZoneSettings(config)
  const cure =
    nameservers.length === 0
      ? 'publish the TXT records that "posthorn zone" prints for these names'
      : `this server answers for ${zone}, and "posthorn doctor" shows why DNS does not reach it`
  const names = keys.map(({ value }) => value).join(', ')
  return `verified, but do not send from ${domain} yet: DNS does not show the DKIM keys at ${names}; ${cure}`
}

function describeUnproved(domain: string, records: readonly RecordFinding[], isSilent: boolean): readonly string[] {
  const wrong = records.filter(({ status }) => status !== 'verified')
  const names = wrong.map(({ name }) => name).join(', ')
  const many = `${wrong.length} of ${records.length} records ${wrong.length === 1 ? 'is' : 'are'}`
  return [
    ...wrong.flatMap(formatDifference),
    '',
    `Try again with: posthorn domain verify ${domain}`,
    isSilent
      ? `DNS does not answer for ${wrong.length} of ${records.length} records, nothing has changed: ${names}`
      : `${many} missing or wrong: ${names}`,
  ]
}

function formatDifference({ name, expected, found: actual, status }: RecordFinding): string[] {
  const nothing = status === 'pending' ? 'no answer' : 'nothing'
  return [`  ${name}.`, `    expected CNAME ${expected}.`, `    found    ${actual ?? nothing}`]
}

export async function rotate(call: Call): Promise<Answer> {
  const it = await chooseDomain(call)
  const row = await requireDomain(it)
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

export async function withDns<T>(call: Call, database: Store, work: (deps: RotationDeps) => Promise<T>): Promise<T> {
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

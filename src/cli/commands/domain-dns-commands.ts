/** `domain verify|rotate`: what asks DNS, beside the daemon, which hears of it by the database. */
import { operator } from '../../accounts/audit-log.js'
import { type Rotation, type RotationDeps, rotateKeys } from '../../domains/dkim/rotate-keys.js'
import { checkingIn, openAsk } from '../../domains/verification/asking.js'
import type { ShownFinding } from '../../domains/verification/domain-checks.js'
import { forcedVerification, verifyDomain } from '../../domains/verification/verify-domain.js'
import { assertNever } from '../../mail/assert-never.js'
import { Refusal } from '../../mail/refusal.js'
import { systemDice } from '../../platform/dice.js'
import type { Database } from '../../storage/database.js'
import { type Answer, type Call, type Command, flag } from '../command.js'
import { chosen, found, shown } from '../domain-choice.js'
import { moment } from '../table.js'

const options = { workspace: 'string', force: 'boolean' } as const

export const domainDnsCommands: readonly Command[] = [
  {
    name: 'domain verify',
    usage: 'NAME [--force] [--workspace ID]',
    summary: 'look the records of a domain up in DNS; --force: take it as verified, by your word',
    options,
    noticed: true,
    run: verify,
  },
  {
    name: 'domain rotate',
    usage: 'NAME [--force] [--workspace ID]',
    summary: 'sign with the other DKIM key as soon as DNS shows it; --force: at once, by your word',
    options,
    noticed: true,
    run: rotate,
  },
]

async function verify(call: Call): Promise<Answer> {
  const it = await chosen(call)
  const row = found(it)
  if (flag(call.options, 'force')) {
    await it.database.commit(forcedVerification(it.database.read, row, operator, call.clock()))
    return shown(call, it)
  }
  try {
    await asking(call, it.database, (deps) => verifyDomain(deps, row, operator, call.clock()))
    return shown(call, it)
  } catch (error) {
    const records = error instanceof Refusal ? error.details['records'] : undefined
    if (!(error instanceof Refusal) || !Array.isArray(records)) throw error
    return { ...shown(call, it, [...differences(error.message, records as ShownFinding[]), '']), failed: true }
  }
}

function differences(message: string, records: readonly ShownFinding[]): string[] {
  const wrong = records.filter(({ status }) => status !== 'verified')
  return [message, ...wrong.flatMap(difference)]
}

function difference({ name, expected, found: there, status }: ShownFinding): string[] {
  const nothing = status === 'pending' ? 'no answer' : 'nothing'
  return [`  ${name}.`, `    expected CNAME ${expected}.`, `    found    ${there ?? nothing}`]
}

async function rotate(call: Call): Promise<Answer> {
  const it = await chosen(call)
  const row = found(it)
  const acting = { actor: operator, now: call.clock(), forced: flag(call.options, 'force') }
  const rotation = await asking(call, it.database, (deps) => rotateKeys(deps, row, acting))
  return shown(call, it, [outlook(rotation), ''])
}

function outlook(rotation: Rotation): string {
  switch (rotation.kind) {
    case 'done':
      return 'Another key signs from now on; the one before stays published for mail on its way.'
    case 'retiring':
      return `${rotation.selector} gets a new key after ${moment(rotation.until)}: until then mail on its way may need the old one. A day later it signs.`
    case 'settling':
      return `${rotation.selector} has a new key, which signs after ${moment(rotation.until)}, once DNS shows it.`
    case 'unseen':
      return `${rotation.selector} signs as soon as DNS shows its key; it is looked for every hour.`
    default:
      return assertNever(rotation)
  }
}

async function asking<T>(call: Call, database: Database, work: (deps: RotationDeps) => Promise<T>): Promise<T> {
  const ended = new AbortController()
  const ask = openAsk(call.config, call.clock, ended.signal)
  try {
    return await work(checkingIn(call.config, { ...database, ask, dice: systemDice }))
  } finally {
    ended.abort()
  }
}

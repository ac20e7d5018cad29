/**
 * `certificates`: the certificates from the ACME server, with what went wrong last and what comes next.
 *
 * `certificates renew` leaves a request for the running daemon, and waits until it has tried.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../../../base/config/complete.js'
import { type DomainName, formatForDisplay, tryParseDomainName } from '../../../base/mail/address.js'
import { announceChange } from '../../../base/storage/db/change-acknowledgement.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { type CertificateView, describeStored } from '../../certificates/certificate-list.js'
import { listMailHosts, listServiceNames } from '../../certificates/certificate-names.js'
import { readFacts } from '../../certificates/certificate-rows.js'
import { readState, requestRenewal } from '../../certificates/name-rows.js'
import { type Answer, type Call, CommandFailed, refuseExtraWords, requiredWord } from '../command/command.js'
import { formatTable } from '../command/table.js'

/** Milliseconds that `renew` waits. An order takes two minutes at most. */
const MAX_WAIT = 150_000
const POLL_INTERVAL = 100

export async function listCertificates({ words, config, clock, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  requireAcme(config)
  const { read } = await database()
  const data: CertificateView[] = []
  for (const name of await listNames(config, read)) data.push(await describeStored(read, name, clock()))
  return { json: { data }, lines: formatCertificates(data) }
}

export async function renewCertificate({ words, config, clock, database: open }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  requireAcme(config)
  const written = requiredWord(words, 0, 'NAME')
  const name = tryParseDomainName(written)
  const { read, commit } = await open()
  if (name === null || !(await listNames(config, read)).includes(name)) {
    throw new CommandFailed(`${formatForDisplay(written)} is not among the names that "posthorn certificates" lists`)
  }
  const before = await readFacts(read, name)
  const { record } = await readState(read, name)
  await commit([requestRenewal({ name, now: clock() }), announceChange()])
  if (!isDataFolderHeld(config.service.data_dir)) {
    const lines = [`No daemon runs here: ${name} is renewed after the next start.`]
    return { json: await describeStored(read, name, clock()), lines }
  }
  const isTried = await waitForTry(read, name, record.triedAt)
  const view = await describeStored(read, name, clock())
  const isRenewed = (await readFacts(read, name))?.fingerprint !== before?.fingerprint
  const warnings = isTried ? [] : ['the daemon has not finished; "posthorn certificates" shows the result']
  return { json: view, lines: formatCertificates([view]), failed: !isRenewed, warnings }
}

function requireAcme({ tls }: Config): void {
  if (!tls.acme.enabled) throw new CommandFailed('tls.acme.enabled is false: no certificates come from an ACME server')
}

async function listNames(config: Config, read: Read): Promise<readonly DomainName[]> {
  return [...new Set([...listServiceNames(config), ...(await listMailHosts(read))])]
}

/** Whether the daemon has tried again since `before`. */
async function waitForTry(read: Read, name: DomainName, before: number | null): Promise<boolean> {
  for (let waited = 0; waited < MAX_WAIT; waited += POLL_INTERVAL) {
    if ((await readState(read, name)).record.triedAt !== before) return true
    await pause(POLL_INTERVAL)
  }
  return false
}

function formatCertificates(views: readonly CertificateView[]): string[] {
  if (views.length === 0) return ['There is no name for which a certificate can be ordered.']
  const rows = views.map(({ name, state, until, next_try: next, last_fault: fault }) => [
    name,
    state,
    until ?? '-',
    next ?? 'at once',
    fault ?? '-',
  ])
  return formatTable(['NAME', 'STATE', 'UNTIL', 'NEXT TRY', 'LAST FAULT'], rows)
}

/**
 * `certificates`: the certificates from the ACME server, with what went wrong last and what comes next.
 *
 * `certificates renew` leaves a request for the running daemon, and waits until it has tried.
 */
import { X509Certificate } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../../../base/config/complete.js'
import { type DomainName, formatForDisplay, tryParseDomainName } from '../../../base/mail/address.js'
import { announceChange } from '../../../base/storage/db/change-acknowledgement.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import type { Store } from '../../../base/storage/db/database.js'
import { CertificateFiles } from '../../certificates/certificate-files.js'
import { type CertificateView, describeStored } from '../../certificates/certificate-list.js'
import { listMailHosts, listServiceNames } from '../../certificates/certificate-names.js'
import { type Answer, type Call, CommandFailed, refuseExtraWords, requiredWord } from '../command/command.js'
import { formatTable } from '../command/table.js'

/** Milliseconds that `renew` waits. An order takes two minutes at most. */
const MAX_WAIT = 150_000
const POLL_INTERVAL = 100

export async function listCertificates({ words, config, clock, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  requireAcme(config)
  const files = new CertificateFiles(config.service.data_dir)
  const data: CertificateView[] = []
  for (const name of await listNames(config, await database())) data.push(await describeStored(files, name, clock()))
  return { json: { data }, lines: formatCertificates(data) }
}

export async function renewCertificate({ words, config, clock, database: open }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  requireAcme(config)
  const written = requiredWord(words, 0, 'NAME')
  const name = tryParseDomainName(written)
  const database = await open()
  if (name === null || !(await listNames(config, database)).includes(name)) {
    throw new CommandFailed(`${formatForDisplay(written)} is not among the names that "posthorn certificates" lists`)
  }
  const files = new CertificateFiles(config.service.data_dir)
  const before = await readSerial(files, name)
  const { triedAt } = await files.readRecord(name)
  await files.requestRenewal(name)
  if (!isDataFolderHeld(config.service.data_dir)) {
    const lines = [`No daemon runs here: ${name} is renewed after the next start.`]
    return { json: await describeStored(files, name, clock()), lines }
  }
  await database.commit([announceChange()])
  const isTried = await waitForTry(files, name, triedAt)
  const view = await describeStored(files, name, clock())
  const isRenewed = (await readSerial(files, name)) !== before
  const warnings = isTried ? [] : ['the daemon has not finished; "posthorn certificates" shows the result']
  return { json: view, lines: formatCertificates([view]), failed: !isRenewed, warnings }
}

function requireAcme({ tls }: Config): void {
  if (!tls.acme.enabled) throw new CommandFailed('tls.acme.enabled is false: no certificates come from an ACME server')
}

async function listNames(config: Config, { read }: Store): Promise<readonly DomainName[]> {
  return [...new Set([...listServiceNames(config), ...(await listMailHosts(read))])]
}

async function readSerial(files: CertificateFiles, name: DomainName): Promise<string | null> {
  const pair = await files.readPair(name)
  return pair === null ? null : new X509Certificate(pair.cert).serialNumber
}

/** Whether the daemon has tried again since `before`. */
async function waitForTry(files: CertificateFiles, name: DomainName, before: number | null): Promise<boolean> {
  for (let waited = 0; waited < MAX_WAIT; waited += POLL_INTERVAL) {
    if ((await files.readRecord(name)).triedAt !== before) return true
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

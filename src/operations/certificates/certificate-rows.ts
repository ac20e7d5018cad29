/**
 * The certificates from the ACME server, as rows. All daemons of the database serve them.
 *
 * Columns hold all that decides about a certificate, so that thousands are known without a look at each.
 */
import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { sql } from 'kysely'
import type { DomainName } from '../../base/mail/address.js'
import type { TlsPair } from '../../base/platform/tls-files.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { AcmeCertificatesTable } from '../../base/storage/tables/certificate-tables.js'
import { type IdentifiedFacts, readCertificateFacts, spreadOf } from './renewal-plan.js'

/** Replaces the certificate of the name. */
export const storeCertificate = prepareWrite<AcmeCertificatesTable>(({ db, slots }) => {
  const changed = slots(['fingerprint', 'valid_from', 'valid_to', 'chain', 'private_key'])
  return db
    .insertInto('acme_certificates')
    .values({ ...slots(['name']), ...changed })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(changed))
})

export const removeExpired = prepareWrite<{ name: DomainName; now: number }>(({ db, slot }) =>
  db.deleteFrom('acme_certificates').where('name', '=', slot('name')).where('valid_to', '<=', slot('now')),
)

const pairOfName = prepareRead<{ name: DomainName }>()(({ db, slot }) =>
  db.selectFrom('acme_certificates').select(['chain as cert', 'private_key as key']).where('name', '=', slot('name')),
)

const factsOfName = prepareRead<{ name: DomainName }>()(({ db, slot }) =>
  db
    .selectFrom('acme_certificates')
    .select(['name', 'fingerprint', 'valid_from', 'valid_to'])
    .where('name', '=', slot('name')),
)

const factsAfter = prepareRead<{ after: string }>()(({ db, slot }) =>
  db
    .selectFrom('acme_certificates')
    .select(['name', 'fingerprint', 'valid_from', 'valid_to'])
    .where('name', '>', sql<DomainName>`${slot('after')}`)
    .orderBy('name')
    .limit(ROW_STEP),
)

/** Null if there is none. */
export async function readPair(read: Read, name: DomainName): Promise<TlsPair | null> {
  return (await pairOfName(read, { name }))[0] ?? null
}

/** Null if there is no certificate. */
export async function readFacts(read: Read, name: DomainName): Promise<IdentifiedFacts | null> {
  const [row] = await factsOfName(read, { name })
  return row === undefined ? null : toFacts(row)
}

/** Reads those of all names, in steps. */
export async function readAllFacts(read: Read): Promise<Map<DomainName, IdentifiedFacts>> {
  const facts = new Map<DomainName, IdentifiedFacts>()
  let after = ''
  for (;;) {
    const page = await factsAfter(read, { after })
    for (const row of page) facts.set(row.name, toFacts(row))
    const last = page.at(-1)
    if (last === undefined || page.length < ROW_STEP) return facts
    after = last.name
    await waitForStep()
  }
}

type FactsRow = Pick<AcmeCertificatesTable, 'fingerprint' | 'valid_from' | 'valid_to'>

export function toFacts({ fingerprint, valid_from: from, valid_to: to }: FactsRow): IdentifiedFacts {
  return { fingerprint, from, to, spread: spreadOf(fingerprint) }
}

/** Throws if the certificate does not name the host, or the key does not belong to it. */
export function toCertificateRow(name: DomainName, { cert, key }: TlsPair): AcmeCertificatesTable {
  if (new X509Certificate(cert).checkHost(name) === undefined) throw new Error(`the certificate is not for ${name}`)
  createSecureContext({ cert, key })
  const { fingerprint, from, to } = readCertificateFacts(cert)
  return { name, fingerprint, valid_from: from, valid_to: to, chain: cert, private_key: key }
}

/** How the log and the doctor call the place of a certificate, where they name a file otherwise. */
export function placeOf(name: DomainName): string {
  return `acme:${name}`
}

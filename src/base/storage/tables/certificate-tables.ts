/** The tables of certificates from an ACME server. Part of `tables.ts`, which says what holds for all tables. */
import type { Generated } from 'kysely'
import type { DomainName } from '../../mail/address.js'
import type { Flag, Json, Timestamp } from './columns.js'

/** The rows belong to the installation, as all rows of these tables do. */
export interface AcmeAccountsTable {
  /** SHA-256 of `directory`, in hexadecimal. */
  directory_key: string
  directory: string
  url: string
  /** PKCS#8 PEM. */
  private_key: string
}

export interface AcmeCertificatesTable {
  name: DomainName
  /** SHA-256 of the certificate, in hexadecimal. */
  fingerprint: string
  valid_from: Timestamp
  valid_to: Timestamp
  /** PEM, the certificate first. */
  chain: string
  /** PKCS#8 PEM. */
  private_key: string
}

/** `operations/certificates/name-record` says what the first columns mean. */
export interface AcmeNamesTable {
  name: DomainName
  failures: Generated<number>
  fault: string | null
  tried_at: Timestamp | null
  next_try_at: Generated<Timestamp>
  orders: Generated<Json<readonly Timestamp[]>>
  issued: Generated<Json<readonly Timestamp[]>>
  /** The order under way. Null, as the next two, if there is none. */
  order_url: string | null
  /** The URL of the account that made it. */
  order_account: string | null
  /** The key of its certificate, PKCS#8 PEM. */
  order_key: string | null
  /** An operator wants a new certificate. */
  asked: Generated<Flag>
  /** The id of the data folder whose daemon works on it. */
  leased_by: string | null
  /** From then on another daemon may take it. */
  leased_until: Generated<Timestamp>
  updated_at: Timestamp
}

export interface AcmeChallengesTable {
  token: string
  /** The key authorization. */
  answer: string
  /** From then on no server asks for it. */
  expires_at: Timestamp
}

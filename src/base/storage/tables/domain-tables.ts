/**
 * The tables of sending domains, their DKIM keys and the service zone. Part of `tables.ts`, which
 * says what holds for all tables.
 */
import type { DomainName } from '../../mail/address.js'
import type { Flag, Json, Timestamp } from './columns.js'

/** Each domain has two, and one of them signs. */
export type Selector = 'dkim1' | 'dkim2'

export type RecordState = 'pending' | 'verified' | 'failed'
/** The DNS records that prove a domain. */
export type RecordPurpose = 'mail_cname' | Selector
/** A record that is missing is `pending`. */
export type RecordStates = Readonly<Partial<Record<RecordPurpose | 'mx' | 'dmarc' | 'policy_host', RecordState>>>

/** How a domain treats the mail that it receives. A setting that is absent has the first value of its list. */
export interface InboundPolicy {
  readonly greylisting: 'default' | 'on' | 'off'
  /** What happens to a message with a spam score. */
  readonly spam: 'file' | 'refuse'
  /** `strict`: every failed check refuses. `off`: none does, and none makes a message spam. */
  readonly dmarc: 'default' | 'strict' | 'off'
}

export interface DomainsTable {
  id: string
  workspace_id: string
  domain: DomainName
  status: 'pending' | 'verified' | 'failed'
  /** Declared verified by the operator, without DNS. */
  forced: Flag
  inbound: Flag
  track_opens: Flag | null
  track_clicks: Flag | null
  created_at: Timestamp
  verified_at: Timestamp | null
  /** The states that the last check of DNS found. */
  record_states: Json<RecordStates>
  /** When DNS last answered for all records. */
  checked_at: Timestamp | null
  /** When DNS is queried again. Null if no check is due. */
  next_check_at: Timestamp | null
  /** The time from which DNS lacks the expected records. Null while it has them. */
  unproved_since: Timestamp | null
  /** The time from which a rotation to the other DKIM key is under way. */
  rotation_asked_at: Timestamp | null
  inbound_policy: Json<Partial<InboundPolicy>>
}

export interface DkimKeysTable {
  id: string
  workspace_id: string
  /** The signing domain. */
  domain: DomainName
  selector: string
  /** PKCS#8 PEM. */
  private_key: string
  /** The TXT record's value: `v=DKIM1; k=rsa; p=…`. */
  public_record: string
  /** At most one key of a domain and workspace signs. */
  signing: Flag
  created_at: Timestamp
  /** It must not sign before this time. Until then resolvers may still have cached the record that it replaced. */
  usable_at: Timestamp
  /** When it stopped signing. Null if it signs, or never did. */
  retired_at: Timestamp | null
}

/** Has one row: the serial number of the service zone. */
export interface ZoneSerialTable {
  id: number
  serial: number
}

/**
 * The tables of inbound mail and of the spam classifier. Part of `tables.ts`, which says what holds
 * for all tables; `spam/bayes/records.ts` says how the classifier's tables are maintained.
 */
import type { Generated } from 'kysely'
import type { Address, DomainName } from '../../mail/address.js'
import type { Authentication, DkimResult, DmarcResult } from '../../mail/authentication-results.js'
import type { Flag, Json, Slot, Timestamp } from './columns.js'

export type InboundStatus = 'received' | 'processed' | 'failed'
export type SpamStatus = 'clean' | 'suspicious' | 'spam'

/** The facts about the client that brought a message, as far as they count for its spam score. */
export interface Arrival {
  /** The client spoke before it was greeted. */
  readonly earlyTalker: boolean
  /** DNS block lists that list its address. */
  readonly listings: readonly { readonly zone: string; readonly weight: number; readonly answer: string }[]
  /** DNS allow lists that know its address. */
  readonly allowListings: readonly AllowListing[]
  /** Why the message is spam whatever its score. Null if its score decides. */
  readonly spamReason: string | null
  /** The message came with REQUIRETLS (RFC 8689), which holds where it is passed on. If it is absent, it did not. */
  readonly requiresTls?: boolean
}

/** What a DNS allow list says of a client. */
export interface AllowListing {
  readonly zone: string
  /** Points that each degree of trust takes off the spam score. */
  readonly weight: number
  /** 1 to 3. */
  readonly trust: number
  readonly answer: string
}

/** One named part of a spam score. */
export interface SpamContribution {
  readonly name: string
  readonly score: number
  readonly description: string
}

export interface InboundEmailsTable {
  id: string
  workspace_id: string
  /** `report`: it came to a return path and is about mail that we sent. It is never listed. */
  kind: 'mail' | 'report'
  status: InboundStatus
  /** Domain of the first address in `envelope_to`. Empty for a report. */
  domain: DomainName | ''
  /** Empty for `<>`. */
  envelope_from: Address | ''
  /** The recipients that belong to this workspace. */
  envelope_to: Json<readonly Address[]>
  client_address: string
  helo: string
  /** `neutral` is neither pass nor fail; `authentication` has the exact result. */
  spf_result: 'pass' | 'fail' | 'neutral'
  dkim_result: DkimResult | 'none'
  dmarc_result: DmarcResult
  /** It has no fields if no results were made. */
  authentication: Json<Partial<Authentication>>
  arrival: Json<Partial<Arrival>>
  /** The columns from here on have what the header says. They are empty until the message is processed. */
  message_id: string | null
  /** Message ids of its References, or of its In-Reply-To. */
  reference_ids: Json<readonly string[]>
  from_email: string
  /** `from_email` in lower case, for the filter of lists. */
  from_key: string
  from_name: string
  to_emails: Json<readonly string[]>
  cc_emails: Json<readonly string[]>
  subject: string
  has_html: Flag
  has_text: Flag
  attachment_count: number
  /** Bytes of the message as stored. */
  size: number
  spam_status: SpamStatus | null
  /** Hundredths of a point. */
  spam_score: number | null
  spam_report: Json<readonly SpamContribution[]>
  received_at: Timestamp
  processed_at: Timestamp | null
  /** The node that has accepted the message and processes it: see `storage/db/node-state`. */
  node: Generated<string>
}

/** A tuple of greylisting, or a client network: see `receiving/greylisting/`. */
export interface GreylistEntriesTable {
  /** A hash. */
  key: string
  first_at: Timestamp
  seen_at: Timestamp
  /** A tuple has 0 while it waits; a network has the number of its tuples that have passed. */
  passes: number
}

/** Numbers of entries. Triggers maintain them. */
export interface GreylistTotalsTable {
  kind: 'waiting' | 'known'
  entries: number
  slot: Slot
}

export interface InboundRawTable {
  inbound_id: string
  workspace_id: string
  received_at: Timestamp
  /** Empty if the bytes are in a spool file. */
  raw: Buffer
  spool_file: number | null
  spool_at: number | null
  spool_bytes: number | null
  /**
   * CRC-32 of the bytes as they were written to a spool file; it stays when they are folded. Null if they are not
   * checked.
   */
  spool_crc: number | null
}

/**
 * Bytes of a workspace's inbound mail: its records, and the `size` of those with a row in `inbound_raw`. Triggers
 * maintain them.
 */
export interface InboundTotalsTable {
  workspace_id: string
  bytes: number
  slot: Slot
}

/** Addresses whose mail is refused although their domain accepts mail: see `domains/verification/blocked-addresses.ts`. */
export interface BlockedAddressesTable {
  workspace_id: string
  domain_id: string
  /** The key that `localPartKey` makes. */
  local_part: string
}

export type BayesVerdict = 'spam' | 'ham'

export interface BayesTokensTable {
  workspace_id: string
  /** 48 bits of a hash of the token. */
  token: number
  /** Number of learned messages of each kind that have it. */
  spam: number
  ham: number
  /** `seq` of the message that added it. Messages learned before are not in its counts. */
  since: number
  /** Days since 1970. */
  last_learned: number
}

/** Number of tokens of a workspace. Triggers on `bayes_tokens` maintain it. */
export interface BayesCountsTable {
  workspace_id: string
  tokens: number
  slot: Slot
}

export interface BayesMessagesTable {
  workspace_id: string
  verdict: BayesVerdict
  count: number
}

export interface BayesDaysTable {
  workspace_id: string
  /** When the mail came, in days since 1970. */
  day: number
  /** Messages of that day that were learned. */
  spam: number
  ham: number
}

export interface BayesLearnedTable {
  seq: Generated<number>
  workspace_id: string
  fingerprint: string
  verdict: BayesVerdict
  /** The tokens that were counted, six bytes each. */
  tokens: Buffer
  learned_at: Timestamp
  /** The day that it counts on in `bayes_days`, or 0 if it has no date. */
  dated_on: number
}

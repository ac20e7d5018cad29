/** The tables of forwarding. Part of `tables.ts`, which says what holds for all tables. */
import type { Address } from '../../mail/address.js'
import type { Flag, Json, Timestamp } from './columns.js'

/** Why a message was not forwarded to an address. */
export type NotForwardedReason = 'spam' | 'dmarc' | 'loop' | 'unconfirmed' | 'suppressed' | 'size'

export interface ForwardRulesTable {
  id: string
  workspace_id: string
  domain_id: string
  /** The key that `localPartKey` makes. `*` if it is for every address that no other rule of the domain names. */
  local_part: string
  targets: Json<readonly Address[]>
  /** The webhook that gets `email.received` of each message, or null if there is none. */
  webhook_id: string | null
  /** 0 if a message that was forwarded is not filed. */
  keep: Flag
  enabled: Flag
  created_at: Timestamp
}

export interface ForwardTargetsTable {
  workspace_id: string
  /** `address` in lower case. */
  address_key: string
  /** The id in the link of its mail. */
  id: string
  address: Address
  /** When that mail was last written. */
  requested_at: Timestamp
  /** Such mails since it last agreed. If it has withdrawn, this is the highest number that is allowed. */
  requests: number
  /** Null if nothing is forwarded to it yet. */
  confirmed_at: Timestamp | null
}

export interface InboundForwardsTable {
  workspace_id: string
  inbound_id: string
  target: Address
  rule_id: string
  /** `forwarded`: it is in the queue, or was. */
  status: 'forwarded' | 'not-forwarded'
  reason: NotForwardedReason | null
  /** The email of the service that was queued. */
  email_id: string | null
  created_at: Timestamp
}

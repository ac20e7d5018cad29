/** The tables of forwarding. Part of `tables.ts`, which says what holds for all tables. */
import type { Address } from '../../mail/address.js'
import type { Flag, Json, Timestamp } from './columns.js'

/** Why a message was not forwarded to an address. */
export type NotForwardedReason = 'spam' | 'dmarc' | 'loop' | 'unconfirmed' | 'suppressed' | 'size'

export interface ForwardRulesTable {
  id: string
  workspace_id: string
  domain_id: string
  /** The key that `localPartKey` makes; `*`: each that no other rule of the domain names. */
  local_part: string
  targets: Json<readonly Address[]>
  /** The webhook that gets `email.received` of each message; null: none. */
  webhook_id: string | null
  /** 0: a message that was forwarded is not filed. */
  keep: Flag
  enabled: Flag
  created_at: Timestamp
}

export interface ForwardTargetsTable {
  workspace_id: string
  /** `address` in lower case. */
  address_key: string
  /** What the link of its mail names. */
  id: string
  address: Address
  /** When that mail was last written. */
  requested_at: Timestamp
  /** Such mails since it last agreed; the most that are allowed, if it has withdrawn. */
  requests: number
  /** Null: nothing is forwarded to it yet. */
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

/** The tables of TLS reports. Part of `tables.ts`, which says what holds for all tables. */
import type { Json, Timestamp } from './columns.js'

/** A policy that sessions with a domain were judged by on one day. */
export interface TlsPoliciesTable {
  /** UTC, as `2026-11-23`. */
  day: string
  domain: string
  /** Hash of the three columns after it, or empty if there was no policy. */
  policy: string
  type: 'tlsa' | 'sts' | 'no-policy-found'
  strings: Json<readonly string[]>
  hosts: Json<readonly string[]>
}

/** Sessions with one result. Those without a fault are one row, in which the texts are empty. */
export interface TlsResultsTable {
  day: string
  domain: string
  policy: string
  /** RFC 8460 section 4.3, or empty if there is no fault. */
  result: string
  mx_host: string
  receiving_ip: string
  sending_ip: string
  /** The detail of the first of them. */
  detail: string
  sessions: number
}

/** The report about one domain and day; a row exists from the end of the day. */
export interface TlsReportsTable {
  day: string
  domain: string
  /** `posting`: mail is sent, requests over HTTPS are not all answered. `unwanted`: the domain asks for no reports. */
  state: 'waiting' | 'posting' | 'sent' | 'failed' | 'unwanted'
  /** When the next step is due. */
  due_at: Timestamp
  /** Tries in the present state. */
  attempts: number
  /** URLs over HTTPS that have not taken the report. */
  uris: Json<readonly string[]>
  /** Why it waits or failed. Empty if nothing is wrong. */
  reason: string
  settled_at: Timestamp | null
}

/** The tables of reports about domains. Part of `tables.ts`, which says what holds for all tables. */
import type { Json, Timestamp } from './columns.js'

/** DMARC aggregate (RFC 7489 appendix C), DMARC failure (RFC 6591), TLS (RFC 8460). */
export type DomainReportKind = 'dmarc_aggregate' | 'dmarc_failure' | 'tls'

/** What another server reported about mail in a domain's name, or about connections to its hosts. */
export interface DomainReportsTable {
  id: string
  workspace_id: string
  /** The id of the sending domain; `SERVICE_WORKSPACE` for a domain of the service itself. */
  domain_id: string
  kind: DomainReportKind
  /** The domain that the report names: the sending domain or one below it. */
  domain: string
  /** The organizational domain that authentication proved for the message with the report. */
  reporter: string
  /** The name that the report gives its author. It is a claim. */
  organization: string
  /** The reporter chose it. */
  report_id: string
  /** The policy that the reporter saw, in one line, or empty if the report does not say. */
  policy: string
  begins_at: Timestamp
  ends_at: Timestamp
  /** The messages, and in `passed` those that did pass. A TLS report has sessions instead. */
  messages: number
  passed: number
  /** Characters of the rows. */
  size: number
  received_at: Timestamp
}

/** One group of messages of a DMARC report, or of a failure report its one message. */
export interface DmarcRow {
  /** Empty in the row that sums up what exceeds the limit. */
  readonly source_ip: string
  readonly messages: number
  /** DMARC passed: aligned DKIM or aligned SPF. */
  readonly passed: boolean
  readonly disposition: string
  /** The result after alignment. */
  readonly dkim: string
  readonly spf: string
  readonly header_from: string
  /** The domains that were authenticated or tried, and the results before alignment. */
  readonly dkim_domain: string
  readonly dkim_result: string
  readonly spf_domain: string
  readonly spf_result: string
}

/** One group of sessions of a TLS report. */
export interface TlsRow {
  /** For example `sts`, `tlsa`, `no-policy-found`. */
  readonly policy_type: string
  /** For example `certificate-expired`. `success` for sessions without failure. */
  readonly result: string
  readonly sessions: number
  readonly passed: boolean
  /** The server that sent. Empty if the report does not name it. */
  readonly source_ip: string
  /** The host of ours that received. */
  readonly mx_host: string
}

export type DomainReportRow = DmarcRow | TlsRow

/** The rows of a report, which are only read together. */
export interface DomainReportRowsTable {
  report_id: string
  workspace_id: string
  rows: Json<readonly DomainReportRow[]>
}

/** A receiver that took mail of a sending domain. */
export interface MailReceiversTable {
  workspace_id: string
  /** The organizational domain of the sender. */
  domain: string
  /** The organizational domain of the recipient, or of the MX host that took the message. */
  receiver: string
  /** When it was last noted, to about a day. */
  noted_at: Timestamp
}

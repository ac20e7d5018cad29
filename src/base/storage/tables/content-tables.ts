/**
 * The tables of templates, cached files, audiences, contacts, suppressions and imports. Part of
 * `tables.ts`, which says what holds for all tables.
 */
import type { Generated } from 'kysely'
import type { RefusalKind } from '../../mail/refusal.js'
import type { TextEncoding } from '../../platform/csv/encoding.js'
import type { RefusedSummary } from '../../platform/csv/refused-lines.js'
import type { Flag, Json, JsonObject, Slot, Timestamp } from './columns.js'

/** A mail in blocks, whose form `workspaces/content/blocks/mail-blocks` says. */
export interface StoredBlocks {
  readonly type: 'doc'
  readonly content: readonly object[]
}

export interface TemplatesTable {
  id: string
  workspace_id: string
  name: string
  /** Requests may name the template by it. Null if it has none. */
  alias: string | null
  subject: string
  html: string | null
  text: string | null
  /** The document of which `html` was made. Null if the HTML was written. */
  blocks: Json<StoredBlocks> | null
  /** The variables that the client gave. Null if it gave none. */
  listed_variables: Json<readonly string[]> | null
  /** The listed ones, then others that the bodies use. */
  variables: Json<readonly string[]>
  /** Octets of both bodies and the document. */
  size: number
  /** Grows with every change, so that of two concurrent changes one sees the other. */
  version: number
  created_at: Timestamp
  updated_at: Timestamp
}

/** A file that was uploaded to be sent later. */
export interface CachedFilesTable {
  workspace_id: string
  /** It cannot be guessed. The API calls it `file_cache_key`. */
  key: string
  name: string
  content_type: string
  /** Octets of the chunks that are stored so far. */
  size: number
  /** 0 if the upload is under way, or was cut off. */
  complete: Flag
  created_at: Timestamp
  used_at: Timestamp
}

export interface CachedFileChunksTable {
  workspace_id: string
  key: string
  /** Counted from 0. */
  place: number
  bytes: Buffer
}

/** Octets of all cached files of a workspace. Triggers maintain them. */
export interface CachedFileTotalsTable {
  workspace_id: string
  bytes: number
  slot: Slot
}

export interface AudiencesTable {
  id: string
  workspace_id: string
  name: string
  description: string | null
  created_at: Timestamp
  updated_at: Timestamp
}

/** An address is once in an audience, and once among the contacts of a workspace that are in no audience. */
export interface ContactsTable {
  id: string
  workspace_id: string
  /** Null if the contact is in no audience. */
  audience_id: string | null
  /** The value that the client gave. */
  email: string
  /** The address in lower case: it identifies the contact. */
  email_key: string
  first_name: string | null
  last_name: string | null
  subscribed: Flag
  metadata: Json<JsonObject>
  created_at: Timestamp
  updated_at: Timestamp
}

/** Number of contacts in each list. Triggers on `contacts` maintain it. */
export interface ContactCountsTable {
  workspace_id: string
  /** Id of an audience, or `all` for the contacts of the workspace. */
  list: string
  count: number
  /** Contacts of the list that are subscribed. */
  subscribed: number
  slot: Slot
}

/** Audiences that were deleted and whose contacts are being removed. */
export interface AudienceRemovalsTable {
  audience_id: string
  workspace_id: string
  created_at: Timestamp
}

export type SuppressionReason = 'hard_bounce' | 'spam_complaint' | 'manual' | 'unsubscribe'

export interface SuppressionsTable {
  id: string
  workspace_id: string
  /** Lower case. */
  email: string
  reason: SuppressionReason
  source_email_id: string | null
  metadata: Json<JsonObject>
  created_at: Timestamp
}

/** The options in the request for an import. */
export type ImportOptions =
  | {
      readonly kind: 'contacts'
      readonly audienceId: string
      readonly resubscribe: boolean
      readonly layout: ContactLayout
      readonly leaveOut: readonly AddressHint['hint'][]
    }
  | {
      readonly kind: 'suppressions'
      readonly reason: SuppressionReason
      readonly encoding: TextEncoding
      readonly actor: { readonly id: string; readonly keyId: string | null }
    }

/** How a file of contacts is read. */
export interface ContactLayout {
  /**
   * The field of each column: `email`, `first_name`, `last_name`, `metadata`, `metadata.KEY`, a kind of consent, or null
   * if the column is not imported. Without it, the names of the columns decide.
   */
  readonly columns: readonly (string | null)[] | null
  /** Whether the first line has the names of the columns. */
  readonly hasHeader: boolean
  /** Null if the first line decides. */
  readonly delimiter: ',' | ';' | '\t' | '|' | null
  /** It counts the whole file, which the database has in pieces. */
  readonly encoding: TextEncoding
}

/** What may be wrong with an address that was imported all the same. */
export interface AddressHint {
  /**
   * `role`: a function, not a person. `disposable`: it belongs to a service for throw-away addresses. `typo`: its
   * domain is probably misspelled.
   */
  readonly hint: 'role' | 'disposable' | 'typo'
  /** The address that was probably meant. Null if there is no better one. */
  readonly suggestion: string | null
}

export interface HintedLine extends AddressHint {
  readonly line: number
  readonly email: string
}

export interface HintSummary {
  /** How many lines have each hint. */
  readonly hinted: Readonly<Record<AddressHint['hint'], number>>
  /** The first of them. */
  readonly hints: readonly HintedLine[]
}

export interface ContactImportReport extends RefusedSummary, HintSummary {
  /** How the bytes of the file were read. */
  readonly encoding: TextEncoding
  readonly added: number
  readonly updated: number
  /** Lines that say what is stored already. */
  readonly unchanged: number
  /** Lines that would subscribe an unsubscribed contact again. */
  readonly still_unsubscribed: number
  /** Lines that were not imported because of a hint at their address. */
  readonly left_out: number
}

/** The provider whose columns a file of suppressions has. `list` if it has those of no provider. */
export type SuppressionProvider = 'postmark' | 'sendgrid' | 'mailgun' | 'ses' | 'list'

export interface SuppressionImportReport extends RefusedSummary {
  /** How the bytes of the file were read. */
  readonly encoding: TextEncoding
  readonly provider: SuppressionProvider
  readonly added: number
  /** Addresses that were on the list already. */
  readonly known: number
}

/** Why an import failed. A request would have been refused with the same error. */
export interface ImportError {
  readonly kind: RefusalKind | 'internal'
  readonly message: string
}

/** Imports that go on after their request was answered. */
export interface ImportsTable {
  id: string
  workspace_id: string
  kind: 'contacts' | 'suppressions'
  status: 'processing' | 'completed' | 'failed'
  options: Json<ImportOptions>
  /** Rows of the file. */
  total: number
  /** Rows that are processed. */
  done: number
  /** Belongs to the processed rows, and has the type that `kind` says. Null if no row is processed. */
  report: Json<ContactImportReport | SuppressionImportReport> | null
  error: Json<ImportError> | null
  created_at: Timestamp
  finished_at: Timestamp | null
}

/** The file of an import that is not finished, in pieces. */
export interface ImportChunksTable {
  seq: Generated<number>
  workspace_id: string
  import_id: string
  place: number
  bytes: Buffer
}

/**
 * How a row of the interface is written here: the request as the document shows it, who may make it, and cases, each
 * a request with the answer that the document promises.
 *
 * Texts of a case may name what an earlier case of the same file has stored: `{contact}`.
 */
import type { Shape } from './shapes.js'

/** Whose key is used. `foreign`: the owner of another workspace. */
export type Asker =
  | 'owner'
  | 'admin'
  | 'member'
  | 'send'
  | 'read'
  | 'foreign'
  | 'none'
  | 'wrong'
  | 'revoked'
  | 'expired'

/** The roles and scopes that are allowed; all others get `insufficient_permissions`. */
type Who = readonly Exclude<Asker, 'foreign' | 'none' | 'wrong' | 'revoked' | 'expired'>[]

/** From the tables of roles and scopes: `send` and `read` are keys of an owner with that scope alone. */
export const sends: Who = ['owner', 'admin', 'member', 'send']
export const reads: Who = ['owner', 'admin', 'member', 'read']
export const readsOwn: Who = ['owner', 'admin', 'member', 'read', 'send']
export const writes: Who = ['owner', 'admin', 'member']
export const administrates: Who = ['owner', 'admin']
export const readsSettings: Who = ['owner', 'admin', 'member', 'read']

export interface ExpectedRefusal {
  readonly code: string
  /** Names in `details.errors[]`, all of them. */
  readonly fields?: readonly string[]
  /** `details.id`. */
  readonly id?: string
  readonly details?: Shape
}

export interface Case {
  readonly says: string
  /** Where the method and path are not those of the row: a request that prepares or checks something. */
  readonly request?: string
  /** Takes the place of `:id`. */
  readonly id?: string
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON; a Buffer as it is. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the owner. */
  readonly as?: Asker
  readonly status?: number
  readonly shape?: Shape
  /** Fields of the answer by their path, such as `data.0.email`, and their values. */
  readonly holds?: Readonly<Record<string, unknown>>
  readonly refused?: ExpectedRefusal
  readonly responseHeaders?: Readonly<Record<string, RegExp>>
  /** Names to store, and the path of each in the answer. */
  readonly keep?: Readonly<Record<string, string>>
  /** The request is repeated until the answer fits: it waits for work in the background. */
  readonly until?: true
}

export interface Row {
  /** As in the document: `POST /v1/contacts/:id`. */
  readonly row: string
  /** Null: the cases name the permissions. */
  readonly who: Who | null
  /**
   * The request that is made with every key: by default with an unknown id and an empty body, so that an allowed key
   * gets a problem of the request.
   */
  readonly probe?: Pick<Case, 'id' | 'query' | 'body' | 'headers'>
  /** Needs no key. */
  readonly open?: true
  readonly cases: readonly Case[]
}

export interface Resource {
  readonly name: string
  readonly rows: readonly Row[]
}

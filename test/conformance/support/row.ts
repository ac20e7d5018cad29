/**
 * How a row of the interface is written down here: the request as the document shows it, who
 * may make it, and cases, each a request with the answer that the document promises for it.
 *
 * Texts of a case may name what an earlier case of the same file has kept: `{contact}`.
 */
import type { Shape } from './shapes.js'

/** Whose key asks. `stranger` is the owner of another workspace. */
export type Asker =
  | 'owner'
  | 'admin'
  | 'member'
  | 'send'
  | 'read'
  | 'stranger'
  | 'none'
  | 'wrong'
  | 'revoked'
  | 'expired'

/** Who may; everybody else is told `insufficient_permissions`. */
export type Who = readonly Exclude<Asker, 'stranger' | 'none' | 'wrong' | 'revoked' | 'expired'>[]

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
  /** Where the method and path are not those of the row: they make or look at something for it. */
  readonly request?: string
  /** Takes the place of `:id`. */
  readonly id?: string
  readonly query?: Readonly<Record<string, string>>
  /** JSON; a Buffer goes as it is. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the owner. */
  readonly as?: Asker
  readonly status?: number
  readonly shape?: Shape
  /** Fields of the answer by their path, such as `data.0.email`, and what they hold. */
  readonly holds?: Readonly<Record<string, unknown>>
  readonly refused?: ExpectedRefusal
  readonly responseHeaders?: Readonly<Record<string, RegExp>>
  /** Names to keep, and the path in the answer of each. */
  readonly keep?: Readonly<Record<string, string>>
  /** Is asked again and again until the answer fits: what happens by itself takes its time. */
  readonly until?: true
}

export interface Row {
  /** As the document has it: `POST /v1/contacts/:id`. */
  readonly row: string
  /** Null: the cases themselves say it. */
  readonly who: Who | null
  /**
   * What is asked with every key: by default an id that is nobody's and a body that is empty, so that
   * whoever may gets to hear of that.
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

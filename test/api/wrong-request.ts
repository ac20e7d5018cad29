/** A row of what a client gets wrong, and how rows of one kind are written. */
import type { RestRequest } from '../helpers/rest-client.js'

export interface Wrong {
  readonly what: string
  /** `POST /v1/emails`. */
  readonly line: string
  readonly request?: RestRequest
  readonly status: number
  readonly code: string
  /** The field that `details.errors[]` must name. */
  readonly field?: string
}

export const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }

export type Row = readonly [what: string, body: unknown, code: string, field?: string | undefined, status?: number]

/** POST of a body that is right but for one thing. */
export function wrongPosts(path: string, rows: readonly Row[]): readonly Wrong[] {
  return rows.map(([what, body, code, field, status = 400]) => ({
    what,
    line: `POST ${path}`,
    request: { body },
    status,
    code,
    ...(field === undefined ? {} : { field }),
  }))
}

export function emailWithout(field: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(email).filter(([name]) => name !== field))
}

export const MISSING = 'missing_required_field'
export const WRONG = 'validation_error'
export const ADDRESS = 'invalid_email_address'

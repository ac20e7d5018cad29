/**
 * The types of columns beyond text and integers: flags, times, JSON text.
 *
 * A `Json<T>` is made by `toJson` alone, so `parseJson` may trust its type. A row that an older
 * version wrote may lack fields that were added since: such fields are optional in `T`.
 */
import type { Generated } from 'kysely'
import { toStorableJson } from '../../mail/storable-text.js'

declare const content: unique symbol

/** SQLite has no booleans. */
export type Flag = 0 | 1

/** Milliseconds since 1970-01-01T00:00Z. */
export type Timestamp = number

/**
 * Who wrote a row of totals. On PostgreSQL each connection that commits adds to rows of its own, so that none waits for
 * another; commands have the slot 0, and so has everything on SQLite. The database fills it in. Readers add up the rows
 * of all slots: one alone says nothing, and its numbers may be negative.
 */
export type Slot = Generated<number>

/** The text of a JSON value of type `T`. */
export type Json<T> = string & { readonly [content]: T }

export type JsonObject = Readonly<Record<string, unknown>>

export function toJson<T>(value: T): Json<T> {
  return toStorableJson(JSON.stringify(value)) as Json<T>
}

export function parseJson<T>(json: Json<T>): T {
  return JSON.parse(json)
}
